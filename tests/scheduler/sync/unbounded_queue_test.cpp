#include <weft/scheduler/sync/unbounded_queue.hpp>

#include <cerrno>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "scheduler/sync/fibers.hpp"

namespace weft::sync {
namespace {

// Around the ends of the blocks of 32.
TEST(UnboundedQueue, ValuesComeOutInTheirOrderHoweverManyThereAre) {
    for (const int count : {1, 31, 32, 33, 64, 65, 1000}) {
        UnboundedQueue<int> queue;
        for (int round = 0; round < 3; ++round) {
            for (int i = 0; i < count; ++i) queue.send(i);
            EXPECT_EQ(queue.size(), static_cast<std::size_t>(count));
            for (int i = 0; i < count; ++i) EXPECT_EQ(queue.receive(), i);
            EXPECT_EQ(queue.tryReceive(), std::nullopt);
        }
        int sent = 0;
        int received = 0;
        for (int i = 0; i < 10 * count; ++i) {
            queue.send(sent++);
            queue.send(sent++);
            EXPECT_EQ(queue.receive(), received++);
        }
        while (received < sent) EXPECT_EQ(queue.receive(), received++);
    }
}

TEST(UnboundedQueue, AReceiverWaitsAndClosingEndsItsWait) {
    CarrierGroup group(carriers(1));
    UnboundedQueue<std::unique_ptr<int>> queue;
    auto receiver = group.spawn([&] { return **queue.receive(); });
    awaitWaiters(queue, 1);
    queue.send(std::make_unique<int>(5));
    EXPECT_EQ(receiver.join(), 5);
    auto last = group.spawn([&] { return queue.receive().has_value(); });
    awaitWaiters(queue, 1);
    queue.close();
    EXPECT_FALSE(last.join());
    auto value = std::make_unique<int>(6);
    EXPECT_EQ(outcome([&] { queue.send(std::move(value)); }), fromErrno(EPIPE));
    ErrorCode error;
    queue.send(std::move(value), error);
    EXPECT_EQ(error, fromErrno(EPIPE));
    EXPECT_NE(value, nullptr);
}

TEST(UnboundedQueue, DestroysTheValuesThatWereNotReceived) {
    const auto counted = std::make_shared<int>(0);
    {
        UnboundedQueue<std::shared_ptr<int>> queue;
        for (int i = 0; i < 100; ++i) queue.send(counted);
        for (int i = 0; i < 40; ++i) static_cast<void>(queue.receive());
        EXPECT_EQ(counted.use_count(), 61);
    }
    EXPECT_EQ(counted.use_count(), 1);
}

TEST(UnboundedQueue, ManySendersLoseNothing) {
    CarrierGroup group(carriers(2));
    UnboundedQueue<int> queue;
    std::vector<JoinHandle<void>> senders;
    for (std::size_t i = 0; i < 4; ++i) {
        senders.push_back(group.carrier(i % 2).spawn([&] {
            for (int value = 1; value <= 500; ++value) queue.send(value);
        }));
    }
    auto receiver = group.carrier(0).spawn([&] {
        long sum = 0;
        while (const auto value = queue.receive()) sum += *value;
        return sum;
    });
    for (auto& sender : senders) sender.join();
    queue.close();
    EXPECT_EQ(receiver.join(), 4L * 500 * 501 / 2);
}

}  // namespace
}  // namespace weft::sync
