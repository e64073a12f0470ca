// The flush point of an event loop: which listeners it calls, in which order, and which requests and withdrawals it
// allows meanwhile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <utility>
#include <vector>

#include <weft/scheduler/event_loop.hpp>
#include <weft/scheduler/manual_clock.hpp>

namespace weft {
namespace {

using testing::ElementsAre;

struct FlushPoint : testing::Test {
    struct Listener final : FlushPointListener {
        Listener(FlushPoint& test, int name) : owner(test), name(name) {}
        ~Listener() override { owner.loop.withdrawFlushPoint(*this); }
        void onFlushPoint() noexcept override {
            owner.called.push_back(name);
            if (auto then = std::exchange(next, nullptr)) then();
        }
        void ask() { owner.loop.requestFlushPoint(*this); }

        FlushPoint& owner;
        const int name;
        std::function<void()> next;  // runs when the listener is called; once
    };

    ManualClock clock;
    EventLoop loop{clock};
    std::vector<int> called;
    Listener one{*this, 1};
    Listener two{*this, 2};
    Listener three{*this, 3};
};

TEST_F(FlushPoint, CallsEachListenerOnceInTheOrderOfTheRequests) {
    two.ask();
    one.ask();
    two.ask();
    loop.runFlushPoint();
    EXPECT_THAT(called, ElementsAre(2, 1));
    loop.runFlushPoint();
    EXPECT_THAT(called, ElementsAre(2, 1)) << "asked for nothing more";
}

// The count grows after the listeners, because the loop may sleep between a flush point and the work after it.
TEST_F(FlushPoint, IsCountedAfterItsListenersHaveRun) {
    std::uint64_t inside = 0;
    one.next = [&] { inside = loop.flushPoints(); };
    one.ask();
    const std::uint64_t before = loop.flushPoints();
    loop.runFlushPoint();
    EXPECT_EQ(inside, before);
    EXPECT_EQ(loop.flushPoints(), before + 1);
}

TEST_F(FlushPoint, ARequestInsideOneWaitsForTheNext) {
    one.ask();
    one.next = [&] {
        EXPECT_TRUE(loop.inFlushPoint());
        two.ask();
        one.ask();
    };
    loop.runFlushPoint();
    EXPECT_THAT(called, ElementsAre(1));
    EXPECT_FALSE(loop.inFlushPoint());
    loop.runFlushPoint();
    EXPECT_THAT(called, ElementsAre(1, 2, 1));
}

TEST_F(FlushPoint, AWithdrawnListenerIsNotCalledWhereverItStands) {
    for (Listener* withdrawn : {&one, &two, &three}) {
        for (Listener* listener : {&one, &two, &three}) listener->ask();
        loop.withdrawFlushPoint(*withdrawn);
        loop.withdrawFlushPoint(*withdrawn);  // has no effect
    }
    loop.withdrawFlushPoint(one);
    loop.withdrawFlushPoint(two);
    three.ask();
    two.ask();
    loop.runFlushPoint();
    EXPECT_THAT(called, ElementsAre(3, 2));
}

TEST_F(FlushPoint, AListenerMayWithdrawOneOfThisFlushPointAndOneOfTheNext) {
    for (Listener* listener : {&one, &two, &three}) listener->ask();
    one.next = [&] {
        one.ask();
        loop.withdrawFlushPoint(three);
        loop.withdrawFlushPoint(one);
        three.ask();
    };
    loop.runFlushPoint();
    EXPECT_THAT(called, ElementsAre(1, 2));
    one.ask();
    loop.runFlushPoint();
    EXPECT_THAT(called, ElementsAre(1, 2, 3, 1));
}

TEST_F(FlushPoint, AFlushPointFromInsideOneCallsTheRestFirst) {
    one.ask();
    two.ask();
    one.next = [&] {
        three.ask();
        loop.runFlushPoint();
        EXPECT_THAT(called, ElementsAre(1, 2, 3));
        EXPECT_TRUE(loop.inFlushPoint());
    };
    loop.runFlushPoint();
    EXPECT_THAT(called, ElementsAre(1, 2, 3));
    EXPECT_FALSE(loop.inFlushPoint());
}

}  // namespace
}  // namespace weft
