// The calling thread's carrier. Private to the scheduler.
#pragma once

namespace weft {
class Carrier;
}

namespace weft::detail {

// Never inlined, so that a fiber that has moved to another thread does not use a cached address of the variable.
Carrier* currentCarrier() noexcept;
void setCurrentCarrier(Carrier* carrier) noexcept;
// Sets the result of currentHome() on this thread (detail/current_home.hpp).
void setCurrentHome(Carrier* carrier) noexcept;

}  // namespace weft::detail
