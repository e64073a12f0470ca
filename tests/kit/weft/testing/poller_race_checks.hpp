// The checks of the conformance kit in which work and events race with a poller that is going to sleep: none is lost.
// Include poller_checks.hpp, which has the other checks and says how all of them work.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <weft/scheduler/carrier.hpp>
#include <weft/scheduler/errors.hpp>
#include <weft/scheduler/future.hpp>
#include <weft/scheduler/this_fiber.hpp>

#include <weft/testing/poller_bench.hpp>

namespace weft::test {

// Two other threads spawn fibers, each as soon as its former one has run, so that many spawns race with the poller
// going to sleep.
template <PollerUnderTest P>
Verdict everySpawnIsSeen(const PollerSettings& settings = {}) {
    PollerBench<P> bench(settings);
    return bench.finish(
        bench.race(2, "a fiber that another thread spawned did not run",
                   [&](auto& tally, unsigned, int) { bench.carrier().spawnDetached([tally] { tally->add(); }); }));
}

// Two fibers; one thread for each wakes it from every one of its waits.
template <PollerUnderTest P>
Verdict everyWakeOfAFiberIsSeen(const PollerSettings& settings = {}) {
    struct Waits {
        explicit Waits(int rounds) : promises(static_cast<std::size_t>(rounds)) {}
        std::vector<Promise<void>> promises;
        std::shared_ptr<Tally> tally;  // counts for the thread that wakes the fiber
    };
    std::shared_ptr<Waits> waits[2] = {std::make_shared<Waits>(settings.rounds),
                                       std::make_shared<Waits>(settings.rounds)};
    PollerBench<P> bench(settings);
    Verdict verdict =
        bench.race(2, "a fiber that another thread woke did not run", [&](auto& tally, unsigned t, int i) {
            auto& mine = waits[t];
            if (i == 0) {
                mine->tally = tally;
                bench.carrier().spawnDetached([mine] {
                    try {
                        for (auto& promise : mine->promises) {
                            promise.future().await();
                            mine->tally->add();
                        }
                    } catch (const SystemError&) {  // the carrier shuts down
                    }
                });
            }
            mine->promises[static_cast<std::size_t>(i)].setValue();
        });
    return bench.finish(std::move(verdict));
}

// Like everySpawnIsSeen(), for tasks that the poller itself hosts.
template <PollerWithTasks P>
Verdict everyTaskIsSeen(const PollerSettings& settings = {}) {
    PollerBench<P> bench(settings);
    return bench.finish(bench.race(2, "a task that another thread posted did not run", [&](auto& tally, unsigned, int) {
        bench.poller().post([tally] { tally->add(); });
    }));
}

// Fibers create work for the poller without an event, as their last action before the carrier has nothing to do.
template <PollerWithOwnWork P>
Verdict everyWorkOfItsOwnIsDone(const PollerSettings& settings = {}) {
    PollerBench<P> bench(settings);
    const char* const lost = "work that a fiber made for the poller was not done";
    Verdict verdict = bench.race(1, lost, [&](auto& tally, unsigned, int i) {
        bench.carrier().spawnDetached([tally, i, &poller = bench.poller()] {
            thisFiber::sleepFor(std::chrono::microseconds(i % 100));  // ended by a deadline, not by a wake-up
            poller.makeWork([tally] { tally->add(); });
        });
    });
    return bench.finish(std::move(verdict));
}

// Two threads inject I/O events that race with going to sleep.
template <PollerUnderTest P>
Verdict everyEventIsSeen(const PollerSettings& settings = {}) {
    PollerBench<P> bench(settings);
    return bench.finish(bench.race(2, "an I/O event was not reported", [&](auto& tally, unsigned, int) {
        bench.poller().inject([tally] { tally->add(); });
    }));
}

// Spawns, events and short sleeps of fibers, all at once.
template <PollerUnderTest P>
Verdict everythingAtOnceIsSeen(const PollerSettings& settings = {}) {
    PollerBench<P> bench(settings);
    return bench.finish(bench.race(3, "a spawn, an I/O event or a sleep was lost", [&](auto& tally, unsigned t, int i) {
        if (t == 0) return bench.carrier().spawnDetached([tally] { tally->add(); });
        if (t == 1) return static_cast<void>(bench.poller().inject([tally] { tally->add(); }));
        bench.carrier().spawnDetached([tally, i] {
            thisFiber::sleepFor(std::chrono::microseconds(i % 100));
            tally->add();
        });
    }));
}

// Fibers of the carrier inject events, both while others are runnable and as their last action before the carrier has
// nothing to do. No thread calls a wakeup for either.
template <PollerUnderTest P>
Verdict eventsThatArriveWhileFibersRunAreSeen(const PollerSettings& settings = {}) {
    PollerBench<P> bench(settings);
    const char* const lost = "an I/O event that arrived while fibers ran was not reported";
    Verdict verdict = bench.race(1, lost, [&](auto& tally, unsigned, int i) {
        bench.carrier().spawnDetached([tally, i, &poller = bench.poller()] {
            poller.inject([tally] { tally->add(); });
            if (i % 2 == 0) thisFiber::yield();
        });
    });
    return bench.finish(std::move(verdict));
}

// Behaviour 31. The poller is descheduled between tryParkPoller() and the blocking call, and fibers run meanwhile. It
// must not block afterwards because of an answer that it got before.
template <PollerWithGap P>
Verdict aPollerDescheduledInItsGapLosesNothing(const PollerSettings& settings = {}) {
    class Gap : public std::enable_shared_from_this<Gap> {
      public:
        void enter() {
            Future<void> released;
            {
                std::lock_guard held(lock_);
                if (open_) return;
                released = descheduled_.emplace_back().future();
            }
            // A fiber reports it: the fiber runs once the poller has been switched out.
            Carrier::current()->spawnDetached([self = this->shared_from_this()] { self->entered.add(); });
            released.await();
        }
        void release() {
            std::vector<Promise<void>> released;
            std::lock_guard held(lock_);
            released.swap(descheduled_);
            for (auto& one : released) one.setValue();
        }
        // From now on the gap holds no poller.
        void open() {
            {
                std::lock_guard held(lock_);
                open_ = true;
            }
            release();
        }
        Tally entered;

      private:
        std::mutex lock_;
        bool open_ = false;
        std::vector<Promise<void>> descheduled_;  // the suspended poller, or empty
    };
    auto gap = std::make_shared<Gap>();
    PollerBench<P> bench(settings, [gap](P& poller) { poller.onGap([gap] { gap->enter(); }); });
    auto ran = std::make_shared<Tally>();
    Verdict verdict;
    const auto rounds = static_cast<std::uint64_t>(std::max(settings.rounds / 40, 2));
    for (std::uint64_t i = 1; i <= rounds && verdict.empty(); ++i) {
        if (!gap->entered.awaitAtLeast(i, settings.timeout)) {
            verdict = i == 1 ? "it does not try to sleep although there is nothing to do"
                             : "it blocked on an answer of canParkPoller() from before it was descheduled";
            break;
        }
        bench.carrier().spawnDetached([ran] {
            thisFiber::sleepFor(std::chrono::microseconds(100));
            ran->add();
        });
        if (!ran->awaitAtLeast(i, settings.timeout)) verdict = "no fiber runs while it is descheduled in its gap";
        gap->release();  // a poller that did not block enters its gap again: the next round
    }
    gap->open();
    return bench.finish(std::move(verdict));
}

}  // namespace weft::test
