// The scenarios that explore stealing (docs/explanation/protocol.md section 11), for the shipped queue and for its
// twins: rings of two, an owner, threads that submit to it, and thieves that take from its ring, its backlog and its
// in-tray.
#pragma once

#include <weft/scheduler/detail/carrier_core.hpp>
#include <weft/scheduler/detail/stealable_queue.hpp>

#include "protocol_test.hpp"

namespace weft::model::stealing {

using weft::detail::SleepKind;
using weft::detail::StealResult;

struct Task {
    Link<Task> next;
    Plain<int> data{0};
    int runs = 0;
};

template <class P, class Node, std::uint32_t capacity>
using Shipped = detail::BasicStealableQueue<P, Node, capacity>;

// Shared by all threads of a scenario: the victim, two thieves' queues, and the number of tasks that have run.
template <template <class, class, std::uint32_t> class QueueOf>
struct Crowd {
    using Core = detail::BasicCarrierCore<Atomics, Task, 2, QueueOf>;
    using Queue = typename Core::Queue;

    explicit Crowd(int total) : total(total) {}

    Queue victim;
    Queue thieves[2];
    Atomic<int> done{0};
    std::array<Task, 6> tasks;
    const int total;  // tasks to run before all threads end
    int accepted = 0;

    bool allDone() const { return done.load(std::memory_order_relaxed) == total; }

    // --- a producer
    void submit(int task) {
        Task& submitted = tasks[static_cast<std::size_t>(task)];
        submitted.data = 1;
        accepted += victim.submit(submitted);
    }
    // --- a queue's owner
    void pushOwn(int task) {
        tasks[static_cast<std::size_t>(task)].data = 1;
        victim.push(tasks[static_cast<std::size_t>(task)]);
    }
    bool runOne(Queue& queue) {
        Task* task = queue.pop();
        if (task == nullptr) return false;
        runTask(*task);
        return true;
    }
    void runAll(Queue& queue) {
        while (!queue.empty()) {
            queue.takeSubmitted();
            while (runOne(queue)) {
            }
        }
    }
    void own() {
        while (!allDone()) {
            await([this] { return !victim.empty() || allDone(); });
            runAll(victim);
        }
    }
    // --- a thief: waits until there is something to take, and takes some of it
    void steal(int thief) {
        await([this] { return victim.hasStealable() || allDone(); });
        (void)thieves[thief].stealFrom(victim);
        runAll(thieves[thief]);
    }

    void runTask(Task& task) {
        assertThat(task.data == 1, "a task runs once, with what its submitter wrote");
        task.data = 2;
        ++task.runs;
        done.fetch_add(1, std::memory_order_relaxed);
    }
    void checkAllRan() const {
        for (int i = 0; i < total; ++i) {
            assertThat(tasks[static_cast<std::size_t>(i)].runs == 1, "each task has run once");
        }
        assertThat(victim.empty() && thieves[0].empty() && thieves[1].empty(), "nothing is left");
    }
};

template <template <class, class, std::uint32_t> class QueueOf>
struct Scenarios {
    using State = Crowd<QueueOf>;

    // Two producers, the owner and two thieves.
    static void everybody(ModelRun& run) {
        State& state = make(run, 4);
        run.thread("producer1", [&state] { state.submit(0), state.submit(1); });
        run.thread("producer2", [&state] { state.submit(2), state.submit(3); });
        run.thread("owner", [&state] { state.own(); });
        run.thread("thief1", [&state] { state.steal(0); });
        run.thread("thief2", [&state] { state.steal(1); });
        run.finally([&state] { state.checkAllRan(); });
    }
    // One task, which the owner and two thieves try to take.
    static void theLastTask(ModelRun& run) {
        State& state = make(run, 1);
        run.thread("owner", [&state] {
            state.pushOwn(0);
            (void)state.runOne(state.victim);
        });
        for (const int thief : {0, 1}) {
            run.thread(thief == 0 ? "thief1" : "thief2", [&state, thief] {
                (void)state.thieves[thief].stealFrom(state.victim);
                state.runAll(state.thieves[thief]);
            });
        }
        run.finally([&state] { state.checkAllRan(); });
    }
    // The owner's ring wraps around while two thieves claim from it.
    static void wraps(ModelRun& run) {
        State& state = make(run, 4);
        run.thread("owner", [&state] {
            for (const int task : {0, 1}) state.pushOwn(task);
            (void)state.runOne(state.victim);
            for (const int task : {2, 3}) state.pushOwn(task);
            state.own();
        });
        for (const int thief : {0, 1}) {
            run.thread(thief == 0 ? "thief1" : "thief2", [&state, thief] { state.steal(thief); });
        }
        run.finally([&state] { state.checkAllRan(); });
    }
    // The owner is in a long task: it has a ring, a backlog and an in-tray, and the thieves must run all of it.
    static void longTask(ModelRun& run) {
        State& state = make(run, 6);
        run.thread("owner", [&state] {
            for (const int task : {0, 1, 2, 3}) state.pushOwn(task);  // two more than fit
            (void)state.runOne(state.victim);
            state.victim.takeSubmitted();
            state.pushOwn(4);
            await([&state] { return state.allDone(); });
        });
        run.thread("producer", [&state] { state.submit(5); });
        for (const int thief : {0, 1}) {
            run.thread(thief == 0 ? "thief1" : "thief2", [&state, thief] {
                while (!state.allDone()) state.steal(thief);
            });
        }
        run.finally([&state] { state.checkAllRan(); });
    }
    // The owner closes its queue as soon as it is empty: accepted tasks run, wherever they are by then.
    static void closing(ModelRun& run) {
        State& state = make(run, 4);
        run.thread("producer", [&state] { state.submit(0), state.submit(1), state.submit(2); });
        run.thread("owner", [&state] {
            while (!state.victim.closeIfEmpty()) state.runAll(state.victim);
        });
        for (const int thief : {0, 1}) {
            run.thread(thief == 0 ? "thief1" : "thief2", [&state, thief] {
                (void)state.thieves[thief].stealFrom(state.victim);
                state.runAll(state.thieves[thief]);
            });
        }
        run.finally([&state] {
            int ran = 0;
            for (const Task& task : state.tasks) ran += task.runs;
            assertThat(ran == state.accepted, "what was accepted has run");
            assertThat(state.victim.empty(), "a closed queue is empty");
        });
    }
    // The owner sleeps in a futex; a thief that holds the in-tray wakes it when it hands some tasks back.
    static void sleeps(ModelRun& run) {
        struct Sleeper {
            typename State::Core core;
            typename State::Queue thief;
            std::array<Task, 3> tasks;
            int ran = 0;

            void wake() {
                if (core.wake() == SleepKind::futex) futexWake(core.sleepWord());
            }
            void runAll(typename State::Queue& queue) {
                while (!queue.empty()) {
                    queue.takeSubmitted();
                    while (Task* task = queue.pop()) {
                        assertThat(task->data == 1 && ++task->runs == 1, "a task runs once");
                        if (++ran != 3) continue;
                        core.requestStop();
                        wake();
                    }
                }
            }
        };
        auto& state = run.make<Sleeper>();
        run.name(
            {"park", "stop", "turn", "readyPoller", "submitters", "tray", "head", "backlog", "tail", "ring0", "ring1"});
        run.thread("producer", [&state] {
            for (Task& task : state.tasks) {
                task.data = 1;
                assertThat(state.core.submit(task), "it is open");
                state.wake();
            }
        });
        run.thread("owner", [&state] {
            while (!state.core.stopRequested()) {
                state.runAll(state.core.queue());
                if (state.core.trySleep(SleepKind::futex, [] { return false; })) {
                    while (state.core.asleepIn(SleepKind::futex)) futexWait(state.core.sleepWord(), 1);
                }
                (void)state.core.leaveSleep();
            }
        });
        run.thread("thief", [&state] {
            if (state.thief.stealFrom(state.core.queue()) == StealResult::handedBack) state.wake();
            state.runAll(state.thief);
        });
        run.finally([&state] { assertThat(state.ran == 3, "all has run"); });
    }

    // Another thief steals from a thief's queue what it has just stolen, from a ring or from an in-tray.
    static Scenario victimCarrier(bool fromRing) {
        return [=](ModelRun& run) {
            State& state = make(run, 1);
            run.thread("owner", [&state, fromRing] { fromRing ? state.pushOwn(0) : state.submit(0); });
            run.thread("thief1", [&state] {
                (void)state.thieves[0].stealFrom(state.victim);
                state.runAll(state.thieves[0]);
            });
            run.thread("thief2", [&state] {
                (void)state.thieves[1].stealFrom(state.thieves[0]);
                state.runAll(state.thieves[1]);
            });
            run.finally([&state] {
                state.runAll(state.victim);
                state.checkAllRan();
            });
        };
    }

    // A ring of one: after a thief has claimed its task, the owner puts the next one there, in one of four ways.
    enum class Refill { push, accept, steal, stealList };
    static Scenario reuses(Refill how) {
        return [=](ModelRun& run) {
            struct Rings {
                QueueOf<Atomics, Task, 1> victimCarrier;
                QueueOf<Atomics, Task, 1> thief;
                QueueOf<Atomics, Task, 1> third;
                Task first;
                Task second;
                Task* owners = nullptr;
                Task* thiefs = nullptr;
            };
            auto& state = run.make<Rings>();
            run.name({"tray", "head", "backlog", "tail", "ring"});
            state.victimCarrier.push(state.first);
            if (how == Refill::steal) state.third.push(state.second);
            if (how == Refill::stealList) (void)state.third.submit(state.second);
            run.thread("owner", [&state, how] {
                if (how == Refill::push) {
                    state.victimCarrier.push(state.second);
                } else if (how == Refill::accept) {
                    (void)state.victimCarrier.submit(state.second);
                    state.victimCarrier.takeSubmitted();
                } else {
                    (void)state.victimCarrier.stealFrom(state.third);
                }
                state.owners = state.victimCarrier.pop();
            });
            run.thread("thief", [&state] {
                (void)state.thief.stealFrom(state.victimCarrier);
                state.thiefs = state.thief.pop();
            });
            run.finally(
                [&state] { assertThat(state.owners == nullptr || state.owners != state.thiefs, "no task for two"); });
        };
    }

  private:
    static State& make(ModelRun& run, int total) {
        auto& state = run.make<State>(total);
        run.name({"tray", "head", "backlog", "tail", "ring0", "ring1", "tray1", "head1", "backlog1", "tail1", "ring10",
                  "ring11", "tray2", "head2", "backlog2", "tail2", "ring20", "ring21", "done"});
        return state;
    }
};

template <template <class, class, std::uint32_t> class QueueOf = Shipped>
std::vector<Case> cases() {
    using Built = Scenarios<QueueOf>;
    return {makeCase("the last task", Built::theLastTask),
            makeCase("a victimCarrier thief", Built::victimCarrier(true)),
            makeCase("a thief victimCarrier of a list", Built::victimCarrier(false)),
            makeCase("the ring wraps", Built::wraps),
            makeCase("a sleeping owner", Built::sleeps),
            makeCase("closing", Built::closing),
            makeCase("a long task", Built::longTask),
            makeCase("everybody", Built::everybody)};
}

}  // namespace weft::model::stealing
