// Sets the results of currentCarrier() and currentHome() on the calling thread. Private to the scheduler.
#pragma once

#include <weft/scheduler/detail/current_home.hpp>

namespace weft::detail {

// Never inlined, so that a fiber that has moved to another thread does not use a cached address of the variable.
void setCurrentCarrier(Carrier* carrier) noexcept;
void setCurrentHome(Carrier* carrier) noexcept;

}  // namespace weft::detail
