// Stealing (docs/protocol.md section 11), with rings of two: an owner, those who submit to it, and thieves who take
// from its ring, its backlog and its in-tray. Each task runs once, with what its submitter wrote; all that waits can be
// helped; what a thief hands back wakes a sleeping owner and is not lost to a closed queue.
#include <weft/scheduler/detail/carrier_core.hpp>
#include <weft/scheduler/detail/stealable_queue.hpp>

#include "protocol_test.hpp"

namespace weft::model {
namespace {

using weft::detail::SleepKind;
using weft::detail::Theft;

struct Task {
    Link<Task> next;
    Plain<int> data{0};
    int runs = 0;
};

template <class P, class Node, std::uint32_t capacity>
using Shipped = detail::BasicStealableQueue<P, Node, capacity>;

// What all threads of a scenario share: the victim, two thieves' queues, and how many tasks have run.
template <template <class, class, std::uint32_t> class QueueOf>
struct Crowd {
    using Core = detail::BasicCarrierCore<Atomics, Task, 2, QueueOf>;
    using Queue = typename Core::Queue;

    explicit Crowd(int total) : total(total) {}

    Queue victim;
    Queue thieves[2];
    Atomic<int> done{0};
    std::array<Task, 6> tasks;
    const int total;  // tasks that run until all ends
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
    // --- a thief: waits until there is something, and takes some of it
    void steal(int thief) {
        await([this] { return victim.hasSpoils() || allDone(); });
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
    // One task, which the owner and two thieves want.
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
    // The owner's ring goes round while two thieves claim from it.
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
    // The owner sits in a long task: it has a ring, a backlog and an in-tray, and all of it gets done.
    static void longTask(ModelRun& run) {
        State& state = make(run, 6);
        run.thread("owner", [&state] {
            for (const int task : {0, 1, 2, 3}) state.pushOwn(task);  // two of them are too many
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
    // The owner closes its queue as soon as it is empty: what was accepted runs, wherever it is by then.
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
    // The owner sleeps in a futex; a thief who has the in-tray in hand wakes it when it hands some back.
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
            {"park", "stop", "turn", "readyPoller", "visitors", "tray", "head", "backlog", "tail", "ring0", "ring1"});
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
            if (state.thief.stealFrom(state.core.queue()) == Theft::handedBack) state.wake();
            state.runAll(state.thief);
        });
        run.finally([&state] { assertThat(state.ran == 3, "all has run"); });
    }

    // A thief's queue is robbed of what it has just stolen, from a ring or from an in-tray.
    static Scenario robbed(bool fromRing) {
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

    // A ring of one: when a thief has claimed its task, the owner puts the next one there, in one of four ways.
    enum class Refill { push, accept, steal, stealList };
    static Scenario reuses(Refill how) {
        return [=](ModelRun& run) {
            struct Rings {
                QueueOf<Atomics, Task, 1> robbed;
                QueueOf<Atomics, Task, 1> thief;
                QueueOf<Atomics, Task, 1> third;
                Task first;
                Task second;
                Task* owners = nullptr;
                Task* thiefs = nullptr;
            };
            auto& state = run.make<Rings>();
            run.name({"tray", "head", "backlog", "tail", "ring"});
            state.robbed.push(state.first);
            if (how == Refill::steal) state.third.push(state.second);
            if (how == Refill::stealList) (void)state.third.submit(state.second);
            run.thread("owner", [&state, how] {
                if (how == Refill::push) {
                    state.robbed.push(state.second);
                } else if (how == Refill::accept) {
                    (void)state.robbed.submit(state.second);
                    state.robbed.takeSubmitted();
                } else {
                    (void)state.robbed.stealFrom(state.third);
                }
                state.owners = state.robbed.pop();
            });
            run.thread("thief", [&state] {
                (void)state.thief.stealFrom(state.robbed);
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
            makeCase("a robbed thief", Built::robbed(true)),
            makeCase("a thief robbed of a list", Built::robbed(false)),
            makeCase("the ring wraps", Built::wraps),
            makeCase("a sleeping owner", Built::sleeps),
            makeCase("closing", Built::closing),
            makeCase("a long task", Built::longTask),
            makeCase("everybody", Built::everybody)};
}
// What is read before it is written: only speculated loads show an order of a load before a later store.
std::vector<Case> speculativeCases() {
    using Built = Scenarios<Shipped>;
    using Refill = Built::Refill;
    std::vector<Case> all = {makeCase("used again by a push", Built::reuses(Refill::push)),
                             makeCase("used again by a list", Built::reuses(Refill::accept)),
                             makeCase("used again by a theft", Built::reuses(Refill::steal)),
                             makeCase("used again by a stolen list", Built::reuses(Refill::stealList))};
    for (Case& speculative : all) speculative.options.memory.speculateLoads = true;
    return all;
}

constexpr const char* protocol = "stealing";

TEST(StealingModel, EachTaskRunsOnceWithinThreePreemptions) {
    exploreAll(protocol, cases(), {.preemptions = 3, .executions = 200'000});
}
TEST(StealingModel, EachTaskRunsOnceInAnyInterleaving) {
    exploreAll(protocol, only("the last task", cases()), {.search = Search::full, .executions = 200'000});
}
TEST(StealingModel, EachTaskRunsOnceAtRandom) {
    exploreAll(protocol, cases(), {.search = Search::random, .executions = 60'000});
    exploreAll(protocol, cases(), {.search = Search::pct, .executions = 60'000});
}
TEST(StealingModel, ASlotIsReadBeforeItIsUsedAgain) {
    exploreAll(protocol, speculativeCases(), {.search = Search::random, .executions = 20'000});
}

// --- twins

constexpr Survivor survivors[] = {
    {"in_tray closeIfEmpty compare_exchange.success *", "as in run_queue_model_test"},
    {"stealable_queue push load#3 *", "a read before a write: see the next test"},
    {"stealable_queue accept load#2 *", "a read before a write: see the next test"},
    {"stealable_queue keepHalf load#2 *", "a read before a write: see the next test"},
    {"stealable_queue claimFrom load#2 *", "a read before a write: see the next test"},
    {"stealable_queue claimFrom compare_exchange.success *", "a read before a write: see the next test"},
};

TEST(StealingModel, EveryOrderIsNeeded) {
    std::vector<Case> small = cases();
    small.resize(6);
    expectOrdersNeeded(protocol, small, survivors,
                       {.random = 5'000, .pct = 5'000, .depthFirst = 10'000, .files = {"stealable_queue", "in_tray"}});
}
TEST(StealingModel, WithoutTheOrdersOfAClaimASlotIsReadAfterItIsUsedAgain) {
    const auto expectKilledIn = [](const char* where, std::string_view order) {
        const Hunt hunt{.random = 20'000, .pct = 0, .depthFirst = 0, .files = {"stealable_queue"}};
        expectKilledTogether(only(where, speculativeCases()), {order}, hunt);
    };
    expectKilledIn("used again by a push", "stealable_queue claimFrom compare_exchange.success release->relaxed");
    expectKilledIn("used again by a push", "stealable_queue push load#3 acquire->relaxed");
    expectKilledIn("used again by a list", "stealable_queue accept load#2 acquire->relaxed");
    expectKilledIn("used again by a theft", "stealable_queue claimFrom load#2 acquire->relaxed");
    expectKilledIn("used again by a stolen list", "stealable_queue keepHalf load#2 acquire->relaxed");
}

enum class Defect {
    none,
    claimsByStore,     // a thief looks at the head and stores it
    popsByStore,       // the owner does
    readsLate,         // a thief reads the slots after its claim
    narrowHead,        // the head has two bits
    publishesEarly,    // the tail before the slot
    overwrites,        // the owner does not look whether there is room
    handsBackByStore,  // over what somebody else has put there
    takesByStore,      // a look at the backlog and a store
    sleepsOnBacklog,   // the owner's look before it sleeps leaves the backlog out
    closesBlindly,     // leaves the backlog open
    takesTheMark,      // a thief takes the in-tray as the owner does
    keepsPrivate,      // the owner's overflow is its own
    hidesHandBack,     // says nothing of it: nobody wakes the owner
};

// The queue, written again so that one thing can be wrong with it.
template <Defect defect, std::uint32_t capacity>
class TwinQueue {
  public:
    bool submit(Task& task) { return inTray_.push(task); }
    bool hasSpoils() const {
        return head_.load(std::memory_order_relaxed) != tail_.load(std::memory_order_relaxed) ||
               isList(backlog_.load(std::memory_order_relaxed)) || !inTray_.empty();
    }

    Theft stealFrom(TwinQueue& victim) {
        if (claimFrom(victim)) return Theft::taken;
        Task* list = victim.takeBacklog();
        if (list == nullptr) {
            list = defect == Defect::takesTheMark ? victim.inTray_.takeAll() : victim.inTray_.stealAll();
        }
        if (list == nullptr) return Theft::nothing;
        Task* rest = keepHalf(list);
        if (rest == nullptr) return Theft::taken;
        Task* none = nullptr;
        if (defect == Defect::handsBackByStore) {
            victim.backlog_.store(rest, std::memory_order_seq_cst);
            return Theft::handedBack;
        }
        if (victim.backlog_.compare_exchange_strong(none, rest, std::memory_order_seq_cst, std::memory_order_relaxed)) {
            return defect == Defect::hidesHandBack ? Theft::taken : Theft::handedBack;
        }
        accept(rest);
        return Theft::taken;
    }

    void push(Task& task) {
        const Index tail = tail_.load(std::memory_order_relaxed);
        const bool hasRoom = distance(tail, head_.load(std::memory_order_acquire)) < capacity;
        const bool behind = overflowed_ || backlog_.load(std::memory_order_relaxed) != nullptr || private_ != nullptr;
        if ((!behind && hasRoom) || defect == Defect::overwrites) {
            if (defect == Defect::publishesEarly) tail_.store(wrapped(tail + 1), std::memory_order_release);
            slot(tail).store(&task, std::memory_order_relaxed);
            if (defect != Defect::publishesEarly) tail_.store(wrapped(tail + 1), std::memory_order_release);
        } else if (defect == Defect::keepsPrivate) {
            task.next = nullptr;
            private_ = joined(private_, &task);
        } else {
            overflowed_ = true;
            (void)inTray_.push(task);
        }
    }
    void takeSubmitted() {
        if (backlog_.load(std::memory_order_relaxed) != nullptr) return;
        overflowed_ = false;
        if (Task* list = inTray_.takeAll()) accept(list);
    }
    Task* pop() {
        Index head = head_.load(std::memory_order_relaxed);
        for (;;) {
            if (head == tail_.load(std::memory_order_relaxed)) {
                if (!refill()) return nullptr;
                head = head_.load(std::memory_order_relaxed);
                continue;
            }
            Task* task = slot(head).load(std::memory_order_relaxed);
            if (defect == Defect::popsByStore) {
                head_.store(wrapped(head + 1), std::memory_order_relaxed);
                return task;
            }
            if (head_.compare_exchange_weak(head, wrapped(head + 1), std::memory_order_relaxed,
                                            std::memory_order_relaxed)) {
                return task;
            }
        }
    }
    bool empty() const {
        const bool backlog = defect != Defect::sleepsOnBacklog && isList(backlog_.load(std::memory_order_seq_cst));
        return head_.load(std::memory_order_relaxed) == tail_.load(std::memory_order_relaxed) && !backlog &&
               private_ == nullptr && inTray_.empty();
    }
    bool closeIfEmpty() {
        if (!empty()) return false;
        Task* seen = nullptr;
        if (defect != Defect::closesBlindly &&
            !backlog_.compare_exchange_strong(seen, closedMark(), std::memory_order_relaxed,
                                              std::memory_order_relaxed) &&
            seen != closedMark()) {
            return false;
        }
        if (inTray_.closeIfEmpty()) return true;
        if (defect != Defect::closesBlindly) backlog_.store(nullptr, std::memory_order_relaxed);
        return false;
    }

  private:
    using Index = std::uint64_t;

    static Index wrapped(Index index) { return defect == Defect::narrowHead ? index & 3 : index; }
    static Index distance(Index tail, Index head) { return wrapped(tail - head); }
    Task* closedMark() const { return reinterpret_cast<Task*>(const_cast<TwinQueue*>(this)); }
    bool isList(Task* backlog) const { return backlog != nullptr && backlog != closedMark(); }
    auto& slot(Index index) { return ring_[index & (capacity - 1)]; }

    bool claimFrom(TwinQueue& victim) {
        const Index tail = tail_.load(std::memory_order_relaxed);
        const Index room = capacity - distance(tail, head_.load(std::memory_order_acquire));
        Index head = victim.head_.load(std::memory_order_relaxed);
        for (;;) {
            const Index size = distance(victim.tail_.load(std::memory_order_acquire), head);
            const Index count = std::min(size - size / 2, room);
            if (count == 0) return false;
            if (size > capacity) {
                head = victim.head_.load(std::memory_order_relaxed);
                continue;
            }
            if (defect != Defect::readsLate) copy(victim, head, tail, count);
            if (defect == Defect::claimsByStore) {
                victim.head_.store(wrapped(head + count), std::memory_order_release);
            } else if (!victim.head_.compare_exchange_weak(head, wrapped(head + count), std::memory_order_release,
                                                           std::memory_order_relaxed)) {
                continue;
            }
            if (defect == Defect::readsLate) copy(victim, head, tail, count);
            tail_.store(wrapped(tail + count), std::memory_order_release);
            return true;
        }
    }
    void copy(TwinQueue& victim, Index from, Index to, Index count) {
        for (Index i = 0; i < count; ++i) {
            slot(to + i).store(victim.slot(from + i).load(std::memory_order_relaxed), std::memory_order_relaxed);
        }
    }
    Task* keepHalf(Task* list) {
        Index tail = tail_.load(std::memory_order_relaxed);
        Index room = capacity - distance(tail, head_.load(std::memory_order_acquire));
        for (Task* twiceAsFar = list; twiceAsFar != nullptr && room != 0; --room) {
            twiceAsFar = twiceAsFar->next;
            if (twiceAsFar != nullptr) twiceAsFar = twiceAsFar->next;
            slot(tail++).store(list, std::memory_order_relaxed);
            list = list->next;
        }
        tail_.store(wrapped(tail), std::memory_order_release);
        return list;
    }
    void accept(Task* list) {
        Index tail = tail_.load(std::memory_order_relaxed);
        Index room = capacity - distance(tail, head_.load(std::memory_order_acquire));
        for (; list != nullptr && room != 0; list = list->next, --room) {
            slot(tail++).store(list, std::memory_order_relaxed);
        }
        tail_.store(wrapped(tail), std::memory_order_release);
        if (list == nullptr) return;
        if (defect == Defect::keepsPrivate) {
            private_ = joined(private_, list);
            return;
        }
        Task* none = nullptr;
        while (!backlog_.compare_exchange_strong(none, list, std::memory_order_release, std::memory_order_relaxed)) {
            if (Task* older = takeBacklog()) list = joined(older, list);
            none = nullptr;
        }
    }
    Task* takeBacklog() {
        Task* list = backlog_.load(std::memory_order_acquire);
        if (!isList(list)) return nullptr;
        if (defect == Defect::takesByStore) {
            backlog_.store(nullptr, std::memory_order_relaxed);
            return list;
        }
        const bool taken =
            backlog_.compare_exchange_strong(list, nullptr, std::memory_order_acquire, std::memory_order_relaxed);
        return taken ? list : nullptr;
    }
    bool refill() {
        Task* list = std::exchange(private_, nullptr);
        if (list == nullptr) list = takeBacklog();
        if (list == nullptr) return false;
        accept(list);
        return true;
    }
    static Task* joined(Task* first, Task* second) {
        if (first == nullptr) return second;
        Task* last = first;
        while (Task* next = last->next) last = next;
        last->next = second;
        return first;
    }

    detail::BasicInTray<Atomics, Task> inTray_;
    Atomic<Index> head_{0};
    Atomic<Task*> backlog_{nullptr};
    Atomic<Index> tail_{0};
    bool overflowed_ = false;
    Task* private_ = nullptr;
    std::array<Atomic<Task*>, capacity> ring_;
};

template <Defect defect>
struct Broken {
    template <class, class, std::uint32_t capacity>
    using Queue = TwinQueue<defect, capacity>;
};
template <Defect defect>
std::vector<Case> broken() {
    return cases<Broken<defect>::template Queue>();
}
template <Defect defect>
void expectKilledIn(const char* name, const char* where) {
    expectKilled(name, only(where, broken<defect>()));
}

TEST(StealingModel, TheTwinWithoutADefectPasses) {
    exploreAll("stealing (twin)", broken<Defect::none>(), {.executions = 30'000});
}
TEST(StealingModel, AClaimByStoreRunsATaskTwice) {
    expectKilledIn<Defect::claimsByStore>("claims by store", "the last task");
    expectKilledIn<Defect::popsByStore>("pops by store", "the last task");
}
TEST(StealingModel, SlotsThatAreReadAfterTheClaimAreOverwritten) {
    expectKilledIn<Defect::readsLate>("reads late", "the ring wraps");
}
TEST(StealingModel, AHeadThatComesAgainLetsALateThiefIn) {
    expectKilledIn<Defect::narrowHead>("two bits of head", "the ring wraps");
}
TEST(StealingModel, ATailBeforeItsSlotShowsAThiefNothing) {
    expectKilledIn<Defect::publishesEarly>("publishes early", "the last task");
}
TEST(StealingModel, AFullRingMustNotBeOverwritten) {
    expectKilledIn<Defect::overwrites>("overwrites", "the ring wraps");
}
TEST(StealingModel, ABacklogThatIsChangedByStoresLosesTasks) {
    expectKilledIn<Defect::handsBackByStore>("hands back by store", "closing");
    expectKilledIn<Defect::takesByStore>("takes the backlog by store", "the ring wraps");
}
TEST(StealingModel, AnOwnerIsWokenForItsBacklogAndLooksAtIt) {
    expectKilledIn<Defect::sleepsOnBacklog>("sleeps on its backlog", "a sleeping owner");
    expectKilledIn<Defect::hidesHandBack>("hides what it handed back", "a sleeping owner");
}
TEST(StealingModel, AClosedQueueTakesNothingBack) {
    expectKilledIn<Defect::closesBlindly>("closes blindly", "closing");
}
TEST(StealingModel, AThiefWhoTakesTheMarkOpensAClosedTray) {
    expectKilledIn<Defect::takesTheMark>("takes the mark", "closing");
}
TEST(StealingModel, ATaskOutOfReachWaitsForItsOwner) {
    expectKilledIn<Defect::keepsPrivate>("keeps its overflow private", "a long task");
}

}  // namespace
}  // namespace weft::model
