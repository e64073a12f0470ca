#include <weft/scheduler/non_suspending_scope.hpp>

#include <weft/scheduler/carrier.hpp>

namespace weft {

NonSuspendingScope::NonSuspendingScope() noexcept : NonSuspendingScope(Carrier::current()) {}

NonSuspendingScope::NonSuspendingScope(Carrier* carrier) noexcept : carrier_(carrier) {
    if (carrier_) ++carrier_->nonSuspendingDepth_;
}

NonSuspendingScope::~NonSuspendingScope() {
    if (carrier_) --carrier_->nonSuspendingDepth_;
}

bool NonSuspendingScope::active() noexcept {
    Carrier* carrier = Carrier::current();
    return carrier != nullptr && carrier->nonSuspendingDepth_ != 0;
}

}  // namespace weft
