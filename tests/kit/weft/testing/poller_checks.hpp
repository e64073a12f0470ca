// The checks of the conformance kit. Each drives one poller on a PollerBench and returns what is wrong with it. They
// assert nothing themselves, so that a test may also require that a broken poller fails. docs/guide/pollers.md.
// Those of the race with going to sleep are in poller_race_checks.hpp.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include <weft/scheduler/this_fiber.hpp>

#include <weft/testing/poller_bench.hpp>
#include <weft/testing/poller_race_checks.hpp>

namespace weft::test {

// Wake-ups and deadlines ---------------------------------------------------------------------------------------------

// A poller that dispatches has left its sleep (SCH-2), so work that arrives meanwhile needs no wakeup. Each bench
// checks at its end that no sleep cost more than one wakeup.
template <PollerUnderTest P>
Verdict aDispatchingPollerIsNotWoken(const PollerSettings& settings = {}) {
    struct Meeting {
        std::atomic<bool> dispatching{false};
        std::atomic<bool> spawned{false};
        std::atomic<std::uint64_t> calls{0};
        Tally done;
    };
    PollerBench<P> bench(settings);
    for (int i = 0; i < std::max(settings.rounds / 100, 1); ++i) {
        if (Verdict verdict = bench.awaitAsleep(); !verdict.empty()) return bench.finish(std::move(verdict));
        auto meeting = std::make_shared<Meeting>();
        P& poller = bench.poller();
        poller.inject([meeting, &poller, timeout = settings.timeout] {
            const std::uint64_t before = poller.wakeups();
            meeting->dispatching = true;
            const auto end = std::chrono::steady_clock::now() + timeout;
            while (!meeting->spawned && std::chrono::steady_clock::now() < end) std::this_thread::yield();
            meeting->calls = poller.wakeups() - before;
            meeting->done.add();
        });
        const auto end = std::chrono::steady_clock::now() + settings.timeout;
        while (!meeting->dispatching) {
            if (std::chrono::steady_clock::now() > end) return bench.finish("an I/O event did not end its sleep");
            std::this_thread::yield();
        }
        bench.carrier().spawnDetached([] {});
        meeting->spawned = true;
        if (!meeting->done.awaitAtLeast(1, settings.timeout)) return bench.finish("an I/O event was not dispatched");
        if (meeting->calls != 0)
            return bench.finish("its wakeup was called while it dispatched: no unpark() before that");
    }
    return bench.finish();
}

// Only parkDeadline() wakes fibers that sleep on the carrier.
template <PollerUnderTest P>
Verdict deadlinesAreHonoured(const PollerSettings& settings = {}) {
    PollerBench<P> bench(settings);
    auto woken = std::make_shared<Tally>();
    constexpr unsigned sleepers = 8;
    for (unsigned i = 0; i < sleepers; ++i) {
        bench.carrier().spawnDetached([woken, i] {
            for (unsigned nap = 0; nap < 4; ++nap) thisFiber::sleepFor(std::chrono::microseconds(300 * (i + 1)));
            woken->add();
        });
    }
    if (woken->awaitAtLeast(sleepers, settings.timeout)) return bench.finish();
    return bench.finish("it slept past parkDeadline()");
}

// A fiber that uses up its slice and yields stays runnable; while there is one, the poller must not block. Nothing else
// happens that could wake it.
template <PollerUnderTest P>
Verdict runnableFibersKeepItAwake(const PollerSettings& settings = {}) {
    PollerBench<P> bench(settings);
    auto ended = std::make_shared<Tally>();
    for (int fiber = 0; fiber < 2; ++fiber) {
        bench.carrier().spawnDetached([ended, slice = 2 * bench.group().options().yieldBudget] {
            for (int i = 0; i < 20; ++i) {
                const auto end = std::chrono::steady_clock::now() + slice;
                while (std::chrono::steady_clock::now() < end) {
                }
                thisFiber::yield();
            }
            ended->add();
        });
    }
    if (ended->awaitAtLeast(2, settings.timeout)) return bench.finish();
    return bench.finish("it blocked although fibers were runnable");
}

// Fairness -----------------------------------------------------------------------------------------------------------

// Fibers that never stop yielding do not starve the poller.
template <PollerUnderTest P>
Verdict busyFibersDoNotStarveThePoller(const PollerSettings& settings = {}) {
    struct Busy {
        std::atomic<bool> stop{false};
        std::atomic<std::uint64_t> slices{0};
    };
    auto busy = std::make_shared<Busy>();
    PollerBench<P> bench(settings);
    for (int i = 0; i < 2; ++i) {
        bench.carrier().spawnDetached([busy] {
            for (; !busy->stop; thisFiber::yield()) busy->slices.fetch_add(1);
        });
    }
    auto reported = std::make_shared<Tally>();
    Verdict verdict;
    const auto end = std::chrono::steady_clock::now() + settings.timeout;
    for (std::uint64_t i = 0; i < 50 && verdict.empty(); ++i) {
        bench.poller().inject([reported] { reported->add(); });
        const std::uint64_t since = busy->slices;
        while (!reported->awaitAtLeast(i + 1, std::chrono::milliseconds(1))) {
            if (busy->slices - since <= settings.busySlices && std::chrono::steady_clock::now() < end) continue;
            if (reported->count() > i) break;  // reported just now
            verdict = "an I/O event was not reported while fibers were busy";
            break;
        }
    }
    busy->stop = true;
    return bench.finish(std::move(verdict));
}

// Endless events do not starve the fibers.
template <PollerUnderTest P>
Verdict busyIoDoesNotStarveFibers(const PollerSettings& settings = {}) {
    struct Chain : std::enable_shared_from_this<Chain> {
        explicit Chain(P& subject) : poller(subject) {}
        void next() {
            poller.inject([self = this->shared_from_this()] {
                self->events.fetch_add(1);
                if (!self->stop) self->next();
            });
        }
        P& poller;
        std::atomic<bool> stop{false};
        std::atomic<std::uint64_t> events{0};
    };
    PollerBench<P> bench(settings);
    auto chain = std::make_shared<Chain>(bench.poller());
    chain->next();
    chain->next();
    auto ran = std::make_shared<Tally>();
    Verdict verdict;
    const auto end = std::chrono::steady_clock::now() + settings.timeout;
    while (chain->events < 2 && verdict.empty()) {
        if (std::chrono::steady_clock::now() > end) verdict = "an I/O event was not reported";
        std::this_thread::yield();
    }
    for (std::uint64_t i = 0; i < 50 && verdict.empty(); ++i) {
        bench.carrier().spawnDetached([ran] { ran->add(); });
        const std::uint64_t since = chain->events;
        while (!ran->awaitAtLeast(i + 1, std::chrono::milliseconds(1))) {
            if (chain->events - since <= settings.busySlices && std::chrono::steady_clock::now() < end) continue;
            if (ran->count() > i) break;  // ran just now
            verdict = "a fiber did not run while the poller was busy";
            break;
        }
    }
    chain->stop = true;
    return bench.finish(std::move(verdict));
}

// A poller with nothing to do sleeps and does not poll again and again. The check counts its polls while other threads
// are busy elsewhere; it measures no time.
template <PollerUnderTest P>
Verdict anIdlePollerSleeps(const PollerSettings& settings = {}) {
    PollerBench<P> bench(settings);
    if (Verdict verdict = bench.awaitAsleep(); !verdict.empty()) return bench.finish(std::move(verdict));
    const std::uint64_t before = bench.poller().looks();
    CarrierGroup elsewhere(benchOptions());
    for (int i = 0; i < settings.rounds; ++i) elsewhere.carrier(0).spawn([] {}).join();
    const std::uint64_t looks = bench.poller().looks() - before;
    if (looks <= 8) return bench.finish();  // it may still have been going to sleep
    return bench.finish("it looked " + std::to_string(looks) + " times although nothing had happened");
}

// Ends ---------------------------------------------------------------------------------------------------------------

// Pollers come and go on one carrier while two threads wake it. Each is destroyed once its future has completed
// (SCH-10).
template <PollerUnderTest P>
Verdict pollersComeAndGoWhileOthersWake(const PollerSettings& settings = {}) {
    PollerBench<P> bench(settings);
    std::atomic<bool> raced{false};
    Verdict verdict;
    std::thread turnover([&] {
        for (int i = 0; (i < 4 || !raced) && verdict.empty(); ++i) {
            if (i % 2 == 0) bench.poller().inject([] {});
            bench.poller().stop();
            if (!bench.ended().awaitFor(settings.timeout)) {
                verdict = "its body does not return";
                break;
            }
            if (bench.ended().error()) verdict = "its body ended with: " + describe(bench.ended().error());
            bench.replacePoller();
        }
    });
    Verdict lost = bench.race(2, "a fiber that another thread spawned did not run", [&](auto& tally, unsigned, int) {
        bench.carrier().spawnDetached([tally] { tally->add(); });
    });
    raced = true;
    turnover.join();
    return bench.finish(verdict.empty() ? std::move(lost) : std::move(verdict));
}

// Handling an event throws. The poller may report that and go on, or let the exception leave its body. In that case its
// future carries the error, the carrier goes on, and the slot is free.
template <PollerUnderTest P>
Verdict anEventThatThrowsLeavesTheCarrierUsable(const PollerSettings& settings = {}) {
    PollerBench<P> bench(settings);
    bench.poller().inject([] { throw std::runtime_error("thrown by an event of the conformance kit"); });
    auto reported = std::make_shared<Tally>();
    bench.poller().inject([reported] { reported->add(); });
    const auto end = std::chrono::steady_clock::now() + settings.timeout;
    while (!bench.ended().done() && !reported->awaitAtLeast(1, std::chrono::milliseconds(1))) {
        if (std::chrono::steady_clock::now() > end) {
            return bench.finish("after an event that threw it neither goes on nor ends");
        }
    }
    if (bench.ended().done()) {
        if (!bench.ended().error()) return bench.finish("its body threw, but its future has no error");
        bench.replacePoller();  // throws if the slot is not free
        bench.poller().inject([reported] { reported->add(); });
        if (!reported->awaitAtLeast(1, settings.timeout)) return bench.finish("its successor reports no event");
    }
    auto ran = std::make_shared<Tally>();
    bench.carrier().spawnDetached([ran] { ran->add(); });
    if (!ran->awaitAtLeast(1, settings.timeout)) return bench.finish("after an event that threw no fiber runs");
    return bench.finish();
}

// The shutdown of the carrier ends the poller while it sleeps, while it is busy, and while it is going to sleep.
template <PollerUnderTest P>
Verdict theShutdownOfItsCarrierEndsIt(const PollerSettings& settings = {}) {
    Jitter jitter(7);
    for (int i = 0; i < std::max(settings.rounds / 40, 4); ++i) {
        PollerBench<P> bench(settings);
        if (i % 4 == 0 && pollerSleeps<P>) {
            if (Verdict verdict = bench.awaitAsleep(); !verdict.empty()) return bench.finish(std::move(verdict));
        } else if (i % 4 == 1) {
            bench.carrier().spawnDetached([&carrier = bench.carrier()] {
                while (!carrier.stopRequested()) thisFiber::yield();
            });
        } else {
            bench.poller().inject([] {});
            jitter.pause();
        }
        bench.group().beginShutdown();
        if (!bench.ended().awaitFor(settings.timeout))
            return bench.finish("the shutdown of its carrier does not end it");
        if (Verdict verdict = bench.finish(); !verdict.empty()) return verdict;
    }
    return {};
}

}  // namespace weft::test
