// A wait for values or places of several queues (docs/explanation/protocol.md section 21): exactly one branch is
// completed, the others leave no trace, and nothing touches a queue that its contract allows to be destroyed.
#include <weft/scheduler/detail/basic_select.hpp>

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "queue_scenarios.hpp"

namespace weft::model {
namespace {

using namespace sync;
using sync::Value;  // not that of the memory

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

}  // namespace
}  // namespace weft::model
