#include <weft/scheduler/sync/oneshot.hpp>

#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "scheduler/sync/fibers.hpp"

namespace weft::sync {
namespace {

TEST(Oneshot, TheFirstValueIsReceivedOnce) {
    Oneshot<std::unique_ptr<int>> cell;
    EXPECT_EQ(cell.tryReceive(), std::nullopt);
    EXPECT_TRUE(cell.send(std::make_unique<int>(1)));
    auto second = std::make_unique<int>(2);
    EXPECT_FALSE(cell.send(std::move(second)));
    EXPECT_NE(second, nullptr) << "a value that is not sent stays with the caller";
    EXPECT_TRUE(cell.isClosed());
    EXPECT_EQ(**cell.receive(), 1);
    EXPECT_EQ(cell.receive(), std::nullopt);
}

TEST(Oneshot, AReceiverWaitsForTheValueOrTheClose) {
    CarrierGroup group(carriers(1));
    for (const bool sends : {true, false}) {
        Oneshot<int> cell;
        auto receiver = group.spawn([&] { return cell.receive(); });
        awaitWaiters(cell, 1);
        EXPECT_TRUE(sends ? cell.send(3) : cell.close());
        EXPECT_EQ(receiver.join(), sends ? std::optional(3) : std::nullopt);
        EXPECT_FALSE(cell.send(4));
    }
}

TEST(Oneshot, OfTwoReceiversOneGetsTheValue) {
    CarrierGroup group(carriers(1));
    Oneshot<int> cell;
    auto first = group.spawn([&] { return cell.receive(); });
    awaitWaiters(cell, 1);
    auto second = group.spawn([&] { return cell.receive(); });
    awaitWaiters(cell, 2);
    cell.send(3);
    EXPECT_EQ(first.join(), 3);
    EXPECT_EQ(second.join(), std::nullopt);
}

TEST(Oneshot, AValueThatWasNotReceivedIsDestroyed) {
    const auto counted = std::make_shared<int>(0);
    {
        Oneshot<std::shared_ptr<int>> cell;
        cell.send(counted);
        EXPECT_EQ(counted.use_count(), 2);
    }
    EXPECT_EQ(counted.use_count(), 1);
}

// The cell is on the receiver's stack; send() may still be inside it when the wait ends.
TEST(Oneshot, TheReceiverMayDestroyIt) {
    CarrierGroup group(carriers(2));
    for (int round = 0; round < 500; ++round) {
        auto receiver = group.carrier(0).spawn([&group] {
            Oneshot<int> cell;
            group.carrier(1).spawn([&cell] { cell.send(1); }).detach();
            return cell.receive();
        });
        EXPECT_EQ(receiver.join(), 1);
    }
}

}  // namespace
}  // namespace weft::sync
