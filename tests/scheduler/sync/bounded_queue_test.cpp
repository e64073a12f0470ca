#include <weft/scheduler/sync/bounded_queue.hpp>

#include <cerrno>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <weft/scheduler/non_suspending_scope.hpp>

#include "scheduler/sync/fibers.hpp"

namespace weft::sync {
namespace {

TEST(BoundedQueue, ValuesComeOutInTheirOrder) {
    BoundedQueue<std::string> queue(3);
    EXPECT_EQ(queue.capacity(), 3u);
    for (int round = 0; round < 5; ++round) {
        queue.send("a");
        queue.send("b");
        EXPECT_EQ(queue.size(), 2u);
        EXPECT_EQ(queue.receive(), "a");
        EXPECT_EQ(queue.tryReceive(), "b");
        EXPECT_TRUE(queue.isEmpty());
        EXPECT_EQ(queue.tryReceive(), std::nullopt);
    }
}

TEST(BoundedQueue, AFullQueueKeepsTheValueWithTheSender) {
    BoundedQueue<std::unique_ptr<int>> queue(1);
    queue.send(std::make_unique<int>(1));
    auto value = std::make_unique<int>(2);
    EXPECT_EQ(queue.trySend(std::move(value)), QueueStatus::wouldWait);
    EXPECT_FALSE(queue.sendUntil(soon(), std::move(value)));
    ErrorCode error;
    EXPECT_FALSE(queue.sendUntil(soon(), std::move(value), error));
    EXPECT_EQ(error, timedOut());
    ASSERT_NE(value, nullptr);
    EXPECT_EQ(**queue.receive(), 1);
    EXPECT_EQ(queue.trySend(std::move(value)), QueueStatus::done);
    EXPECT_EQ(value, nullptr);
    EXPECT_EQ(queue.waiters(), 0u);
}

TEST(BoundedQueue, ASenderWaitsForAPlaceAndAReceiverForAValue) {
    CarrierGroup group(carriers(1));
    BoundedQueue<int> queue(1);
    queue.send(1);
    auto sender = group.spawn([&] {
        queue.send(2);
        queue.send(3);
    });
    awaitWaiters(queue, 1);
    EXPECT_EQ(queue.receive(), 1);
    EXPECT_EQ(queue.receive(), 2);
    EXPECT_EQ(queue.receive(), 3);
    sender.join();
    auto receiver = group.spawn([&] { return queue.receive(); });
    awaitWaiters(queue, 1);
    queue.send(4);
    EXPECT_EQ(receiver.join(), 4);
    EXPECT_TRUE(queue.isEmpty());
}

TEST(BoundedQueue, WaitingReceiversAndSendersAreServedInTheirOrder) {
    CarrierGroup group(carriers(1));
    BoundedQueue<int> queue(1);
    std::vector<JoinHandle<std::optional<int>>> receivers;
    for (std::size_t i = 0; i < 3; ++i) {
        receivers.push_back(group.spawn([&] { return queue.receive(); }));
        awaitWaiters(queue, i + 1);
    }
    for (int i = 0; i < 3; ++i) queue.send(i);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(receivers[static_cast<std::size_t>(i)].join(), i);
    queue.send(0);
    std::vector<JoinHandle<void>> senders;
    for (int i = 1; i < 4; ++i) {
        senders.push_back(group.spawn([&queue, i] { queue.send(i); }));
        awaitWaiters(queue, senders.size());
    }
    for (int i = 0; i < 4; ++i) EXPECT_EQ(queue.receive(), i);
    for (auto& sender : senders) sender.join();
}

TEST(BoundedQueue, BetweenManyFibersNothingIsLostOrDoubled) {
    CarrierGroup group(carriers(2));
    for (const std::size_t capacity : {1u, 2u, 7u}) {
        BoundedQueue<int> queue(capacity);
        constexpr int each = 300;
        std::vector<JoinHandle<void>> senders;
        std::vector<JoinHandle<long>> receivers;
        for (std::size_t i = 0; i < 4; ++i) {
            senders.push_back(group.carrier(i % 2).spawn([&] {
                for (int value = 1; value <= each; ++value) queue.send(value);
            }));
            receivers.push_back(group.carrier(i % 2).spawn([&] {
                long sum = 0;
                while (const auto value = queue.receive()) sum += *value;
                return sum;
            }));
        }
        for (auto& sender : senders) sender.join();
        queue.close();
        long sum = 0;
        for (auto& receiver : receivers) sum += receiver.join();
        EXPECT_EQ(sum, 4L * each * (each + 1) / 2);
    }
}

TEST(BoundedQueue, AfterCloseTheValuesInItAreReceivedAndSendsFail) {
    BoundedQueue<int> queue(3);
    queue.send(1);
    queue.send(2);
    EXPECT_TRUE(queue.close());
    EXPECT_FALSE(queue.close());
    EXPECT_TRUE(queue.isClosed());
    EXPECT_EQ(queue.trySend(3), QueueStatus::closed);
    ErrorCode error;
    queue.send(3, error);
    EXPECT_EQ(error, fromErrno(EPIPE));
    EXPECT_EQ(outcome([&] { queue.send(3); }), fromErrno(EPIPE));
    EXPECT_EQ(queue.receive(), 1);
    EXPECT_EQ(queue.receiveUntil(late(), error), 2);
    EXPECT_EQ(queue.receive(error), std::nullopt);
    EXPECT_FALSE(error);
    EXPECT_EQ(queue.receive(), std::nullopt);
}

TEST(BoundedQueue, CloseEndsEveryWaitAndSendersKeepTheirValues) {
    CarrierGroup group(carriers(1));
    BoundedQueue<std::unique_ptr<int>> queue(1);
    auto receiver = group.spawn([&] { return queue.receive().has_value(); });
    awaitWaiters(queue, 1);
    queue.close();
    EXPECT_FALSE(receiver.join());

    BoundedQueue<std::unique_ptr<int>> full(1);
    full.send(std::make_unique<int>(1));
    auto sender = group.spawn([&] {
        auto value = std::make_unique<int>(2);
        EXPECT_EQ(outcome([&] { full.send(std::move(value)); }), fromErrno(EPIPE));
        return *value;
    });
    awaitWaiters(full, 1);
    full.close();
    EXPECT_EQ(sender.join(), 2);
    EXPECT_EQ(full.size(), 1u);
}

TEST(BoundedQueue, ACancelledWaitLeavesTheQueueAsItWas) {
    CarrierGroup group(carriers(1));
    BoundedQueue<std::unique_ptr<int>> queue(1);
    auto receiver = group.spawn([&] { static_cast<void>(queue.receive()); });
    awaitWaiters(queue, 1);
    group
        .spawn([&] {
            receiver.cancel();
            queue.send(std::make_unique<int>(1));  // before the receiver has run: the value stays in the queue
        })
        .join();
    EXPECT_EQ(outcome([&] { receiver.join(); }), operationAborted());
    EXPECT_EQ(queue.size(), 1u);
    auto sender = group.spawn([&] {
        auto value = std::make_unique<int>(2);
        ErrorCode error;
        queue.send(std::move(value), error);
        EXPECT_EQ(error, operationAborted());
        return *value;
    });
    awaitWaiters(queue, 1);
    group
        .spawn([&] {
            sender.cancel();
            EXPECT_EQ(**queue.receive(), 1);
        })
        .join();
    EXPECT_EQ(sender.join(), 2);
    EXPECT_TRUE(queue.isEmpty());
    EXPECT_EQ(queue.waiters(), 0u);
}

TEST(BoundedQueue, AWaitEndsAtItsDeadline) {
    BoundedQueue<int> queue(1);
    ErrorCode error;
    EXPECT_EQ(queue.receiveUntil(soon(), error), std::nullopt);
    EXPECT_EQ(error, timedOut());
    EXPECT_EQ(queue.waiters(), 0u);
    EXPECT_TRUE(queue.sendUntil(soon(), 1));
}

TEST(BoundedQueue, WhereNothingMayBlockACallThatHasToWaitIsAnError) {
    CarrierGroup group(carriers(1));
    BoundedQueue<int> queue(1);
    group
        .spawn([&] {
            const NonSuspendingScope scope;
            EXPECT_THROW(static_cast<void>(queue.receive()), BlockingOperationException);
            queue.send(1);
            EXPECT_THROW(queue.send(2), BlockingOperationException);
            EXPECT_EQ(queue.receive(), 1);
        })
        .join();
    EXPECT_EQ(queue.waiters(), 0u);
}

TEST(BoundedQueue, DestroysTheValuesThatWereNotReceived) {
    const auto counted = std::make_shared<int>(0);
    {
        BoundedQueue<std::shared_ptr<int>> queue(3);
        queue.send(counted);
        static_cast<void>(queue.receive());
        for (int i = 0; i < 3; ++i) queue.send(counted);
        EXPECT_EQ(counted.use_count(), 4);
    }
    EXPECT_EQ(counted.use_count(), 1);
}

TEST(BoundedQueue, ACapacityOfZeroFailsAnAssertion) {
    EXPECT_DEATH(BoundedQueue<int>(0), "capacity");
}

TEST(BoundedQueue, PlainThreadsMaySendAndReceive) {
    BoundedQueue<int> queue(2);
    std::thread sender([&] {
        for (int i = 0; i < 100; ++i) queue.send(i);
        queue.close();
    });
    int next = 0;
    while (const auto value = queue.receive()) EXPECT_EQ(*value, next++);
    EXPECT_EQ(next, 100);
    sender.join();
}

TEST(BoundedQueue, TheReceiverOfAValueWhoseSenderWaitedMayDestroyTheQueue) {
    for (int round = 0; round < 1'000; ++round) {
        auto queue = std::make_unique<BoundedQueue<int>>(1);
        std::thread sender([&inside = *queue] {
            for (int i = 0; i < 4; ++i) inside.send(i);
        });
        for (int i = 0; i < 4; ++i) EXPECT_EQ(queue->receive(), i);
        queue.reset();
        sender.join();
    }
}

TEST(BoundedQueue, ErrorsNameTheCallAndTheQueue) {
    CarrierGroup group(carriers(1));
    BoundedQueue<int> queue(1);
    auto receiving = group.spawn([&] { static_cast<void>(queue.receive()); });
    awaitWaiters(queue, 1);
    receiving.cancel();
    try {
        receiving.join();
        ADD_FAILURE() << "it was not cancelled";
    } catch (const SystemError& error) {
        EXPECT_THAT(error.what(), testing::HasSubstr("sync::BoundedQueue::receive"));
    }
}

}  // namespace
}  // namespace weft::sync
