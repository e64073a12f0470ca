#include <weft/scheduler/fiber_set.hpp>

#include <weft/scheduler/assert.hpp>
#include <weft/scheduler/detail/current_home.hpp>
#include <weft/scheduler/suspension.hpp>

#include "fiber_access.hpp"

namespace weft {

namespace {

[[gnu::cold, gnu::noinline]] void goHome() {
    WEFT_ASSERT(Suspension::allowed(),
                "a fiber joins or leaves a FiberSet away from its home carrier where nothing may suspend");
    Suspension::goHome("FiberSet");
}

// Moves the running fiber home if necessary: only the home carrier may use the set.
inline detail::Fiber& atHome(detail::Fiber& fiber) noexcept {
    if (detail::currentHome() != fiber.homeCarrier) [[unlikely]]
        goHome();
    return fiber;
}

}  // namespace

FiberSet::Member::Member(FiberSet& set) noexcept {
    begin(set);
}

void FiberSet::Member::join(FiberSet& set, detail::Fiber& fiber) noexcept {
    set_ = &set;
    fiber_ = &fiber;
    next_ = set.first_;
    if (next_) next_->previous_ = this;
    set.first_ = this;
    if (set.cancelled_) [[unlikely]]
        detail::cancelFiber(fiber);
}

void FiberSet::Member::begin(FiberSet& set) noexcept {
    if (set_ == nullptr) [[unlikely]]
        join(set, atHome(*FiberAccess::currentFiber(*Carrier::current())));
    const Carrier* const running = fiber_->running.load(std::memory_order_relaxed);  // null: forked
    const TimePoint now = FiberAccess::fiberRunBegan(running != nullptr ? *running : *fiber_->homeCarrier);
    since_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
}

void FiberSet::Member::leave() noexcept {
    atHome(*fiber_);
    (previous_ ? previous_->next_ : set_->first_) = next_;
    if (next_) next_->previous_ = previous_;
}

void FiberSet::cancel() noexcept {
    cancelled_ = true;
    for (Member* member = first_; member != nullptr; member = member->next_) detail::cancelFiber(*member->fiber_);
}

bool FiberSet::hasRunningFiber() const noexcept {
    const detail::Fiber* const running = FiberAccess::currentFiber(*Carrier::current());
    const Member* member = first_;
    while (member != nullptr && member->fiber_ != running) member = member->next_;
    return member != nullptr;
}

std::string_view FiberSet::nameOf(const Member& member, NameBytes& bytes) noexcept {
    const detail::FiberName name(*member.fiber_);
    const std::string_view text = name;
    return {bytes, text.copy(bytes, sizeof bytes)};
}

TimePoint FiberSet::sinceOf(const Member& member) noexcept {
    const auto since = member.since_.load(std::memory_order_relaxed);
    return since == 0 ? Clock::steady().now() : TimePoint(Duration(since));
}

}  // namespace weft
