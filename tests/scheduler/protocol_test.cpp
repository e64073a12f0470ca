// The protocol cores alone, step by step: ParkToken, TaskState, ParkState, InTray, RunQueue.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include <weft/scheduler/detail/in_tray.hpp>
#include <weft/scheduler/detail/park_state.hpp>
#include <weft/scheduler/detail/park_token.hpp>
#include <weft/scheduler/detail/run_queue.hpp>
#include <weft/scheduler/detail/task_state.hpp>

namespace weft::detail {
namespace {

TEST(ParkToken, TheFirstClaimWinsAndTheOthersLose) {
    ParkToken token;
    const auto epoch = token.prepare();
    EXPECT_TRUE(token.commit(epoch));
    EXPECT_EQ(token.parkedEpoch(), epoch);
    EXPECT_EQ(token.claim(epoch, 3), Claim::enqueue);
    EXPECT_EQ(token.claim(epoch, 4), Claim::lost);
    EXPECT_EQ(token.finish(), 3);
}

TEST(ParkToken, AnEarlyClaimMakesTheCommitFail) {
    ParkToken token;
    const auto epoch = token.prepare();
    EXPECT_EQ(token.claim(epoch, 7), Claim::early);
    EXPECT_TRUE(token.isClaimed());
    EXPECT_FALSE(token.commit(epoch));
    EXPECT_EQ(token.finish(), 7);
}

TEST(ParkToken, AClaimOfAnEarlierWaitIsLost) {
    ParkToken token;
    const auto first = token.prepare();
    EXPECT_TRUE(token.abort(first));
    EXPECT_EQ(token.claim(first, 1), Claim::lost);
    const auto second = token.prepare();
    EXPECT_NE(first, second);
    EXPECT_EQ(token.claim(first, 1), Claim::lost);
    EXPECT_EQ(token.claim(second, 1), Claim::early);
    EXPECT_FALSE(token.abort(second));
}

TEST(TaskState, TheCompleterWakesAWaiterThatWasThereFirst) {
    TaskState state;
    state.initialize(true);
    EXPECT_TRUE(state.setJoinWaiter());
    EXPECT_EQ(state.markComplete(), CompletionDuty::wakeJoiner);
    EXPECT_FALSE(state.unsetJoinWaiter());
    EXPECT_EQ(state.dropInterest(), HandleDuty::dropResult);
    EXPECT_FALSE(state.release());
    EXPECT_TRUE(state.release());
}

TEST(TaskState, ALateWaiterLearnsThatTheTaskHasCompleted) {
    TaskState state;
    state.initialize(true);
    EXPECT_EQ(state.markComplete(), CompletionDuty::none);
    EXPECT_FALSE(state.setJoinWaiter());
}

TEST(TaskState, WithoutInterestTheCompleterDropsTheResult) {
    TaskState state;
    state.initialize(true);
    EXPECT_EQ(state.dropInterest(), HandleDuty::none);
    EXPECT_FALSE(state.release());
    EXPECT_EQ(state.markComplete(), CompletionDuty::dropResult);
    EXPECT_TRUE(state.release());
}

TEST(ParkState, OneWakerIsResponsibleAndTheCarrierLearnsOfIt) {
    ParkState state;
    EXPECT_EQ(state.wake(), SleepKind::none);
    state.advertise(SleepKind::poller);
    EXPECT_EQ(state.wake(), SleepKind::poller);
    EXPECT_EQ(state.wake(), SleepKind::none);
    EXPECT_TRUE(state.leave().byWaker);
    state.advertise(SleepKind::futex);
    EXPECT_FALSE(state.leave().byWaker);
}

TEST(ParkState, ACalledCarrierLearnsItsVictimAndIsWokenOnce) {
    ParkState state;
    EXPECT_EQ(state.call(3), SleepKind::none);
    state.advertise(SleepKind::futex);
    EXPECT_EQ(state.call(1023), SleepKind::futex);
    EXPECT_EQ(state.current(), SleepKind::none);
    EXPECT_EQ(state.call(4), SleepKind::none);
    EXPECT_EQ(state.wake(), SleepKind::none);
    const ParkState::Ended ended = state.leave();
    EXPECT_TRUE(ended.byWaker);
    ASSERT_TRUE(ended.call);
    EXPECT_EQ(ended.call.victim(), 1023u);
    EXPECT_FALSE(state.leave().call);
}

struct Node {
    Node* next = nullptr;
    int value = 0;
};

TEST(InTray, GivesWhatWasPushedOldestFirstAndNothingAfterItsClose) {
    BasicInTray<NativeAtomics, Node> tray;
    Node nodes[3];
    for (int i = 0; i < 3; ++i) {
        nodes[i].value = i;
        EXPECT_TRUE(tray.push(nodes[i]));
    }
    EXPECT_FALSE(tray.closeIfEmpty());
    int expected = 0;
    for (Node* node = tray.takeAll(); node; node = node->next) EXPECT_EQ(node->value, expected++);
    EXPECT_EQ(expected, 3);
    EXPECT_TRUE(tray.closeIfEmpty());
    EXPECT_TRUE(tray.closeIfEmpty());
    EXPECT_TRUE(tray.empty());
    EXPECT_FALSE(tray.push(nodes[0]));
}

TEST(RunQueue, IsFifoOverRingBatchAndInTray) {
    BasicRunQueue<NativeAtomics, Node, 4> queue;
    std::vector<Node> nodes(20);
    for (int i = 0; i < 10; ++i) {
        nodes[static_cast<std::size_t>(i)].value = i;
        queue.push(nodes[static_cast<std::size_t>(i)]);
    }
    for (int i = 10; i < 20; ++i) {
        nodes[static_cast<std::size_t>(i)].value = i;
        EXPECT_TRUE(queue.submit(nodes[static_cast<std::size_t>(i)]));
    }
    queue.takeSubmitted();
    EXPECT_EQ(queue.depth(), 20u);
    for (int i = 0; i < 20; ++i) {
        Node* node = queue.pop();
        ASSERT_NE(node, nullptr);
        EXPECT_EQ(node->value, i);
    }
    EXPECT_EQ(queue.pop(), nullptr);
    EXPECT_TRUE(queue.empty());
    EXPECT_TRUE(queue.closeIfEmpty());
}

TEST(RunQueue, StaysFifoWhileTasksComeAndGoAndPeeksTheNextOnes) {
    BasicRunQueue<NativeAtomics, Node, 4> queue;
    std::vector<Node> nodes(200);
    int pushed = 0;
    int popped = 0;
    const auto push = [&] {
        auto& node = nodes[static_cast<std::size_t>(pushed)];
        node.value = pushed++;
        queue.push(node);
    };
    const auto pop = [&] {
        const Node* const first = queue.peek(0);
        const Node* const second = queue.peek(1);
        const Node* const node = queue.pop();
        EXPECT_EQ(node, first);
        EXPECT_EQ(queue.peek(0), second);
        EXPECT_EQ(node->value, popped++);
    };
    for (int burst : {1, 4, 5, 9, 30, 2, 1}) {  // within the ring, and past its end
        for (int i = 0; i < burst; ++i) push();
        for (int i = 0; i < burst / 2; ++i) pop();
        for (int i = 0; i < burst; ++i) push();
        EXPECT_EQ(queue.depth(), static_cast<std::size_t>(pushed - popped));
        while (queue.depth() > 1) pop();
    }
    pop();
    EXPECT_EQ(queue.peek(0), nullptr);
    EXPECT_EQ(queue.pop(), nullptr);
    EXPECT_EQ(popped, pushed);
}

TEST(RunQueue, ManyProducersLoseNothingAndKeepTheirOwnOrder) {
    constexpr int producers = 4;
    constexpr int each = 20'000;
    BasicRunQueue<NativeAtomics, Node, 16> queue;
    std::vector<std::vector<Node>> nodes(producers, std::vector<Node>(each));
    std::vector<std::thread> threads;
    for (int p = 0; p < producers; ++p) {
        threads.emplace_back([&, p] {
            for (int i = 0; i < each; ++i) {
                Node& node = nodes[static_cast<std::size_t>(p)][static_cast<std::size_t>(i)];
                node.value = p * each + i;
                ASSERT_TRUE(queue.submit(node));
            }
        });
    }
    std::vector<int> last(producers, -1);
    for (int taken = 0; taken < producers * each;) {
        queue.takeSubmitted();
        while (Node* node = queue.pop()) {
            const auto producer = static_cast<std::size_t>(node->value / each);
            ASSERT_LT(last[producer], node->value);
            last[producer] = node->value;
            ++taken;
        }
    }
    for (auto& thread : threads) thread.join();
    EXPECT_TRUE(queue.empty());
}

}  // namespace
}  // namespace weft::detail
