#include <weft/scheduler/sync/broadcast.hpp>

#include <atomic>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include <weft/scheduler/non_suspending_scope.hpp>
#include <weft/scheduler/sync/select.hpp>

#include "scheduler/sync/fibers.hpp"

namespace weft::sync {
namespace {

TEST(Broadcast, EveryReceiverGetsEveryValueSentDuringItsLife) {
    Broadcast<int> broadcast(8);
    EXPECT_EQ(broadcast.send(0), 0u) << "there is no receiver";
    BroadcastReceiver first(broadcast);
    EXPECT_EQ(broadcast.send(1), 1u);
    BroadcastReceiver second(broadcast);
    EXPECT_EQ(broadcast.send(2), 2u);
    EXPECT_EQ(broadcast.receivers(), 2u);
    EXPECT_EQ(first.receive(), 1);
    EXPECT_EQ(first.receive(), 2);
    EXPECT_EQ(second.receive(), 2);
    EXPECT_EQ(first.tryReceive(), std::nullopt);
    EXPECT_EQ(first.missed() + second.missed(), 0u);
}

TEST(Broadcast, ASlowReceiverMissesTheOldestAndKnowsHowMany) {
    for (const int capacity : {1, 3, 4}) {
        Broadcast<int> broadcast(static_cast<std::size_t>(capacity));
        BroadcastReceiver slow(broadcast);
        BroadcastReceiver fast(broadcast);
        for (int i = 0; i < 10; ++i) {
            broadcast.send(i);
            EXPECT_EQ(fast.receive(), i);
        }
        for (int i = 10 - capacity; i < 10; ++i) EXPECT_EQ(slow.receive(), i);
        EXPECT_EQ(slow.missed(), static_cast<std::uint64_t>(10 - capacity));
        EXPECT_EQ(slow.tryReceive(), std::nullopt);
        EXPECT_EQ(fast.missed(), 0u);
    }
}

TEST(Broadcast, AValueIsDestroyedOnceAllHaveReadItOrItIsReplaced) {
    const auto counted = std::make_shared<int>(0);
    Broadcast<std::shared_ptr<int>> broadcast(2);
    BroadcastReceiver first(broadcast);
    {
        BroadcastReceiver second(broadcast);
        broadcast.send(counted);
        static_cast<void>(first.receive());
        EXPECT_EQ(counted.use_count(), 2);
    }
    EXPECT_EQ(counted.use_count(), 1) << "the other receiver has left";
    for (int i = 0; i < 5; ++i) broadcast.send(counted);
    EXPECT_EQ(counted.use_count(), 3);
    {
        Broadcast<std::shared_ptr<int>> other(4);
        BroadcastReceiver receiver(other);
        other.send(counted);
        EXPECT_EQ(counted.use_count(), 4);
    }
    EXPECT_EQ(counted.use_count(), 3);
}

TEST(Broadcast, WaitingReceiversAreWokenByAValueAndByTheClose) {
    CarrierGroup group(carriers(2));
    Broadcast<int> broadcast(4);
    std::vector<JoinHandle<int>> receivers;
    for (std::size_t i = 0; i < 3; ++i) {
        receivers.push_back(group.carrier(i % 2).spawn([&] {
            BroadcastReceiver receiver(broadcast);
            int sum = 0;
            while (const auto value = receiver.receive()) sum += *value;
            return sum;
        }));
    }
    awaitWaiters(broadcast, 3);
    EXPECT_EQ(broadcast.send(1), 3u);
    EXPECT_EQ(broadcast.send(2), 3u);
    EXPECT_TRUE(broadcast.close());
    EXPECT_FALSE(broadcast.close());
    EXPECT_EQ(broadcast.send(3), 0u);
    for (auto& receiver : receivers) EXPECT_EQ(receiver.join(), 3);
    EXPECT_EQ(broadcast.receivers(), 0u);
}

TEST(Broadcast, ADeadlineOrACancellationEndsTheWait) {
    CarrierGroup group(carriers(1));
    Broadcast<int> broadcast(1);
    std::atomic<bool> timedOutOnce{false};
    auto receiver = group.spawn([&] {
        BroadcastReceiver own(broadcast);
        ErrorCode error;
        EXPECT_EQ(own.receiveUntil(soon(), error), std::nullopt);
        EXPECT_EQ(error, timedOut());
        timedOutOnce = true;
        EXPECT_EQ(own.receive(error), std::nullopt);
        return error;
    });
    while (!timedOutOnce) thisFiber::yield();
    awaitWaiters(broadcast, 1);
    receiver.cancel();
    EXPECT_EQ(receiver.join(), operationAborted());
    EXPECT_EQ(broadcast.waiters() + broadcast.receivers(), 0u);
}

TEST(Broadcast, SelectReceives) {
    CarrierGroup group(carriers(1));
    Broadcast<int> broadcast(1);
    auto selecting = group.spawn([&] {
        BroadcastReceiver receiver(broadcast);
        int got = 0;
        const auto take = [&](std::optional<int> value) { got = value.value_or(-1); };
        EXPECT_EQ(select(onReceive(receiver, take), onDeadline(late(), [] {})), 0u);
        EXPECT_EQ(got, 1);
        broadcast.send(2);
        broadcast.send(3);
        EXPECT_EQ(select(onReceive(receiver, take)), 0u);
        EXPECT_EQ(got, 3);
        EXPECT_EQ(receiver.missed(), 1u);
        broadcast.close();
        EXPECT_EQ(select(onReceive(receiver, take)), 0u);
        EXPECT_EQ(got, -1);
    });
    awaitWaiters(broadcast, 1);
    broadcast.send(1);
    selecting.join();
}

TEST(Broadcast, WhereNothingMayBlockOnlyAValueThatIsThereIsReceived) {
    CarrierGroup group(carriers(1));
    group
        .spawn([&] {
            Broadcast<int> broadcast(1);
            BroadcastReceiver receiver(broadcast);
            const NonSuspendingScope scope;
            EXPECT_THROW(static_cast<void>(receiver.receive()), BlockingOperationException);
            broadcast.send(1);
            EXPECT_EQ(receiver.receive(), 1);
        })
        .join();
}

TEST(Broadcast, ACapacityOfZeroFailsAnAssertion) {
    EXPECT_DEATH(Broadcast<int>(0), "capacity");
}

TEST(Broadcast, AReceiverMovesWithWhatItHasNotRead) {
    CarrierGroup group(carriers(1));
    Broadcast<int> broadcast(2);
    BroadcastReceiver receiver(broadcast);
    for (int i = 0; i < 3; ++i) broadcast.send(i);
    auto receiving = group.spawn([receiver = std::move(receiver)]() mutable {
        EXPECT_EQ(receiver.receive(), 1);
        EXPECT_EQ(receiver.missed(), 1u);
        EXPECT_EQ(receiver.receive(), 2);
    });
    receiving.join();
    EXPECT_EQ(broadcast.receivers(), 0u);
}

// A value whose destructor uses the object in which it is.
struct UsesItsBroadcast {
    explicit UsesItsBroadcast(Broadcast<std::shared_ptr<UsesItsBroadcast>>& broadcast) : broadcast(broadcast) {}
    ~UsesItsBroadcast() { EXPECT_LE(broadcast.receivers(), 1u); }
    Broadcast<std::shared_ptr<UsesItsBroadcast>>& broadcast;
};
TEST(Broadcast, ValuesAreDestroyedWithoutTheLock) {
    Broadcast<std::shared_ptr<UsesItsBroadcast>> broadcast(1);
    {
        BroadcastReceiver receiver(broadcast);
        broadcast.send(std::make_shared<UsesItsBroadcast>(broadcast));
        broadcast.send(std::make_shared<UsesItsBroadcast>(broadcast));  // replaces it
        EXPECT_NE(receiver.receive(), std::nullopt);                    // the last reader
        broadcast.send(std::make_shared<UsesItsBroadcast>(broadcast));
    }  // leaves without having read it
    EXPECT_EQ(broadcast.receivers(), 0u);
}

}  // namespace
}  // namespace weft::sync
