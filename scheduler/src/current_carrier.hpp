// The calling thread's carrier. Private to the scheduler.
#pragma once

namespace weft {
class Carrier;
}

namespace weft::detail {

// Never inlined: a fiber that changed threads must not see a cached address of the thread-local variable.
Carrier* currentCarrier() noexcept;
void setCurrentCarrier(Carrier* carrier) noexcept;
// What currentHome() says on this thread (detail/current_home.hpp).
void setCurrentHome(Carrier* carrier) noexcept;

}  // namespace weft::detail
