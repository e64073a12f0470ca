#include "caller_id.hpp"

#include <weft/scheduler/carrier_group.hpp>

#include "fiber_access.hpp"

namespace weft::detail {

std::uint64_t callerId() noexcept {
    if (const Fiber* const fiber = FiberAccess::currentFiber()) return fiber->id;
    static thread_local const std::uint64_t own = CarrierGroup::takeFiberIds(1);
    return own;
}

}  // namespace weft::detail
