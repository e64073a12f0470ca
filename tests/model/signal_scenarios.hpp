// The scenarios that explore the semaphore, the notifications and the groups of weft::sync
// (docs/explanation/protocol.md section 19): threads that take and release, give up, and destroy the object as soon as
// its contract allows.
#pragma once

#include <weft/scheduler/detail/basic_barrier.hpp>
#include <weft/scheduler/detail/basic_notify.hpp>
#include <weft/scheduler/detail/basic_once.hpp>
#include <weft/scheduler/detail/basic_semaphore.hpp>
#include <weft/scheduler/detail/basic_wait_group.hpp>

#include "sync_world.hpp"

namespace weft::model::sync {

template <class S>
struct SemaphoreScenarios {
    static ErrorCode acquire(S& semaphore, std::uint32_t count, Timeout until = Timeout::never) {
        return semaphore.tryAcquire(count) ? ErrorCode() : semaphore.acquireSlow(count, until, "acquire");
    }

    // One permit is a mutex.
    static Scenario excludes(bool mayGiveUp) {
        return [=](ModelRun& run) {
            auto& world = makeWorld<S, 2>(run, 1u);
            for (const std::size_t i : {0u, 1u}) {
                run.thread(i == 0 ? "thread1" : "thread2", [&world, i, mayGiveUp] {
                    S& semaphore = world.enter(i);
                    if (acquire(semaphore, 1, i == 0 && mayGiveUp ? Timeout::possible : Timeout::never)) return;
                    world.data = world.data + 1;
                    assertThat(semaphore.release(1), "not too many");
                });
            }
            run.finally([&world] { assertThat(world.object.permits() == 1, "no permit is lost or doubled"); });
        };
    }
    // A request for two permits, which two threads release, then one for one.
    static Scenario batches(bool mayGiveUp) {
        return [=](ModelRun& run) {
            auto& world = makeWorld<S, 2>(run, 0u);
            auto& gaveUp = run.make<bool>(false);
            run.thread("large", [&world, &gaveUp, mayGiveUp] {
                S& semaphore = world.enter(0);
                gaveUp = static_cast<bool>(acquire(semaphore, 2, mayGiveUp ? Timeout::possible : Timeout::never));
            });
            run.thread("small", [&world] {
                S& semaphore = world.enter(1);
                assertThat(!acquire(semaphore, 1), "it does not give up");
            });
            run.thread("releases", [&world] {
                assertThat(world.object.release(1), "not too many");
                assertThat(world.object.release(2), "not too many");
            });
            run.finally([&world, &gaveUp] {
                assertThat(world.object.permits() == (gaveUp ? 2u : 0u), "no permit is lost or doubled");
            });
        };
    }
    // Each permit brings what its releaser has written, also if another thread grants it.
    static void brings(ModelRun& run) {
        struct State {
            S semaphore{0};
            std::array<Plain<int>, 2> results{Plain<int>(0), Plain<int>(0)};
            ThreadTask task;
        };
        Sync::QueueLock::ofRun() = &run.make<Mutex>("queue");
        auto& state = run.make<State>();
        for (const std::size_t i : {0u, 1u}) {
            run.thread(i == 0 ? "releases1" : "releases2", [&state, i] {
                state.results[i] = 1;
                assertThat(state.semaphore.release(1), "not too many");
            });
        }
        run.thread("acquires both", [&state] {
            ThreadWait::use(state.task);
            assertThat(!acquire(state.semaphore, 2), "it does not give up");
            assertThat(state.results[0] == 1 && state.results[1] == 1, "both results");
            destroy(state);
        });
    }
    // A result that a permit announces; the thread that gets the permit destroys the semaphore.
    static Scenario destroyed(bool givesUpFirst) {
        return [=](ModelRun& run) {
            struct State {
                S semaphore{0};
                Plain<int> result{0};
            };
            Sync::QueueLock::ofRun() = &run.make<Mutex>("queue");
            auto& state = run.make<State>();
            auto& task = run.make<ThreadTask>();
            run.thread("worker", [&state] {
                state.result = 1;
                assertThat(state.semaphore.release(1), "not too many");
            });
            run.thread("waiter", [&state, &task, givesUpFirst] {
                ThreadWait::use(task);
                if (!givesUpFirst || acquire(state.semaphore, 1, Timeout::possible)) {
                    assertThat(!acquire(state.semaphore, 1), "it does not give up");
                }
                assertThat(state.result == 1, "the permit brings the result");
                destroy(state);
            });
        };
    }
    // A close races with a request and a release: the request gets the permit or fails.
    static void closes(ModelRun& run) {
        auto& world = makeWorld<S, 1>(run, 0u);
        auto& got = run.make<bool>(false);
        run.thread("requests", [&world, &got] { got = !acquire(world.enter(0), 1); });
        run.thread("releases", [&world] { assertThat(world.object.release(1), "not too many"); });
        run.thread("closes", [&world] { assertThat(world.object.close(), "the first close"); });
        run.finally([&world, &got] {
            assertThat(world.object.permits() == (got ? 0u : 1u), "no permit is lost or doubled");
            assertThat(!world.object.tryAcquire(1) && world.object.isClosed(), "it is closed");
        });
    }
};

template <class S = detail::BasicSemaphore<Sync>>
std::vector<Case> semaphoreCases() {
    using Built = SemaphoreScenarios<S>;
    return {makeCase("excludes", Built::excludes(false)),
            makeCase("excludes, one gives up", Built::excludes(true)),
            makeCase("batches", Built::batches(false)),
            makeCase("batches, one gives up", Built::batches(true)),
            makeCase("brings", Built::brings),
            makeCase("destroyed", Built::destroyed(false)),
            makeCase("destroyed, gives up first", Built::destroyed(true)),
            makeCase("closes", Built::closes)};
}

template <class N>
struct NotifyScenarios {
    static ErrorCode wait(N& notify, Timeout until = Timeout::never) {
        const auto since = notify.generation();
        return notify.tryConsume() ? ErrorCode() : notify.wait(since, until, "wait");
    }

    // The notified thread has the data, and may destroy the object.
    static void one(ModelRun& run) {
        struct State {
            N notify;
            Plain<int> result{0};
        };
        Sync::QueueLock::ofRun() = &run.make<Mutex>("queue");
        auto& state = run.make<State>();
        auto& task = run.make<ThreadTask>();
        run.thread("notifies", [&state] {
            state.result = 1;
            state.notify.notifyOne();
        });
        run.thread("waits", [&state, &task] {
            ThreadWait::use(task);
            assertThat(!wait(state.notify), "it does not give up");
            assertThat(state.result == 1, "the notification brings the data");
            destroy(state);
        });
    }
    // Two notifications for two waiters: none is lost. At most one is stored, so the second comes once the first wait
    // has ended. If the first waiter may give up, it passes its notification on.
    static Scenario two(bool mayGiveUp) {
        return [=](ModelRun& run) {
            auto& world = makeWorld<N, 2>(run);
            auto& ended = run.make<Atomic<int>>(0);
            for (const std::size_t i : {0u, 1u}) {
                run.thread(i == 0 ? "first" : "second", [&world, &ended, i, mayGiveUp] {
                    const bool limited = i == 0 && mayGiveUp;
                    N& notify = world.enter(i);
                    if (wait(notify, limited ? Timeout::possible : Timeout::never)) return;
                    assertThat(world.data == 1, "the notification brings the data");
                    ended.fetch_add(1, std::memory_order_relaxed);
                    if (limited) notify.notifyOne();
                });
            }
            run.thread("notifies", [&world, &ended, mayGiveUp] {
                world.data = 1;
                world.object.notifyOne();
                if (mayGiveUp) return;
                await([&ended] { return ended.load(std::memory_order_relaxed) > 0; });
                world.object.notifyOne();
            });
        };
    }
    // A check, then a wait: with the ticket no notifyAll() between them is missed.
    static void ticket(ModelRun& run) {
        auto& world = makeWorld<N, 2>(run);
        for (const std::size_t i : {0u, 1u}) {
            run.thread(i == 0 ? "first" : "second", [&world, i] {
                N& notify = world.enter(i);
                const auto since = notify.generation();
                if (since > 0) {
                    assertThat(world.data == 1, "the generation brings the data");
                    return;
                }
                assertThat(!notify.wait(since, Timeout::never, "wait"), "it does not give up");
                assertThat(world.data == 1, "the notification brings the data");
            });
        }
        run.thread("notifies", [&world] {
            world.data = 1;
            world.object.notifyAll();
        });
    }
};

template <class G>
struct WaitGroupScenarios {
    static ErrorCode wait(G& group, Timeout until = Timeout::never) {
        return group.isSettled() ? ErrorCode() : group.wait(until, "wait");
    }
    // Two parts of the work; the waiter, which may give up once and wait again, destroys the group.
    static Scenario destroyed(bool givesUpFirst) {
        return [=](ModelRun& run) {
            struct State {
                G group;
                std::array<Plain<int>, 2> results{Plain<int>(0), Plain<int>(0)};
            };
            Sync::QueueLock::ofRun() = &run.make<Mutex>("queue");
            auto& state = run.make<State>();
            auto& task = run.make<ThreadTask>();
            assertThat(state.group.add(2), "not too many");
            for (const std::size_t i : {0u, 1u}) {
                run.thread(i == 0 ? "part1" : "part2", [&state, i] {
                    state.results[i] = 1;
                    assertThat(state.group.done(), "counted");
                });
            }
            run.thread("waiter", [&state, &task, givesUpFirst] {
                ThreadWait::use(task);
                if (givesUpFirst) static_cast<void>(wait(state.group, Timeout::possible));
                assertThat(!wait(state.group), "it does not give up");
                assertThat(state.results[0] == 1 && state.results[1] == 1, "the work is done");
                destroy(state);
            });
        };
    }
    // The waiter gives up and adds more work, which it does itself: until then no wait ends with success.
    static void reused(ModelRun& run) {
        struct State {
            G group;
            Plain<int> result{0};
        };
        Sync::QueueLock::ofRun() = &run.make<Mutex>("queue");
        auto& state = run.make<State>();
        auto& task = run.make<ThreadTask>();
        assertThat(state.group.add(1), "not too many");
        run.thread("work", [&state] {
            state.result = 1;
            assertThat(state.group.done(), "counted");
        });
        run.thread("waiter", [&state, &task] {
            ThreadWait::use(task);
            if (wait(state.group, Timeout::possible)) {
                assertThat(state.group.add(1), "not too many");
                const bool settled = !wait(state.group, Timeout::possible);
                assertThat(!settled, "the new work is not done");
                assertThat(state.group.done(), "counted");
                assertThat(!wait(state.group), "it does not give up");
            }
            assertThat(state.result == 1, "the work is done");
            destroy(state);
        });
    }
    static Scenario twoWait(bool mayGiveUp) {
        return [=](ModelRun& run) {
            auto& world = makeWorld<G, 2>(run);
            assertThat(world.object.add(1), "not too many");
            run.thread("work", [&world] {
                world.data = 1;
                assertThat(world.object.done(), "counted");
            });
            for (const std::size_t i : {0u, 1u}) {
                run.thread(i == 0 ? "waiter1" : "waiter2", [&world, i, mayGiveUp] {
                    if (wait(world.enter(i), i == 0 && mayGiveUp ? Timeout::possible : Timeout::never)) return;
                    assertThat(world.data == 1, "the work is done");
                });
            }
        };
    }
};

template <class G = detail::BasicWaitGroup<Sync>>
std::vector<Case> waitGroupCases() {
    using Built = WaitGroupScenarios<G>;
    return {makeCase("two wait", Built::twoWait(false)), makeCase("two wait, one gives up", Built::twoWait(true)),
            makeCase("destroyed", Built::destroyed(false)),
            makeCase("destroyed, gives up first", Built::destroyed(true)), makeCase("reused", Built::reused)};
}

template <class N = detail::BasicNotify<Sync>>
std::vector<Case> notifyCases() {
    using Built = NotifyScenarios<N>;
    return {makeCase("one", Built::one), makeCase("ticket", Built::ticket), makeCase("two", Built::two(false)),
            makeCase("two, one gives up", Built::two(true))};
}

// Two parties; one of them may give up and wait again.
inline Scenario barrier(bool givesUpFirst) {
    return [=](ModelRun& run) {
        using B = detail::BasicBarrier<Sync>;
        auto& world = makeWorld<B, 2>(run, std::size_t{2});
        auto& leaders = run.make<int>(0);
        auto& arrived = run.make<std::array<Plain<int>, 2>>();
        for (const std::size_t i : {0u, 1u}) {
            run.thread(i == 0 ? "party1" : "party2", [&world, &leaders, &arrived, i, givesUpFirst] {
                B& both = world.enter(i);
                arrived[i] = 1;
                bool leader = false;
                if (i == 1 || !givesUpFirst || both.wait(leader, Timeout::possible, "wait")) {
                    assertThat(!both.wait(leader, Timeout::never, "wait"), "it does not give up");
                }
                assertThat(arrived[1 - i] == 1, "the other party has arrived");
                if (leader) ++leaders;
            });
        }
        run.finally([&leaders] { assertThat(leaders == 1, "one leader"); });
    };
}

// Two callers initialise a value; the first attempt `fails`; a caller may give up while it waits.
inline Scenario once(bool fails, bool mayGiveUp) {
    return [=](ModelRun& run) {
        using O = detail::BasicOnce<Sync>;
        auto& world = makeWorld<O, 2>(run);
        auto& attempts = run.make<int>(0);
        for (const std::size_t i : {0u, 1u}) {
            run.thread(i == 0 ? "caller1" : "caller2", [&world, &attempts, i, fails, mayGiveUp] {
                O& cell = world.enter(i);
                if (!cell.isDone()) {
                    bool begun = false;
                    if (cell.begin(begun, i == 0 && mayGiveUp ? Timeout::possible : Timeout::never, "begin")) return;
                    if (begun) {
                        const bool succeeds = ++attempts > 1 || !fails;
                        if (succeeds) world.data = world.data + 1;
                        cell.finish(succeeds);
                        if (!succeeds) return;
                    }
                }
                assertThat(cell.isDone() && world.data == 1, "the value is there, once");
            });
        }
        run.finally([&world, &attempts, fails, mayGiveUp] {
            if (!fails) assertThat(world.data == 1 && attempts == 1, "one attempt");
            if (fails && !mayGiveUp) assertThat(world.data == 1 && attempts == 2, "the other caller tries again");
        });
    };
}

inline std::vector<Case> otherCases() {
    return {makeCase("barrier", barrier(false)),
            makeCase("barrier, gives up first", barrier(true)),
            makeCase("once", once(false, false)),
            makeCase("once, one gives up", once(false, true)),
            makeCase("once, the first fails", once(true, false)),
            makeCase("once, the first fails and one gives up", once(true, true))};
}

}  // namespace weft::model::sync
