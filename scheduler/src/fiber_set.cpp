#include <weft/scheduler/fiber_set.hpp>

#include <weft/scheduler/assert.hpp>

#include "fiber_access.hpp"

namespace weft {

FiberSet::Member::Member(FiberSet& set) noexcept
    : set_(set),
      fiber_(*FiberAccess::currentFiber(*Carrier::current())),
      since_(FiberAccess::drainBegan(*fiber_.homeCarrier)),
      next_(set.first_) {
    WEFT_DEBUG_ASSERT(fiber_.homeCarrier->isCurrent(), "a fiber joins a set away from its carrier, whose set it is");
    if (next_) next_->previous_ = this;
    set.first_ = this;
    if (set.cancelled_) [[unlikely]]
        detail::cancelFiber(fiber_);
}

FiberSet::Member::~Member() {
    WEFT_DEBUG_ASSERT(fiber_.homeCarrier->isCurrent(), "a fiber leaves a set away from its carrier, whose set it is");
    (previous_ ? previous_->next_ : set_.first_) = next_;
    if (next_) next_->previous_ = previous_;
}

void FiberSet::cancel() noexcept {
    cancelled_ = true;
    for (Member* member = first_; member != nullptr; member = member->next_) detail::cancelFiber(member->fiber_);
}

std::string_view FiberSet::nameOf(const Member& member, NameBytes& bytes) noexcept {
    const detail::FiberName name(member.fiber_);
    const std::string_view text = name;
    return {bytes, text.copy(bytes, sizeof bytes)};
}

}  // namespace weft
