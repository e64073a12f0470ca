// The queues of weft::sync (docs/explanation/protocol.md section 20): a value is received once or stays with its
// sender, no waiter is forgotten, and nothing touches a queue that its contract allows to be destroyed. And the lock
// inside.
#include <weft/scheduler/detail/basic_broadcast.hpp>
#include <weft/scheduler/detail/basic_queue.hpp>
#include <weft/scheduler/detail/basic_select.hpp>
#include <weft/scheduler/detail/basic_watch.hpp>
#include <weft/scheduler/detail/spin_lock.hpp>
#include <weft/scheduler/detail/value_storage.hpp>

#include "sync_world.hpp"

namespace weft::model {
namespace {

using namespace sync;
using detail::QueueStatus;

constexpr const char* protocol = "queue";

using Value = Plain<int>;
using One = detail::BasicQueue<Sync, Value, detail::OneStorage<Value>>;
using Two = detail::BasicQueue<Sync, Value, detail::FixedStorage<Value>>;

template <class Q>
struct QueueScenarios {
    static ErrorCode send(Q& queue, int what, Timeout until = Timeout::never) {
        Value value(what);
        switch (queue.trySend(value)) {
            case QueueStatus::done: return {};
            case QueueStatus::closed: return fromErrno(EPIPE);
            case QueueStatus::wouldWait: return queue.sendSlow(value, until, "send");
        }
        return {};
    }
    // 0: nothing was received, because the queue is closed or the wait timed out.
    static int receive(Q& queue, Timeout until = Timeout::never) {
        std::optional<Value> value;
        if (queue.tryReceive(value) == QueueStatus::wouldWait) (void)queue.receiveSlow(value, until, "receive");
        return value ? value->get() : 0;
    }

    // Two values through one place.
    static void passes(ModelRun& run) {
        auto& world = makeWorld<Q, 2>(run);
        run.thread("sends", [&world] {
            Q& queue = world.enter(0);
            world.data = 1;
            (void)send(queue, 1);
            (void)send(queue, 2);
        });
        run.thread("receives", [&world] {
            Q& queue = world.enter(1);
            assertThat(receive(queue) == 1, "the first value");
            assertThat(world.data == 1, "what the sender wrote before");
            assertThat(receive(queue) == 2, "the second value");
        });
    }
    // Two senders, of which one may give up, and a receiver of two values or of what is left.
    static Scenario twoSend(bool mayGiveUp) {
        return [=](ModelRun& run) {
            auto& world = makeWorld<Q, 3>(run);
            auto& sum = run.make<int>(0);
            for (const std::size_t i : {0u, 1u}) {
                run.thread(i == 0 ? "sender1" : "sender2", [&world, &sum, i, mayGiveUp] {
                    const bool limited = i == 0 && mayGiveUp;
                    if (!send(world.enter(i), static_cast<int>(i + 1), limited ? Timeout::possible : Timeout::never)) {
                        sum += static_cast<int>(i + 1);
                    }
                });
            }
            run.thread("receives", [&world, &sum, mayGiveUp] {
                Q& queue = world.enter(2);
                sum -= receive(queue);
                if (!mayGiveUp) sum -= receive(queue);
            });
            run.finally([&world, &sum] {
                std::optional<Value> left;
                (void)world.object.tryReceive(left);
                if (left) sum -= left->get();
                assertThat(sum == 0, "what was sent was received or is in the queue, once");
            });
        };
    }
    // A receiver that may give up, another one, and one value for each.
    static void oneReceiverGivesUp(ModelRun& run) {
        auto& world = makeWorld<Q, 3>(run);
        auto& sum = run.make<int>(0);
        run.thread("limited", [&world, &sum] { sum += receive(world.enter(0), Timeout::possible); });
        run.thread("waits", [&world, &sum] {
            const int value = receive(world.enter(1));
            assertThat(value != 0, "it does not give up");
            sum += value;
        });
        run.thread("sends", [&world] {
            Q& queue = world.enter(2);
            (void)send(queue, 1);
            (void)send(queue, 2);
        });
        run.finally([&world, &sum] {
            std::optional<Value> left;
            (void)world.object.tryReceive(left);
            assertThat(sum + (left ? left->get() : 0) == 3, "each value once");
        });
    }
    // A close races with two sends, of which the second may wait, and a receiver of everything.
    static void closes(ModelRun& run) {
        auto& world = makeWorld<Q, 2>(run);
        auto& sum = run.make<int>(0);
        run.thread("sends", [&world, &sum] {
            Q& queue = world.enter(0);
            for (const int value : {1, 2}) {
                if (!send(queue, value)) sum += value;
            }
        });
        run.thread("receives", [&world, &sum] {
            Q& queue = world.enter(1);
            while (const int value = receive(queue)) sum -= value;
        });
        run.thread("closes", [&world] { assertThat(world.object.close(), "the first close"); });
        run.finally([&sum] { assertThat(sum == 0, "what was sent before the close was received"); });
    }
    // The receiver of the last value destroys the queue.
    static Scenario destroyed(bool givesUpFirst) {
        return [=](ModelRun& run) {
            struct State {
                Q queue;
                Plain<int> data{0};
            };
            auto& state = run.make<State>();
            auto& task = run.make<ThreadTask>();
            run.thread("sends", [&state] {
                state.data = 1;
                Value value(5);
                assertThat(state.queue.trySendLast(value) == QueueStatus::done, "the first value");
            });
            run.thread("receives", [&state, &task, givesUpFirst] {
                ThreadWait::use(task);
                int value = givesUpFirst ? receive(state.queue, Timeout::possible) : 0;
                if (value == 0) value = receive(state.queue);
                assertThat(value == 5 && state.data == 1, "the value, and what was written before");
                destroy(state);
            });
        };
    }
};

// The receiver of the last value destroys the queue of one place, in which its sender may have waited.
void destroyedAfterAWait(ModelRun& run) {
    using Scenarios = QueueScenarios<One>;
    struct State {
        One queue;
    };
    auto& state = run.make<State>();
    auto& tasks = run.make<std::array<ThreadTask, 2>>();
    run.thread("sends", [&state, &tasks] {
        ThreadWait::use(tasks[0]);
        for (const int value : {1, 2}) assertThat(!Scenarios::send(state.queue, value), "it is sent");
    });
    run.thread("receives", [&state, &tasks] {
        ThreadWait::use(tasks[1]);
        for (const int value : {1, 2}) assertThat(Scenarios::receive(state.queue) == value, "each value in turn");
        destroy(state);
    });
}
struct TwoPlaces : Two {
    TwoPlaces() : Two(std::size_t{2}) {}
};

TEST(QueueModel, TheReceiverOfTheLastValueMayDestroyTheQueue) {
    const std::vector<Case> all{makeCase("destroyed after a wait", destroyedAfterAWait)};
    exploreAll(protocol, all, {.preemptions = 3, .executions = 100'000});
    expectOrdersNeeded(protocol, all, {}, {.files = {"basic_queue"}});
}

template <class Q = One>
std::vector<Case> queueCases() {
    using Built = QueueScenarios<Q>;
    return {makeCase("passes", Built::passes),
            makeCase("closes", Built::closes),
            makeCase("destroyed", Built::destroyed(false)),
            makeCase("destroyed, gives up first", Built::destroyed(true)),
            makeCase("two send", Built::twoSend(false)),
            makeCase("two send, one gives up", Built::twoSend(true)),
            makeCase("one receiver gives up", Built::oneReceiverGivesUp)};
}

TEST(QueueModel, EachValueIsReceivedOnceOrStaysWithItsSender) {
    exploreAll(protocol, queueCases(), {.preemptions = 3, .executions = 100'000});
    exploreAll("queue of two", queueCases<TwoPlaces>(), {.preemptions = 2, .executions = 50'000});
}
TEST(QueueModel, EachValueIsReceivedOnceOrStaysWithItsSenderAtRandom) {
    exploreAll(protocol, queueCases(), {.search = Search::random, .executions = 10'000});
    exploreAll(protocol, queueCases(), {.search = Search::pct, .executions = 10'000});
}

// The last value and the close in two steps: the receiver may have destroyed the queue in between.
struct ClosesLate : One {
    QueueStatus trySendLast(Value& value) {
        const QueueStatus status = trySend(value);
        close();
        return status;
    }
};
TEST(QueueModel, AQueueIsNotClosedAfterItsLastValueHasBeenReceived) {
    expectKilled("closes late", only("destroyed", queueCases<ClosesLate>()));
}

// A wait for values of two queues (docs/explanation/protocol.md section 21).
template <class Q>
struct SelectScenarios {
    using Select = detail::BasicSelect<Sync>;
    struct Pair {
        Q left;
        Q right;
    };
    struct Receive final : Select::Branch {
        explicit Receive(Q& queue) : queue(queue) { receiver.out = &value; }
        bool tryNow() override { return queue.tryReceive(value) != QueueStatus::wouldWait; }
        bool enlist(const Select::Key& key) override {
            receiver.key = key;
            return queue.enlist(receiver);
        }
        void withdraw(bool ended) noexcept override { queue.withdraw(receiver, ended); }
        Q& queue;
        std::optional<Value> value;
        typename Q::Receiver receiver;
    };
    struct Send final : Select::Branch {
        Send(Q& queue, Value& value) : queue(queue) { sender.value = &value; }
        bool tryNow() override { return queue.trySend(*sender.value) != QueueStatus::wouldWait; }
        bool enlist(const Select::Key& key) override {
            sender.key = key;
            return queue.enlist(sender);
        }
        void withdraw(bool ended) noexcept override { queue.withdraw(sender, ended); }
        Q& queue;
        typename Q::Sender sender;
    };

    // The sum of what was received; 0 if the wait timed out.
    static int receive(Pair& pair, std::size_t start, Timeout until = Timeout::never) {
        Receive left(pair.left);
        Receive right(pair.right);
        std::array<typename Select::Branch*, 2> branches{&left, &right};
        std::size_t chosen = 0;
        const bool failed{Select::wait(branches, start, true, until, chosen, "select")};
        assertThat(left.value.has_value() == (!failed && chosen == 0), "one branch is complete, or none");
        assertThat(right.value.has_value() == (!failed && chosen == 1), "one branch is complete, or none");
        return (left.value ? left.value->get() : 0) + (right.value ? right.value->get() : 0);
    }
    static int left(Pair& pair) {
        std::optional<Value> value;
        int sum = 0;
        while (pair.left.tryReceive(value) == QueueStatus::done) sum += value->get();
        while (pair.right.tryReceive(value) == QueueStatus::done) sum += value->get();
        return sum;
    }
    static void sendPlainly(Q& queue, int what) {
        Value value(what);
        assertThat(queue.trySend(value) == QueueStatus::done, "there is a place");
    }

    // A value in each queue, and one that takes one of them, and may give up.
    static Scenario takesOne(bool mayGiveUp) {
        return [=](ModelRun& run) {
            auto& world = makeWorld<Pair, 1>(run);
            auto& got = run.make<int>(0);
            run.thread("selects", [&world, &got, mayGiveUp] {
                got = receive(world.enter(0), 0, mayGiveUp ? Timeout::possible : Timeout::never);
            });
            run.thread("sends left", [&world] { sendPlainly(world.object.left, 1); });
            run.thread("sends right", [&world] { sendPlainly(world.object.right, 2); });
            run.finally([&world, &got, mayGiveUp] {
                assertThat(got + left(world.object) == 3, "the other value is left");
                assertThat(mayGiveUp || got != 0, "one of them is taken");
            });
        };
    }
    // Two that take one each, in different orders.
    static void eachTakesOne(ModelRun& run) {
        auto& world = makeWorld<Pair, 2>(run);
        auto& sum = run.make<int>(0);
        for (const std::size_t i : {0u, 1u}) {
            run.thread(i == 0 ? "selects1" : "selects2", [&world, &sum, i] { sum += receive(world.enter(i), i); });
        }
        run.thread("sends", [&world] {
            sendPlainly(world.object.left, 1);
            sendPlainly(world.object.right, 2);
        });
        run.finally([&sum] { assertThat(sum == 3, "each value once"); });
    }
    // One sends to whichever full queue has a place first; both get one.
    static void sendsOnce(ModelRun& run) {
        auto& world = makeWorld<Pair, 1>(run);
        sendPlainly(world.object.left, 1);
        sendPlainly(world.object.right, 2);
        run.thread("selects", [&world] {
            Pair& pair = world.enter(0);
            Value value(4);
            Send toLeft(pair.left, value);
            Send toRight(pair.right, value);
            std::array<typename Select::Branch*, 2> branches{&toLeft, &toRight};
            std::size_t chosen = 0;
            assertThat(!Select::wait(branches, 0, true, Timeout::never, chosen, "select"), "it does not give up");
        });
        auto& taken = run.make<int>(0);
        for (const bool isLeft : {true, false}) {
            run.thread(isLeft ? "takes left" : "takes right", [&world, &taken, isLeft] {
                std::optional<Value> value;
                Q& queue = isLeft ? world.object.left : world.object.right;
                assertThat(queue.tryReceive(value) == QueueStatus::done, "a value is there");
                taken += value->get();
            });
        }
        run.finally([&world, &taken] { assertThat(taken + left(world.object) == 7, "the value is sent once"); });
    }
};

// A sender waits for a place in one queue or a value of another one; the receiver of its value destroys the queue.
template <class Q = One>
void destroyedAfterASelect(ModelRun& run) {
    using Scenarios = SelectScenarios<Q>;
    struct State {
        Q queue;
    };
    auto& state = run.make<State>();
    auto& world = makeWorld<Q, 2>(run);
    Scenarios::sendPlainly(state.queue, 1);
    run.thread("selects", [&state, &world] {
        Value value(2);
        typename Scenarios::Send send(state.queue, value);
        typename Scenarios::Receive receive(world.enter(0));
        std::array<typename Scenarios::Select::Branch*, 2> branches{&send, &receive};
        std::size_t chosen = 0;
        assertThat(!Scenarios::Select::wait(branches, 0, true, Timeout::never, chosen, "select"), "no timeout");
        assertThat(chosen == 0, "it has sent");
    });
    run.thread("receives", [&state, &world] {
        world.enter(1);
        for (const int value : {1, 2}) assertThat(QueueScenarios<Q>::receive(state.queue) == value, "in turn");
        destroy(state);
    });
}

TEST(SelectModel, TheReceiverOfASelectedSendMayDestroyTheQueue) {
    const std::vector<Case> all{makeCase("destroyed after a select", destroyedAfterASelect<>)};
    exploreAll("select", all, {.preemptions = 2, .executions = 100'000});
}

// A sender that takes the lock after its wait, whatever has ended it.
struct LocksAgain : One {
    using One::withdraw;
    void withdraw(Sender& sender, bool) noexcept { One::withdraw(sender, false); }
};
TEST(SelectModel, ASenderThatLocksAgainUsesADestroyedQueue) {
    expectKilled("locks again", {makeCase("destroyed after a select", destroyedAfterASelect<LocksAgain>)});
}

template <class Q = One>
std::vector<Case> selectCases() {
    using Built = SelectScenarios<Q>;
    return {makeCase("takes one", Built::takesOne(false)), makeCase("takes one or gives up", Built::takesOne(true)),
            makeCase("sends once", Built::sendsOnce), makeCase("each takes one", Built::eachTakesOne)};
}

TEST(SelectModel, ExactlyOneBranchIsCompleted) {
    exploreAll("select", selectCases(), {.preemptions = 2, .executions = 100'000});
    exploreAll("select", selectCases(), {.search = Search::random, .executions = 10'000});
    exploreAll("select", selectCases(), {.search = Search::pct, .executions = 10'000});
}

// A value taken by a branch during enlist(), although another branch may have been completed meanwhile.
struct TakesWhileItEnlists : One {
    bool enlist(Receiver& receiver) {
        if (One::enlist(receiver)) return true;
        (void)tryReceive(*receiver.out);
        return false;
    }
    using One::enlist;
};
TEST(SelectModel, ABranchThatTakesWhileItEnlistsCompletesTwo) {
    expectKilled("takes while it enlists", only("takes one", selectCases<TakesWhileItEnlists>()));
}

// Watch and Broadcast: each reader is woken by what it has not seen, and reads it itself.
using Watch = detail::BasicWatch<Sync, Value>;
using Broadcast = detail::BasicBroadcast<Sync, Value>;

Scenario watches(bool mayGiveUp) {
    return [=](ModelRun& run) {
        auto& world = makeWorld<Watch, 2>(run, Value(1));
        run.thread("sends", [&world] {
            world.data = 1;
            for (const int value : {2, 3}) {
                assertThat(world.object.changeIf([&](Value& current) { return current = value, true; }), "it is open");
            }
        });
        for (const std::size_t i : {0u, 1u}) {
            run.thread(i == 0 ? "reader1" : "reader2", [&world, i, mayGiveUp] {
                Watch& watch = world.enter(i);
                Watch::Version seen = 1;
                int last = 1;
                while (last < 3) {
                    std::optional<Value> value;
                    const Timeout until = i == 0 && mayGiveUp ? Timeout::possible : Timeout::never;
                    if (watch.next(seen, value, until, "next")) return;
                    assertThat(value->get() > last, "a newer value");
                    last = value->get();
                }
                assertThat(world.data == 1, "what the sender wrote before");
            });
        }
    };
}

// One place: a receiver gets the first value or misses it, and always the last; then the close.
void broadcasts(ModelRun& run) {
    auto& world = makeWorld<Broadcast, 2>(run, std::size_t{1});
    struct Numbers {
        std::array<Broadcast::Number, 2> next;
    };
    auto& numbers = run.make<Numbers>();
    for (auto& next : numbers.next) next = world.object.subscribe();
    run.thread("sends", [&world] {
        for (const int value : {1, 2}) assertThat(world.object.send(Value(value)) > 0, "there is a receiver");
        world.object.close();
    });
    run.thread("receives", [&world, &numbers] {
        Broadcast& broadcast = world.enter(0);
        int sum = 0;
        std::uint64_t lost = 0;
        for (;;) {
            std::optional<Value> value;
            std::uint64_t missed = 0;
            assertThat(!broadcast.receive(numbers.next[0], value, missed, Timeout::never, "receive"), "no timeout");
            lost += missed;
            if (!value) break;
            sum += value->get();
        }
        assertThat(lost == 0 ? sum == 3 : lost == 1 && sum == 2, "each value is received or counted as missed");
        broadcast.unsubscribe(numbers.next[0]);
    });
    run.thread("leaves", [&world, &numbers] {
        Broadcast& broadcast = world.enter(1);
        std::optional<Value> value;
        std::uint64_t missed = 0;
        (void)broadcast.receive(numbers.next[1], value, missed, Timeout::possible, "receive");
        broadcast.unsubscribe(numbers.next[1]);
    });
    run.finally([&world] { assertThat(world.object.receivers() == 0 && world.object.isClosed(), "all have left"); });
}

std::vector<Case> cellCases() {
    return {makeCase("watches", watches(false)), makeCase("watches, one gives up", watches(true)),
            makeCase("broadcasts", broadcasts)};
}

TEST(CellModel, EveryReaderIsWokenByWhatItHasNotSeen) {
    exploreAll("watch and broadcast", cellCases(), {.preemptions = 2, .executions = 100'000});
    exploreAll("watch and broadcast", cellCases(), {.search = Search::random, .executions = 10'000});
    exploreAll("watch and broadcast", cellCases(), {.search = Search::pct, .executions = 10'000});
}

// The lock inside. A thread that waits for it lets the owner take a step.
struct LetOthersStep {
    void operator()() const { yield(); }
};
using Lock = detail::BasicSpinLock<Atomics, LetOthersStep>;

void threadsExcludeEachOther(ModelRun& run) {
    struct State {
        Lock lock;
        Plain<int> owners{2};
    };
    auto& state = run.make<State>();
    run.name({"lock"});
    for (const char* name : {"thread1", "thread2"}) {
        run.thread(name, [&state] {
            state.lock.lock();
            state.owners = state.owners - 1;
            const bool last = state.owners == 0;
            state.lock.unlock();
            if (last) destroy(state);
        });
    }
}

TEST(QueueModel, ASpinLockExcludesAndMayBeDestroyedByItsLastOwner) {
    const std::vector<Case> all{makeCase("spin lock", threadsExcludeEachOther)};
    exploreAll("spin lock", all, {.preemptions = 3, .executions = 100'000});
    expectOrdersNeeded("spin lock", all, {}, {.files = {"spin_lock"}});
}

}  // namespace
}  // namespace weft::model
