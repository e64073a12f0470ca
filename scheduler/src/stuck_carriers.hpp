// StuckCarriers: finds and reports the carriers of a group that have been in one task for too long. Private to the
// scheduler.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include <weft/scheduler/carrier_group.hpp>

#include "stack_sample.hpp"

namespace weft::detail {

// How long one carrier has made no progress.
class StuckTimer {
  public:
    enum class Event : std::uint8_t { none, stuck, wentOn };

    // `progress`: a number that changes with each task; `step`: the time since the last call. `stuck` once per
    // incident, `wentOn` at its end.
    Event observe(std::uint64_t progress, bool asleep, Duration step, Duration limit) noexcept;
    // The time of the current incident, or of the one that has just ended: within one step of the truth.
    Duration time() const noexcept { return time_; }

  private:
    Event goOn(std::uint64_t progress) noexcept;

    std::uint64_t progress_ = 0;
    Duration time_{};
    bool goesOn_ = true;  // time_ is that of an incident or a task that has ended
    bool reported_ = false;
    bool asleep_ = false;
};

class StuckCarriers {
  public:
    // `signal` 0: reports without stacks. Throws as handleSampleSignal().
    StuckCarriers(CarrierGroup& group, Duration limit, int signal);

    // Context: one thread, which is no carrier. `step`: the time since the last call.
    void check(Duration step) noexcept;
    // check() returns before the next carrier, and from then on at once. Any thread.
    void end() noexcept { ended_.store(true, std::memory_order_relaxed); }
    bool ended() const noexcept { return ended_.load(std::memory_order_relaxed); }

    struct State {
        std::uint64_t progress;
        bool asleep;
    };
    static State stateOf(const Carrier& carrier) noexcept;

  private:
    class UnblockSignal;

    void unblockSignal();
    void checkOne(const Carrier& carrier, Duration step);
    void report(const Carrier& carrier, Duration time) const;
    bool sample(const Carrier& carrier, StackSample& sample) const;

    CarrierGroup& group_;
    const Duration limit_;
    const int signal_;
    std::vector<StuckTimer> timers_;
    std::atomic<bool> ended_{false};  // true from end() on; check() reads it; relaxed: it publishes nothing
};

}  // namespace weft::detail
