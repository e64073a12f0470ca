// ctx.schedule(), and ContextPin.
#include <weft/pipeline/context_pin.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <weft/pipeline/channel_errors.hpp>
#include <weft/pipeline/channel_handler.hpp>
#include <weft/pipeline/embedded_channel.hpp>
#include <weft/scheduler/future.hpp>

#include "hosted_channel.hpp"

namespace weft {
namespace {

using namespace std::chrono_literals;

// Gives the test its context, and records the exceptions that reach it.
struct Exposed final : ChannelInboundHandler {
    void handlerAdded(ChannelHandlerContext& ctx) override { context = &ctx; }
    void handlerRemoved(ChannelHandlerContext& ctx) override {
        if (atRemoval) atRemoval(ctx);
    }
    void exceptionCaught(ChannelHandlerContext&, std::exception_ptr cause) override {
        failures.push_back(describe(cause));
    }
    ChannelHandlerContext* context = nullptr;
    std::function<void(ChannelHandlerContext&)> atRemoval;
    std::vector<std::string> failures;
};

struct ContextSchedule : testing::Test {
    ChannelHandlerContext& ctx() { return *exposed.context; }

    Exposed exposed;
    int runs = 0;
    EmbeddedChannel channel{[this](Channel& inner) { inner.pipeline().addLast<Forwarder>(exposed); }};

  private:
    // Owned by the pipeline in place of `exposed`, which the test owns.
    struct Forwarder final : ChannelInboundHandler {
        explicit Forwarder(Exposed& to) : to(to) {}
        void handlerAdded(ChannelHandlerContext& ctx) override { to.handlerAdded(ctx); }
        void handlerRemoved(ChannelHandlerContext& ctx) override { to.handlerRemoved(ctx); }
        void exceptionCaught(ChannelHandlerContext& ctx, std::exception_ptr cause) override {
            to.exceptionCaught(ctx, std::move(cause));
        }
        Exposed& to;
    };
};

TEST_F(ContextSchedule, RunsOnceWhenTheDelayHasPassed) {
    const ScheduledTask task = ctx().schedule([this] { ++runs; }, 10ms);
    channel.advanceTimeBy(9ms);
    EXPECT_EQ(runs, 0);
    EXPECT_FALSE(task.done());
    channel.advanceTimeBy(2ms);  // the wheel's tick is 1 ms
    EXPECT_EQ(runs, 1);
    EXPECT_TRUE(task.done());
    channel.advanceTimeBy(1h);
    EXPECT_EQ(runs, 1);
}

TEST_F(ContextSchedule, ANegativeDelayCountsAsZeroAndTheLongestIsAccepted) {
    ctx().schedule([this] { ++runs; }, -1h);
    ctx().schedule([this] { runs += 10; }, std::chrono::hours::max());
    channel.advanceTimeBy(0ms);
    EXPECT_EQ(runs, 1);
    channel.advanceTimeBy(24h * 365);
    EXPECT_EQ(runs, 1);
}

TEST_F(ContextSchedule, ItsTaskCanBeCancelled) {
    ScheduledTask task = ctx().schedule([this] { ++runs; }, 1ms);
    EXPECT_TRUE(task.cancel());
    channel.advanceTimeBy(1h);
    EXPECT_EQ(runs, 0);
}

TEST_F(ContextSchedule, TheRemovalOfTheHandlerCancelsAndDestroysTheFunction) {
    const auto owned = std::make_shared<int>(0);
    for (int i = 0; i < 10; ++i) ctx().schedule([this, owned] { ++runs; }, 1h);
    EXPECT_EQ(owned.use_count(), 11);
    ctx().pipeline().remove(ctx().handler());
    EXPECT_EQ(owned.use_count(), 1);
    channel.advanceTimeBy(2h);
    EXPECT_EQ(runs, 0);
}

TEST_F(ContextSchedule, TheCloseOfTheChannelCancelsIt) {
    const auto owned = std::make_shared<int>(0);
    ctx().schedule([this, owned] { ++runs; }, 1h);
    channel.finish();
    EXPECT_EQ(owned.use_count(), 1);
    channel.advanceTimeBy(2h);
    EXPECT_EQ(runs, 0);
}

TEST_F(ContextSchedule, WhatHandlerRemovedSchedulesIsCancelledToo) {
    const auto owned = std::make_shared<int>(0);
    exposed.atRemoval = [this, owned](ChannelHandlerContext& ctx) { ctx.schedule([this, owned] { ++runs; }, 1ms); };
    ctx().pipeline().remove(ctx().handler());
    exposed.atRemoval = nullptr;
    EXPECT_EQ(owned.use_count(), 1);
    channel.advanceTimeBy(1h);
    EXPECT_EQ(runs, 0);
}

TEST_F(ContextSchedule, ARemovedHandlerSchedulesNothing) {
    const ContextPin pin(ctx());
    ctx().pipeline().remove(ctx().handler());
    const ScheduledTask task = pin->schedule([this] { ++runs; }, 1ms);
    EXPECT_FALSE(task);
    channel.advanceTimeBy(1h);
    EXPECT_EQ(runs, 0);
}

TEST_F(ContextSchedule, AnExceptionGoesToTheHandler) {
    ctx().schedule([] { throw std::runtime_error("too late"); }, 1ms);
    channel.advanceTimeBy(2ms);
    ASSERT_EQ(exposed.failures.size(), 1u);
    EXPECT_NE(exposed.failures[0].find("too late"), std::string::npos);
}

TEST_F(ContextSchedule, TheFunctionMayRemoveItsHandlerAndScheduleAgain) {
    ctx().schedule(
        [this] {
            ctx().schedule([this] { ++runs; }, 5ms);
            ++runs;
        },
        1ms);
    channel.advanceTimeBy(2ms);
    EXPECT_EQ(runs, 1);
    channel.advanceTimeBy(6ms);
    EXPECT_EQ(runs, 2);
    const auto owned = std::make_shared<int>(0);
    ctx().schedule([this, owned] { ctx().pipeline().remove(ctx().handler()); }, 1ms);
    channel.advanceTimeBy(2ms);
    EXPECT_EQ(owned.use_count(), 1);
    channel.checkException();
}

TEST_F(ContextSchedule, TasksThatHaveEndedAreNotKept) {
    std::vector<std::weak_ptr<int>> held;
    for (int i = 0; i < 1000; ++i) {
        auto owned = std::make_shared<int>(i);
        held.push_back(owned);
        ctx().schedule([owned = std::move(owned)] {}, 1h).cancel();
    }
    for (const auto& one : held) EXPECT_TRUE(one.expired());
}

// Keeps its context, and answers once the test has completed the promise.
struct AnswersLater final : ChannelInboundHandler {
    explicit AnswersLater(Future<std::string> answer) : answer(std::move(answer)) {}
    void userEventTriggered(ChannelHandlerContext& ctx, Message&&) override {
        answer.addListener([pin = ContextPin(ctx)](const Future<std::string>& done) mutable {
            pin->writeAndFlush(Message(Buffer::copyOf(done.get())));
        });
    }
    Future<std::string> answer;
};

TEST(ContextPinned, AListenerOnAnotherThreadAnswersThroughIt) {
    Promise<std::string> promise;
    test::HostedChannel channel([&](Channel& inner) { inner.pipeline().addLast<AnswersLater>(promise.future()); });
    channel->pipeline().fireUserEventTriggered(Message(0));
    channel.host.inDispatch([] {});
    std::thread([&] { promise.setValue("later"); }).join();
    channel.host.inDispatch([] {});
    channel.host.inFiber([] {});
    while (true) {
        std::string written;
        channel.host.inDispatch([&] { written = channel.sink->written; });
        if (written == "later") break;
        std::this_thread::yield();
    }
}

TEST(ContextPinned, OutlivesTheHandlerAndTheChannelsEnd) {
    std::optional<ContextPin> pin;
    const auto marker = std::make_shared<int>(0);
    struct Marked final : ChannelInboundHandler {
        Marked(std::optional<ContextPin>& pin, std::shared_ptr<int> marker) : pin(pin), marker(std::move(marker)) {}
        void handlerAdded(ChannelHandlerContext& ctx) override { pin.emplace(ctx); }
        std::optional<ContextPin>& pin;
        std::shared_ptr<int> marker;
    };
    {
        test::HostedChannel channel([&](Channel& inner) { inner.pipeline().addLast<Marked>(pin, marker); });
        channel->close().sync();
        channel.host.inDispatch([] {});
        EXPECT_EQ(marker.use_count(), 2);
        const ChannelFuture written = pin->context().writeFuture(Message(Buffer::copyOf("late")));
        EXPECT_TRUE(written.awaitFor(std::chrono::seconds(20)));
        EXPECT_FALSE(written.success());
        pin.reset();
        channel.host.inDispatch([] {});
    }
    EXPECT_EQ(marker.use_count(), 1);
}

}  // namespace
}  // namespace weft
