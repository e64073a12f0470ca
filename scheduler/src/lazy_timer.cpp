#include <weft/scheduler/detail/lazy_timer.hpp>

#include <chrono>
#include <utility>

#include <weft/scheduler/clock.hpp>

namespace weft::detail {

void LazyTimer::begin(TimerWheel& wheel, const WakeKey& key, Deadline deadline) noexcept {
    key_ = key;
    deadline_ = deadline;
    wheel_ = &wheel;
    if (armed()) {
        if (TimerEntry::deadline() <= deadline) return;
        wheel.disarm(*this);
    }
    armAfter(Clock::current().now());
}

void LazyTimer::armAfter(TimePoint now) noexcept {
    const bool passed = deadline_ <= now;  // the second before the earliest time point would overflow
    const Deadline second = passed ? deadline_ : Deadline(std::chrono::floor<std::chrono::seconds>(deadline_));
    wheel_->arm(*this, second > now ? second : deadline_);
}

void LazyTimer::fired(TimerEntry& entry) noexcept {
    auto& self = static_cast<LazyTimer&>(entry);
    if (!self.key_) return;
    const Deadline reached = entry.deadline();
    if (reached < self.deadline_) return self.armAfter(reached);
    std::exchange(self.key_, {}).wake();
}

}  // namespace weft::detail
