// IdleBuffers: the buffers of an idle connection go after one to two seconds.
#include "idle_buffers.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include <weft/scheduler/manual_clock.hpp>

namespace weft::test {
namespace {

using namespace std::chrono_literals;

struct IdleBuffersTest : ::testing::Test {
    struct Owner final : detail::BufferOwner {
        void use(EventLoop& here) {
            if (!used()) join(here);
        }
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
    owner.use(loop);
    pass(1s);
    EXPECT_EQ(owner.released, 0);
    pass(1s);
    EXPECT_EQ(owner.released, 1);
    pass(10s);
    EXPECT_EQ(owner.released, 1);
}

TEST_F(IdleBuffersTest, AConnectionInUseKeepsThem) {
    for (int i = 0; i < 10; ++i) {
        owner.use(loop);
        pass(1s);
    }
    EXPECT_EQ(owner.released, 0);
    pass(1s);
    EXPECT_EQ(owner.released, 1);
    owner.use(loop);
    pass(2s);
    pass(2s);
    EXPECT_EQ(owner.released, 2);
}

TEST_F(IdleBuffersTest, OnlyTheIdleOneOfSeveralLosesThem) {
    Owner busy;
    {
        Owner gone, forgotten;
        for (Owner* each : {&owner, &busy, &gone, &forgotten}) each->use(loop);
        forgotten.forget();
        forgotten.forget();
        pass(1s);
        busy.use(loop);
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
    last->use(loop);
    last.reset();
    clock.advance(10s);
    EXPECT_EQ(loop.runTasks(), 0u);
    owner.use(loop);
    pass(1s);
    pass(1s);
    EXPECT_EQ(owner.released, 1);
}

// More than one task of a round visits.
TEST_F(IdleBuffersTest, EachOfManyIdleConnectionsLosesThem) {
    std::vector<std::unique_ptr<Owner>> many;
    for (unsigned i = 0; i < 3 * detail::IdleBuffers::visitsPerTask; ++i) {
        many.push_back(std::make_unique<Owner>());
        many.back()->use(loop);
    }
    pass(1s);
    clock.advance(1s);
    loop.runTasks();
    for (const auto& each : many) EXPECT_EQ(each->released, 1);
}

TEST(IdleBuffersLife, AConnectionMayOutliveTheLoop) {
    IdleBuffersTest::Owner owner;
    {
        ManualClock clock;
        EventLoop loop(clock);
        owner.use(loop);
    }
    EXPECT_FALSE(owner.used());
}

}  // namespace
}  // namespace weft::test
