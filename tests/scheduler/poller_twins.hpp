// Broken twins of a poller: each has one mistake that a user may make, and the conformance kit must detect it. stop()
// ends the twin whatever the mistake.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "support/sample_pollers.hpp"

namespace weft::test {

enum class Defect : std::uint8_t {
    none,
    ignoresItsWakeup,        // the callback does nothing
    wakeupIsNotSticky,       // a wake-up between canParkPoller() and the wait is lost
    blocksWithoutParking,    // never calls tryParkPoller()
    blocksAgainstTheAnswer,  // calls it, and blocks when it returns false
    remembersItsAnswer,      // calls canParkPoller() early, and is descheduled before it blocks
    ignoresTheDeadline,      // waits without a time limit
    neverYields,             // omits maybeYield()
    yieldsWithoutEnd,        // polls its I/O only when no fiber is runnable any more
    dispatchesWithoutEnd,    // takes events until there are none
    forgetsUnpark,           // dispatches while the carrier counts as asleep
    forgetsEarlierEvents,    // relies only on events that end its wait
    spins,                   // never blocks, but declares that it does
    ignoresTheShutdown,      // does not check stopRequested()
    endsSilently,            // returns when an event throws
};

template <Defect defect>
class TwinPoller {
  public:
    Future<void> start(Carrier& carrier) {
        return carrier.registerPinnedPoller([this] { wakeup(); }, [this](PinnedPoller& poller) { run(poller); });
    }
    void stop() {
        stop_ = true;
        ring();
    }
    void inject(PollerEvent event) {
        queue_.push(std::move(event));
        ring();
    }
    std::uint64_t looks() const { return looks_; }
    std::uint64_t wakeups() const { return wakeups_; }
    void onGap(std::function<void()> inGap) { inGap_ = std::move(inGap); }

  private:
    void wakeup() {
        wakeups_.fetch_add(1);
        if (defect != Defect::ignoresItsWakeup) ring();
    }
    void ring() {
        std::lock_guard held(lock_);
        rung_ = true;
        bell_.notify_all();
    }

    void run(PinnedPoller& poller) {
        bool idle = false;
        while (!stop_ && (defect == Defect::ignoresTheShutdown || !poller.stopRequested())) {
            if (idle && defect != Defect::spins) sleep(poller);
            looks_.fetch_add(1);
            const unsigned events = look();
            if (defect == Defect::neverYields) {
                idle = events == 0;
                continue;
            }
            bool yielded = poller.maybeYield(events > 0);
            while (defect == Defect::yieldsWithoutEnd && !stop_ && poller.maybeYield(false)) yielded = true;
            // A poller that tries to sleep after each turn learns of work from tryParkPoller().
            idle = (!yielded || defect == Defect::blocksAgainstTheAnswer) && events == 0;
        }
    }

    void sleep(PinnedPoller& poller) {
        if (defect == Defect::blocksWithoutParking) return block(poller.parkDeadline());
        if (!poller.tryParkPoller()) {
            if (defect == Defect::blocksAgainstTheAnswer) block(poller.parkDeadline());
            return;
        }
        const bool early = poller.canParkPoller();
        if (inGap_) inGap_();
        if (defect == Defect::remembersItsAnswer ? early : poller.canParkPoller()) block(poller.parkDeadline());
        if (defect != Defect::forgetsUnpark) poller.unpark();
    }

    void block(Deadline deadline) {
        if (defect == Defect::wakeupIsNotSticky || defect == Defect::forgetsEarlierEvents) {
            std::this_thread::yield();  // widens the gap that the defect leaves
            std::lock_guard held(lock_);
            rung_ = false;
        }
        std::unique_lock held(lock_);
        const auto rung = [this] { return rung_ || stop_; };
        if (deadline == never || defect == Defect::ignoresTheDeadline) {
            bell_.wait(held, rung);
        } else {
            bell_.wait_until(held, deadline, rung);
        }
        rung_ = false;
        rungInWait_ = true;
    }

    unsigned look() {
        if (defect == Defect::forgetsEarlierEvents && !std::exchange(rungInWait_, false)) return 0;
        unsigned events = 0;
        try {
            do events += queue_.dispatch();
            while (defect == Defect::dispatchesWithoutEnd && !queue_.empty());
        } catch (...) {
            if (defect != Defect::endsSilently) throw;
            stop_ = true;
        }
        return events;
    }

    EventQueue queue_;
    std::function<void()> inGap_;
    std::atomic<bool> stop_{false};
    std::atomic<std::uint64_t> looks_{0};
    std::atomic<std::uint64_t> wakeups_{0};
    std::mutex lock_;
    std::condition_variable bell_;
    bool rung_ = false;
    bool rungInWait_ = false;
};

}  // namespace weft::test
