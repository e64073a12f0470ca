// The stealable queue alone, step by step. tests/model explores its interleavings; tests/stress runs it on threads.
#include <weft/scheduler/detail/stealable_queue.hpp>

#include <vector>

#include <gtest/gtest.h>

namespace weft::detail {
namespace {

struct Job {
    Job* next = nullptr;
    int number = 0;
};
using Queue = BasicStealableQueue<NativeAtomics, Job, 4>;

struct Jobs {
    explicit Jobs(int count) : all(static_cast<std::size_t>(count)) {
        for (int i = 0; i < count; ++i) all[static_cast<std::size_t>(i)].number = i;
    }
    Job& operator[](int i) { return all[static_cast<std::size_t>(i)]; }
    std::vector<Job> all;
};

std::vector<int> drained(Queue& queue) {
    std::vector<int> order;
    while (!queue.empty()) {
        queue.takeSubmitted();
        while (Job* job = queue.pop()) order.push_back(job->number);
    }
    return order;
}

std::vector<int> from(int first, int end) {
    std::vector<int> numbers;
    for (int i = first; i < end; ++i) numbers.push_back(i);
    return numbers;
}

TEST(StealableQueue, KeepsTheOrderHoweverMuchIsPushed) {
    Queue queue;
    Jobs jobs(100);
    for (int i = 0; i < 100; ++i) queue.push(jobs[i]);
    EXPECT_EQ(queue.depth(), 4u);
    EXPECT_EQ(drained(queue), from(0, 100));
    EXPECT_TRUE(queue.empty());
    EXPECT_EQ(queue.depth(), 0u);
}

TEST(StealableQueue, SubmittedTasksComeAfterQueuedOnes) {
    Queue queue;
    Jobs jobs(20);
    for (int i = 0; i < 3; ++i) queue.push(jobs[i]);
    for (int i = 3; i < 10; ++i) ASSERT_TRUE(queue.submit(jobs[i]));
    queue.takeSubmitted();
    for (int i = 10; i < 20; ++i) queue.push(jobs[i]);  // after the backlog
    EXPECT_EQ(drained(queue), from(0, 20));
}

TEST(StealableQueue, ATaskThatIsPushedAgainGoesToTheEnd) {
    Queue queue;
    Jobs jobs(10);
    for (int i = 0; i < 10; ++i) queue.push(jobs[i]);
    std::vector<int> order;
    for (int turn = 0; turn < 30; ++turn) {
        Job* job = queue.pop();
        if (job == nullptr) {
            queue.takeSubmitted();
            job = queue.pop();
        }
        ASSERT_NE(job, nullptr);
        order.push_back(job->number);
        queue.push(*job);
    }
    for (int i = 0; i < 30; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i % 10) << i;
}

TEST(StealableQueue, AThiefTakesTheOlderHalfOfARing) {
    Queue victim;
    Queue thief;
    Jobs jobs(3);
    for (int i = 0; i < 3; ++i) victim.push(jobs[i]);
    EXPECT_TRUE(victim.hasStealable());
    EXPECT_EQ(thief.stealFrom(victim), StealResult::taken);
    EXPECT_EQ(drained(thief), from(0, 2));
    EXPECT_EQ(drained(victim), from(2, 3));
    EXPECT_FALSE(victim.hasStealable());
    EXPECT_EQ(thief.stealFrom(victim), StealResult::nothing);
}

TEST(StealableQueue, AThiefTakesHalfOfAnInTrayAndHandsTheRestBackAheadOfLaterOnes) {
    Queue victim;
    Queue thief;
    Jobs jobs(12);
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(victim.submit(jobs[i]));
    EXPECT_EQ(thief.stealFrom(victim), StealResult::handedBack);
    for (int i = 5; i < 12; ++i) ASSERT_TRUE(victim.submit(jobs[i]));
    EXPECT_EQ(drained(thief), from(0, 3));
    EXPECT_EQ(drained(victim), from(3, 12));
}

TEST(StealableQueue, AThiefTakesNoMoreThanItsRingHolds) {
    Queue victim;
    Queue thief;
    Jobs jobs(100);
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(victim.submit(jobs[i]));
    EXPECT_EQ(thief.stealFrom(victim), StealResult::handedBack);
    EXPECT_EQ(thief.stealFrom(victim), StealResult::handedBack) << "a full ring takes nothing, and loses nothing";
    EXPECT_EQ(drained(thief), from(0, 4));
    EXPECT_EQ(drained(victim), from(4, 100));
}

TEST(StealableQueue, AThiefCanTakeTheBacklog) {
    Queue victim;
    Queue thief;
    Jobs jobs(9);
    for (int i = 0; i < 9; ++i) ASSERT_TRUE(victim.submit(jobs[i]));
    victim.takeSubmitted();  // four go into the ring, the rest are the backlog
    EXPECT_EQ(thief.stealFrom(victim), StealResult::taken);
    EXPECT_EQ(drained(thief), from(0, 2));
    EXPECT_EQ(thief.stealFrom(victim), StealResult::taken);
    EXPECT_EQ(thief.stealFrom(victim), StealResult::taken);
    EXPECT_EQ(drained(thief), from(2, 4));
    EXPECT_EQ(thief.stealFrom(victim), StealResult::handedBack);
    EXPECT_EQ(drained(thief), from(4, 7));
    EXPECT_EQ(drained(victim), from(7, 9));
}

TEST(StealableQueue, AnEmptyQueueClosesForGood) {
    Queue queue;
    Queue thief;
    Jobs jobs(2);
    ASSERT_TRUE(queue.submit(jobs[0]));
    EXPECT_FALSE(queue.closeIfEmpty());
    EXPECT_EQ(drained(queue), from(0, 1));
    EXPECT_TRUE(queue.closeIfEmpty());
    EXPECT_TRUE(queue.closeIfEmpty());
    EXPECT_FALSE(queue.submit(jobs[1]));
    EXPECT_TRUE(queue.empty());
    EXPECT_FALSE(queue.hasStealable());
    EXPECT_EQ(thief.stealFrom(queue), StealResult::nothing);
}

}  // namespace
}  // namespace weft::detail
