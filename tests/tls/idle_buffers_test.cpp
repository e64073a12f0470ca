// IdleBuffers: the buffers of an idle connection go after one to two seconds.
#include "idle_buffers.hpp"

#include <gtest/gtest.h>

#include <memory>

#include <weft/scheduler/manual_clock.hpp>

namespace weft::test {
namespace {

using namespace std::chrono_literals;

struct IdleBuffersTest : ::testing::Test {
    struct Owner final : detail::BufferOwner {
        void releaseBuffers() noexcept override { ++released; }
        int released = 0;
    };
    void pass(Duration time) {
        clock.advance(time);
        loop.runTasks();
    }

    ManualClock clock;
    EventLoop loop{clock};
    Owner owner;
};

TEST_F(IdleBuffersTest, AnIdleConnectionLosesThemOnce) {
    owner.used(loop);
    pass(1s);
    EXPECT_EQ(owner.released, 0);
    pass(1s);
    EXPECT_EQ(owner.released, 1);
    pass(10s);
    EXPECT_EQ(owner.released, 1);
}

TEST_F(IdleBuffersTest, AConnectionInUseKeepsThem) {
    for (int i = 0; i < 10; ++i) {
        owner.used(loop);
        pass(1s);
    }
    EXPECT_EQ(owner.released, 0);
    pass(1s);
    EXPECT_EQ(owner.released, 1);
    owner.used(loop);
    pass(2s);
    pass(2s);
    EXPECT_EQ(owner.released, 2);
}

TEST_F(IdleBuffersTest, OnlyTheIdleOneOfSeveralLosesThem) {
    Owner busy;
    {
        Owner gone, forgotten;
        for (Owner* each : {&owner, &busy, &gone, &forgotten}) each->used(loop);
        forgotten.forget();
        forgotten.forget();
        pass(1s);
        busy.used(loop);
        pass(1s);
        EXPECT_EQ(forgotten.released, 0);
        EXPECT_EQ(gone.released, 1);
    }
    EXPECT_EQ(owner.released, 1);
    EXPECT_EQ(busy.released, 0);
    pass(1s);
    EXPECT_EQ(busy.released, 1);
}

TEST_F(IdleBuffersTest, TheTimerEndsWithTheLastOwner) {
    auto last = std::make_unique<Owner>();
    last->used(loop);
    last.reset();
    clock.advance(10s);
    EXPECT_EQ(loop.runTasks(), 0u);
    owner.used(loop);
    pass(1s);
    pass(1s);
    EXPECT_EQ(owner.released, 1);
}

}  // namespace
}  // namespace weft::test
