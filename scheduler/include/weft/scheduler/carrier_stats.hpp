// CarrierStats: what a carrier counts about itself.
#pragma once

#include <atomic>
#include <cstdint>

namespace weft {

// A snapshot; the counts only grow, except live and queueDepth.
struct CarrierStats {
    std::uint64_t spawned = 0;      // fibers (and pollers) of this carrier: counted by spawn(), before they first run
    std::uint64_t finished = 0;     // those of them that have ended, wherever they ran
    std::uint64_t live = 0;         // those that have not: queued, running or parked
    std::uint64_t run = 0;          // slices: times that a fiber was switched to
    std::uint64_t parks = 0;        // times that the carrier went to sleep, in the futex or in its poller
    std::uint64_t wakesFutex = 0;   // sleeps in the futex that a waker ended
    std::uint64_t wakesPoller = 0;  // sleeps in the poller that a waker ended
    std::uint64_t ioCycles = 0;     // poll calls of its event loop
    std::uint64_t ioEvents = 0;     // I/O events that they brought
    std::uint64_t queueDepth = 0;   // runnable fibers waiting, when last looked
    std::uint64_t timersFired = 0;
    std::uint64_t steals = 0;  // times that it took work of another carrier
    std::uint64_t stolen = 0;  // the fibers that these brought
    std::uint64_t calls = 0;   // sleeps that ended because another carrier had more than it could do
};

namespace detail {

// Written by one thread, read by any: no RMW needed. relaxed: a figure orders nothing.
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
    OwnedCounter spawned, finished, run, parks, wakesFutex, wakesPoller, ioCycles, ioEvents, queueDepth, timersFired, steals, stolen, calls;

    // `enlisted`: the fibers that other threads have spawned.
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
