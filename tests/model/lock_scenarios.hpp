// The scenarios that explore the mutexes and the condition of weft::sync (docs/explanation/protocol.md section 19):
// threads that lock and unlock, give up, and destroy the object as soon as its contract allows.
#pragma once

#include <weft/scheduler/detail/basic_condition.hpp>
#include <weft/scheduler/detail/basic_mutex.hpp>

#include "sync_world.hpp"

namespace weft::model::sync {

template <class M>
struct MutexScenarios {
    static bool lock(M& mutex, Timeout until = Timeout::never) {
        return mutex.tryLock() || !mutex.lockSlow(until, "lock");
    }
    template <class W>
    static void increment(W& world) {
        assertThat(++world.inside == 1, "one thread holds the mutex");
        world.data = world.data + 1;
        --world.inside;
    }

    // Threads exclude each other; the first one `mayGiveUp`, but takes the mutex if it is free by then.
    template <std::size_t threads>
    static Scenario exclude(bool mayGiveUp) {
        return [=](ModelRun& run) {
            auto& world = makeWorld<M, threads>(run);
            static constexpr const char* names[] = {"thread1", "thread2", "thread3"};
            for (std::size_t i = 0; i < threads; ++i) {
                run.thread(names[i], [&world, i, mayGiveUp] {
                    M& mutex = world.enter(i);
                    const bool limited = i == 0 && mayGiveUp;
                    if (!lock(mutex, limited ? Timeout::possible : Timeout::never) && !mutex.tryLock()) return;
                    increment(world);
                    mutex.unlock();
                });
            }
            run.finally([&world, mayGiveUp] {
                assertThat(world.data >= static_cast<int>(threads) - (mayGiveUp ? 1 : 0), "only one gives up");
                assertThat(!world.object.isLocked() && world.object.tryLock(), "it is free");
            });
        };
    }
    // Each takes it twice.
    static void again(ModelRun& run) {
        auto& world = makeWorld<M, 2>(run);
        for (const std::size_t i : {0u, 1u}) {
            run.thread(i == 0 ? "thread1" : "thread2", [&world, i] {
                M& mutex = world.enter(i);
                for (int round = 0; round < 2; ++round) {
                    lock(mutex);
                    increment(world);
                    mutex.unlock();
                }
            });
        }
        run.finally([&world] { assertThat(world.data == 4, "each took it twice"); });
    }
    // The last owner destroys what the mutex guards, and the mutex.
    template <std::size_t threads>
    static void destroyed(ModelRun& run) {
        struct Owned {
            M mutex;
            Plain<int> owners{static_cast<int>(threads)};
        };
        struct Tasks {
            std::array<ThreadTask, threads> all;
        };
        Sync::QueueLock::ofRun() = &run.make<Mutex>("queue");
        SometimesFair::count() = 0;
        auto& owned = run.make<Owned>();
        auto& tasks = run.make<Tasks>();
        static constexpr const char* names[] = {"owner1", "owner2", "owner3"};
        for (std::size_t i = 0; i < threads; ++i) {
            run.thread(names[i], [&owned, &tasks, i] {
                ThreadWait::use(tasks.all[i]);
                lock(owned.mutex);
                owned.owners = owned.owners - 1;
                const bool last = owned.owners == 0;
                owned.mutex.unlock();
                if (last) destroy(owned);
            });
        }
    }
};

template <class M>
void addMutexCases(std::vector<Case>& all, const std::string& kind) {
    using Built = MutexScenarios<M>;
    all.push_back(makeCase(kind + ", two", Built::template exclude<2>(false)));
    all.push_back(makeCase(kind + ", one gives up", Built::template exclude<2>(true)));
    all.push_back(makeCase(kind + ", again", Built::again));
    all.push_back(makeCase(kind + ", destroyed", Built::template destroyed<2>));
    all.push_back(makeCase(kind + ", three", Built::template exclude<3>(false)));
    all.push_back(makeCase(kind + ", one of three gives up", Built::template exclude<3>(true)));
    all.push_back(makeCase(kind + ", destroyed by the last of three", Built::template destroyed<3>));
}

template <template <class, class> class M = detail::BasicMutex>
std::vector<Case> mutexCases() {
    std::vector<Case> all;
    addMutexCases<M<Sync, NeverFair>>(all, "barging");
    addMutexCases<M<Sync, AlwaysFair>>(all, "fair");
    addMutexCases<M<Sync, SometimesFair>>(all, "mixed");
    return all;
}

template <class C>
struct ConditionScenarios {
    using M = detail::BasicMutex<Sync, NeverFair>;
    struct Guarded {
        // Condition locks it again with this.
        struct Lockable : M {
            void lockUninterruptibly() {
                if (!this->tryLock()) this->lockSlowUninterruptibly("relock");
            }
        };
        Lockable mutex;
        C changed;
    };

    // `consumers` wait for one item each; the producer makes them one after the other.
    template <std::size_t consumers>
    static Scenario items(bool all, bool mayGiveUp) {
        return [=](ModelRun& run) {
            auto& world = makeWorld<Guarded, consumers + 1>(run);
            run.thread("producer", [&world, all] {
                Guarded& guarded = world.enter(consumers);
                for (std::size_t i = 0; i < consumers; ++i) {
                    guarded.mutex.lockUninterruptibly();
                    world.data = world.data + 1;
                    guarded.mutex.unlock();
                    if (!all) guarded.changed.notifyOne();
                }
                if (all) guarded.changed.notifyAll();
            });
            for (std::size_t i = 0; i < consumers; ++i) {
                run.thread(i == 0 ? "consumer1" : "consumer2", [&world, i, mayGiveUp] {
                    Guarded& guarded = world.enter(i);
                    guarded.mutex.lockUninterruptibly();
                    bool gaveUp = false;
                    while (world.data == 0 && !gaveUp) {
                        const Timeout until = i == 0 && mayGiveUp ? Timeout::possible : Timeout::never;
                        gaveUp = static_cast<bool>(guarded.changed.wait(guarded.mutex, until, "wait"));
                    }
                    if (world.data > 0) world.data = world.data - 1;
                    guarded.mutex.unlock();
                });
            }
        };
    }
};

template <class C = detail::BasicCondition<Sync>>
std::vector<Case> conditionCases() {
    using Built = ConditionScenarios<C>;
    return {makeCase("one item", Built::template items<1>(false, false)),
            makeCase("one item, gives up", Built::template items<1>(false, true)),
            makeCase("two items", Built::template items<2>(false, false)),
            makeCase("two items, one gives up", Built::template items<2>(false, true)),
            makeCase("notify all", Built::template items<2>(true, false))};
}

}  // namespace weft::model::sync
