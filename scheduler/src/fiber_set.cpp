#include <weft/scheduler/fiber_set.hpp>

#include <weft/scheduler/assert.hpp>
#include <weft/scheduler/detail/current_home.hpp>
#include <weft/scheduler/suspension.hpp>

#include "fiber_access.hpp"

namespace weft {

namespace {

[[gnu::cold, gnu::noinline]] void goHome() {
    WEFT_ASSERT(Suspension::allowed(), "a fiber joins or leaves a set away from home where nothing may suspend");
    Suspension::goHome("FiberSet");
}

// A set belongs to the carrier of its fibers.
inline detail::Fiber& atHome(detail::Fiber& fiber) noexcept {
    if (detail::currentHome() != fiber.homeCarrier) [[unlikely]]
        goHome();
    return fiber;
}

}  // namespace

FiberSet::Member::Member(FiberSet& set) noexcept
    : set_(set),
      fiber_(atHome(*FiberAccess::currentFiber(*Carrier::current()))),
      since_(FiberAccess::drainBegan(*fiber_.homeCarrier)),
      next_(set.first_) {
    if (next_) next_->previous_ = this;
    set.first_ = this;
    if (set.cancelled_) [[unlikely]]
        detail::cancelFiber(fiber_);
}

FiberSet::Member::~Member() {
    atHome(fiber_);
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
