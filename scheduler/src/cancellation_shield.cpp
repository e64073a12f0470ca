#include <weft/scheduler/cancellation_shield.hpp>

#include "fiber_access.hpp"

namespace weft {

CancellationShield::CancellationShield() noexcept : fiber_(FiberAccess::currentFiber()) {
    if (fiber_) fiber_->interrupts.shield();
}

CancellationShield::~CancellationShield() {
    if (fiber_) fiber_->interrupts.unshield();
}

}  // namespace weft
