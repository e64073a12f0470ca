// HandshakeTurns: one step in a turn of the carrier, first come, first served, and a limit on handshakes.
#include "handshake_turns.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

#include <weft/scheduler/manual_clock.hpp>

namespace weft::test {
namespace {

struct Turns : ::testing::Test {
    struct Place final : detail::HandshakePlace {
        explicit Place(Turns& turns) : turns(turns) {}
        bool take(unsigned most = 0) { return takeTurn(turns.loop, most); }
        void onTurn() noexcept override {
            turns.order.push_back(this);
            turns.when.push_back(turns.loop.flushPoints());
        }
        Turns& turns;
    };

    ManualClock clock;
    EventLoop loop{clock};
    std::vector<Place*> order;
    std::vector<std::uint64_t> when;
};

TEST_F(Turns, OneStepIsMadeInATurn) {
    Place first(*this), second(*this), third(*this);
    EXPECT_TRUE(first.take());
    EXPECT_FALSE(second.take());
    EXPECT_FALSE(third.take());
    EXPECT_TRUE(order.empty());
    loop.runTasks();
    EXPECT_EQ(order, (std::vector<Place*>{&second, &third}));
    EXPECT_LT(when[0], when[1]) << "both in one turn";
}

TEST_F(Turns, ANewTurnIsFree) {
    Place first(*this), second(*this);
    EXPECT_TRUE(first.take());
    loop.runTasks();
    EXPECT_TRUE(second.take());
}

TEST_F(Turns, ALaterStepWaitsBehindThoseThatWait) {
    Place first(*this), second(*this), third(*this);
    EXPECT_TRUE(first.take());
    EXPECT_FALSE(second.take());
    EXPECT_FALSE(first.take());
    EXPECT_FALSE(first.take());  // waits already
    EXPECT_FALSE(third.take());
    loop.runTasks();
    EXPECT_EQ(order, (std::vector<Place*>{&second, &first, &third}));
}

// Or a stream of newcomers would keep those that wait from their turns.
TEST_F(Turns, ANewcomerWaitsBehindThoseThatWaitInAFreeTurn) {
    Place first(*this), second(*this), third(*this);
    EXPECT_TRUE(first.take());
    EXPECT_FALSE(second.take());
    loop.runFlushPoint();
    EXPECT_FALSE(third.take());
    loop.runTasks();
    EXPECT_EQ(order, (std::vector<Place*>{&second, &third}));
}

TEST_F(Turns, AnEndWhileWaitingGivesTheTurnToTheNext) {
    Place first(*this), third(*this), fourth(*this);
    auto second = std::make_unique<Place>(*this);
    EXPECT_TRUE(first.take());
    EXPECT_FALSE(second->take());
    EXPECT_FALSE(third.take());
    EXPECT_FALSE(fourth.take());
    second.reset();
    third.endHandshake();
    EXPECT_FALSE(third.waitsForTurn());
    loop.runTasks();
    EXPECT_EQ(order, (std::vector<Place*>{&fourth}));
    EXPECT_TRUE(third.take()) << "after the last one has left";
}

TEST_F(Turns, ALimitHoldsBackFurtherHandshakes) {
    Place first(*this), second(*this), third(*this), fourth(*this);
    EXPECT_TRUE(first.take(2));
    EXPECT_FALSE(second.take(2));
    EXPECT_FALSE(third.take(2));
    EXPECT_FALSE(fourth.take(2));
    loop.runTasks();
    EXPECT_EQ(order, (std::vector<Place*>{&second}));
    EXPECT_TRUE(first.take(2)) << "one that has begun goes on";
    second.endHandshake();
    second.endHandshake();
    loop.runTasks();
    EXPECT_EQ(order, (std::vector<Place*>{&second, &third}));
    first.endHandshake();
    loop.runTasks();
    EXPECT_EQ(order, (std::vector<Place*>{&second, &third, &fourth}));
}

TEST_F(Turns, WhoLeavesBeforeItBeginsFreesNothing) {
    Place first(*this), second(*this), third(*this);
    EXPECT_TRUE(first.take(1));
    EXPECT_FALSE(second.take(1));
    EXPECT_FALSE(third.take(1));
    second.endHandshake();
    loop.runTasks();
    EXPECT_TRUE(order.empty());
    first.endHandshake();
    loop.runTasks();
    EXPECT_EQ(order, (std::vector<Place*>{&third}));
}

TEST_F(Turns, AClientsHandshakeIsNotCounted) {
    Place server(*this), client(*this);
    EXPECT_TRUE(server.take(1));
    loop.runTasks();
    EXPECT_TRUE(client.take(0));
}

// A place keeps its own limit, although another context allows more.
TEST_F(Turns, ALowerLimitIsKeptWhileManyRun) {
    std::vector<std::unique_ptr<Place>> many;
    for (int i = 0; i < 4; ++i) {
        many.push_back(std::make_unique<Place>(*this));
        many.back()->take(8);
        loop.runTasks();
    }
    order.clear();
    Place small(*this);
    EXPECT_FALSE(small.take(2));
    many[0].reset();
    many[1].reset();
    loop.runTasks();
    EXPECT_TRUE(order.empty());
    many[2].reset();
    loop.runTasks();
    EXPECT_EQ(order, (std::vector<Place*>{&small}));
}

// A lower limit at the head does not hold back those behind it.
TEST_F(Turns, APlaceWhoseLimitAllowsItBeginsBeforeOneWhoseDoesNot) {
    std::vector<std::unique_ptr<Place>> many;
    for (int i = 0; i < 3; ++i) {
        many.push_back(std::make_unique<Place>(*this));
        many.back()->take(3);
        loop.runTasks();
    }
    order.clear();
    Place small(*this), large(*this);
    EXPECT_FALSE(small.take(2));
    EXPECT_FALSE(large.take(3));
    many[0].reset();
    loop.runTasks();
    EXPECT_EQ(order, (std::vector<Place*>{&large}));
}

TEST_F(Turns, APlaceMayOutliveTheLoop) {
    EventLoop* const other = new EventLoop(clock);
    struct Outside final : detail::HandshakePlace {
        void onTurn() noexcept override {}
    };
    Outside active, waiting, atLimit;
    EXPECT_TRUE(active.takeTurn(*other, 1));
    EXPECT_FALSE(waiting.takeTurn(*other, 0));
    EXPECT_FALSE(atLimit.takeTurn(*other, 1));
    delete other;
    active.endHandshake();
    waiting.endHandshake();
}

}  // namespace
}  // namespace weft::test
