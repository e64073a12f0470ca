// CarrierStats: a carrier's counters.
#pragma once

#include <atomic>
#include <cstdint>

namespace weft {

// A snapshot. All counters except `live` and `queueDepth` only grow.
struct CarrierStats {
    std::uint64_t spawned = 0;      // fibers and pollers whose home this is; spawn() counts them before they first run
    std::uint64_t finished = 0;     // of these, the ones that have ended, on whichever carrier
    std::uint64_t live = 0;         // of these, the ones that have not: queued, running or parked
    std::uint64_t run = 0;          // slices: switches to a fiber
    std::uint64_t parks = 0;        // sleeps of the carrier, in the futex or in its poller
    std::uint64_t wakesFutex = 0;   // sleeps in the futex that a waker ended
    std::uint64_t wakesPoller = 0;  // sleeps in the poller that a waker ended
    std::uint64_t ioCycles = 0;     // poll() calls of its event loop
    std::uint64_t ioEvents = 0;     // I/O events that these calls handled
    std::uint64_t queueDepth = 0;   // queued fibers at the beginning of the last run of fibers
    std::uint64_t timersFired = 0;
    std::uint64_t steals = 0;  // successful steals from other carriers
    std::uint64_t stolen = 0;  // fibers taken by these steals
    std::uint64_t calls = 0;   // sleeps that ended because another carrier called for help
};

namespace detail {

// One thread writes, any thread reads, so no RMW is needed. relaxed: a statistic orders nothing.
class OwnedCounter {
  public:
    void add(std::uint64_t n = 1) noexcept {
        value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
    }
    void set(std::uint64_t n) noexcept { value_.store(n, std::memory_order_relaxed); }
    std::uint64_t get() const noexcept { return value_.load(std::memory_order_relaxed); }

  private:
    std::atomic<std::uint64_t> value_{0};
};

struct CarrierCounters {
    OwnedCounter spawned, finished, run, parks, wakesFutex, wakesPoller, ioCycles, ioEvents, queueDepth, timersFired,
        steals, stolen, calls;
    OwnedCounter pollerTurns;   // maybeYield() calls, for the watchdog
    OwnedCounter enlistedThen;  // number of fibers that other threads had spawned when queueDepth was set

    // `enlisted`: number of fibers that other threads have spawned here; `spawned` does not count them.
    CarrierStats snapshot(std::uint64_t enlisted) const noexcept {
        CarrierStats stats;
        stats.finished = finished.get();
        stats.spawned = spawned.get() + enlisted;
        stats.live = stats.spawned > stats.finished ? stats.spawned - stats.finished : 0;
        stats.run = run.get();
        stats.parks = parks.get();
        stats.wakesFutex = wakesFutex.get();
        stats.wakesPoller = wakesPoller.get();
        stats.ioCycles = ioCycles.get();
        stats.ioEvents = ioEvents.get();
        stats.queueDepth = queueDepth.get();
        stats.timersFired = timersFired.get();
        stats.steals = steals.get();
        stats.stolen = stolen.get();
        stats.calls = calls.get();
        return stats;
    }
};

}  // namespace detail
}  // namespace weft
