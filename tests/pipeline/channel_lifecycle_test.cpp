// The states of a channel (rules S-*): registration, bind and connect, active and inactive, each once and in the legal
// order. Its close and half-close: channel_close_test.cpp.
#include <weft/pipeline/channel.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <weft/pipeline/channel_errors.hpp>
#include <weft/pipeline/embedded_channel.hpp>
#include <weft/testing/recorder.hpp>

#include "scripted_sink.hpp"
#include "support/log_capture.hpp"

namespace weft {
namespace {

using test::Events;
using test::Recorder;
using test::ScriptedChannel;

TEST(ChannelLifecycle, S1_RegistrationGoesAddedPromiseRegisteredActiveRead) {
    Events events;
    ScriptedChannel channel;
    auto recorder = std::make_unique<Recorder>("h", events);
    recorder->recordsReadRequests = true;
    channel.pipeline().addLast(std::move(recorder));
    ChannelPromise promise = channel->newPromise();
    promise.addListener([&](const ChannelFuture&) { events.push_back("promise"); });
    channel->registerWithLoop(promise);
    EXPECT_EQ(events, (Events{"h:added", "promise", "h:registered", "h:active", "h:readRequest"}));
    EXPECT_TRUE(channel.sink->wantsRead);
}

TEST(ChannelLifecycle, S1_AFailedRegistrationClosesTheDescriptorAndFailsThePromise) {
    ScriptedChannel channel;
    channel.sink->registerError = fromErrno(EMFILE);
    const ChannelFuture future = channel->registerWithLoop();
    EXPECT_EQ(future.error(), fromErrno(EMFILE));
    EXPECT_TRUE(channel->closeFuture().done());
    EXPECT_EQ(channel.sink->count("destroyed"), 1u);
}

TEST(ChannelLifecycle, S1_ASecondRegistrationThatFailsClosesTheChannelAndRemovesItsHandlers) {
    Events events;
    ScriptedChannel channel;
    channel.pipeline().addLast(std::make_unique<Recorder>("h", events));
    channel.start();
    channel->deregister();
    channel.run();
    events.clear();
    channel.sink->registerError = fromErrno(EMFILE);
    const ChannelFuture future = channel->registerWithLoop();
    EXPECT_EQ(future.error(), fromErrno(EMFILE));
    EXPECT_TRUE(channel->closeFuture().success());
    EXPECT_EQ(channel.sink->count("close"), 1u);
    channel.run();
    EXPECT_EQ(events, (Events{"h:inactive", "h:removed"}));
}

TEST(ChannelLifecycle, S1_AChannelThatIsNotActiveIsRegisteredOnly) {
    Events events;
    ScriptedChannel channel(false);
    channel.pipeline().addLast(std::make_unique<Recorder>("h", events));
    channel.start();
    EXPECT_EQ(events, (Events{"h:added", "h:registered"}));
    EXPECT_FALSE(channel.sink->wantsRead);
}

TEST(ChannelLifecycle, S1_ARefusedRegistrationWithTheVoidPromiseIsLogged) {
    const test::LogCapture log;
    ScriptedChannel refused;
    refused.sink->registerError = fromErrno(ENOSPC);
    refused.sink->remote = SocketAddress::loopbackV4(7);
    refused->registerWithLoop({});
    EXPECT_TRUE(refused->closed());
    EXPECT_EQ(log.countAt(LogLevel::warning, "channel " + std::to_string(refused->id()) + " (peer 127.0.0.1:7)",
                          "could not be registered with its event loop", fromErrno(ENOSPC).message()),
              1)
        << log.text();

    ScriptedChannel awaited;
    awaited.sink->registerError = fromErrno(ENOSPC);
    EXPECT_EQ(awaited->registerWithLoop().error(), fromErrno(ENOSPC));
    EXPECT_EQ(log.count("could not be registered"), 1) << log.text();
}

TEST(ChannelLifecycle, S2_ReregistrationDoesNotRepeatActiveButReadsAgain) {
    Events events;
    ScriptedChannel channel;
    channel.pipeline().addLast(std::make_unique<Recorder>("h", events));
    channel.start();
    channel->deregister();
    EXPECT_TRUE(channel->registered()) << "S-6: never inside the call";
    channel.run();
    EXPECT_FALSE(channel->registered());
    events.clear();
    channel.sink->wantsRead = false;
    channel.start();
    EXPECT_EQ(events, (Events{"h:registered"}));
    EXPECT_TRUE(channel.sink->wantsRead);
}

TEST(ChannelLifecycle, S6_ADeregistrationIsATaskAndTheHandlersHearOfItThere) {
    struct Deregisters final : ChannelInboundHandler {
        explicit Deregisters(Events& events) : events_(events) {}
        void channelRead(ChannelHandlerContext& ctx, Message&& message) override {
            message.reset();
            ctx.deregister();
            events_.push_back(ctx.channel().registered() ? "still registered" : "registered no more");
        }
        void channelUnregistered(ChannelHandlerContext&) override { events_.push_back("unregistered"); }
        Events& events_;
    };
    Events events;
    ScriptedChannel channel;
    channel.pipeline().addLast<Deregisters>(events);
    channel.start();
    channel.deliver({"x"});
    EXPECT_EQ(events, (Events{"still registered"}));
    channel.run();
    EXPECT_EQ(events, (Events{"still registered", "unregistered"}));
    EXPECT_TRUE(channel->open());
}

TEST(ChannelLifecycle, S2_ActiveFiresOnceHoweverOftenTheChannelIsBound) {
    Events events;
    ScriptedChannel channel(false);
    channel.sink->listens = true;
    channel.pipeline().addLast(std::make_unique<Recorder>("h", events));
    channel.start();
    channel->bind(SocketAddress::loopbackV4(0));
    channel->bind(SocketAddress::loopbackV4(0));
    channel.run();
    EXPECT_EQ(std::count(events.begin(), events.end(), "h:active"), 1);
}

TEST(ChannelLifecycle, S3_BindCompletesItsPromiseFirstAndActiveComesFromATask) {
    Events events;
    ScriptedChannel channel(false);
    channel.sink->listens = true;
    channel.pipeline().addLast(std::make_unique<Recorder>("h", events));
    channel.start();
    events.clear();
    ChannelPromise promise = channel->newPromise();
    promise.addListener([&](const ChannelFuture&) { events.push_back("promise"); });
    channel->bind(SocketAddress::loopbackV4(0), promise);
    EXPECT_EQ(events, (Events{"h:bind", "promise"}));
    channel.run();
    EXPECT_EQ(events.back(), "h:active");
}

TEST(ChannelLifecycle, S3_ConnectCompletesItsPromiseAndThenFiresActiveAtOnce) {
    Events events;
    ScriptedChannel channel(false);
    channel.pipeline().addLast(std::make_unique<Recorder>("h", events));
    channel.start();
    events.clear();
    ChannelPromise promise = channel->newPromise();
    promise.addListener([&](const ChannelFuture&) { events.push_back("promise"); });
    channel->connect(SocketAddress::loopbackV4(1), nullptr, promise);
    EXPECT_EQ(events, (Events{"h:connect", "promise", "h:active"}));
    EXPECT_TRUE(channel.sink->wantsRead);
}

TEST(ChannelLifecycle, S4_AStreamThatWasBoundIsNotActiveUntilItConnects) {
    Events events;
    ScriptedChannel channel(false);
    channel.pipeline().addLast(std::make_unique<Recorder>("h", events));
    channel.start();
    events.clear();
    EXPECT_TRUE(channel->bind(SocketAddress::loopbackV4(0)).success());
    channel.run();
    EXPECT_EQ(events, (Events{"h:bind"}));
    EXPECT_FALSE(channel->active());
    EXPECT_TRUE(channel->connect(SocketAddress::loopbackV4(1)).success());
    EXPECT_TRUE(channel->active());
    EXPECT_EQ(events, (Events{"h:bind", "h:connect", "h:active"}));
    EXPECT_THROW(channel->connect(SocketAddress::loopbackV4(1)).sync(), std::logic_error);
    channel->onError(fromErrno(ECONNRESET));
    EXPECT_TRUE(channel->closed()) << "it is no listener (E-6)";
}

TEST(ChannelLifecycle, S4_AConnectThatTakesTooLongFailsAndCloses) {
    ScriptedChannel channel(false);
    channel.sink->connectsLater = true;
    channel->setOption(ChannelOption::CONNECT_TIMEOUT, std::chrono::milliseconds(500));
    channel.start();
    const ChannelFuture future = channel->connect(SocketAddress::loopbackV4(9));
    channel.clock.advance(std::chrono::milliseconds(400));
    channel.run();
    EXPECT_FALSE(future.done());
    channel.clock.advance(std::chrono::milliseconds(200));
    channel.run();
    EXPECT_EQ(future.error(), timedOut());
    EXPECT_NE(describe(future.cause()).find("127.0.0.1:9"), std::string::npos);
    EXPECT_TRUE(channel->closed());
}

TEST(ChannelLifecycle, S4_ASecondConnectFailsAndCancellingTheFirstCloses) {
    ScriptedChannel channel(false);
    channel.sink->connectsLater = true;
    channel.start();
    const ChannelFuture first = channel->connect(SocketAddress::loopbackV4(9));
    const ChannelFuture second = channel->connect(SocketAddress::loopbackV4(9));
    EXPECT_EQ(second.status(), PromiseStatus::failure);
    EXPECT_TRUE(first.cancel());
    channel.run();
    EXPECT_EQ(channel.sink->count("close"), 1u);
}

TEST(ChannelLifecycle, S4_AFailedConnectClosesTheChannel) {
    ScriptedChannel channel(false);
    channel.sink->connectsLater = true;
    channel.start();
    const ChannelFuture attempt = channel->connect(SocketAddress::loopbackV4(9));
    channel.sink->connecting.tryFailure(fromErrno(ECONNREFUSED));
    channel.run();
    EXPECT_EQ(attempt.error(), fromErrno(ECONNREFUSED));
    EXPECT_TRUE(channel->closed());
}

struct ClosesOnRead final : ChannelInboundHandler {
    explicit ClosesOnRead(Events& events) : events_(events) {}
    void channelRead(ChannelHandlerContext& ctx, Message&& message) override {
        message.reset();
        events_.push_back("enter");
        ctx.close();
        events_.push_back("leave");
    }
    void channelInactive(ChannelHandlerContext&) override { events_.push_back("inactive"); }
    void channelUnregistered(ChannelHandlerContext&) override { events_.push_back("unregistered"); }
    Events& events_;
};

TEST(ChannelLifecycle, S5_CloseInsideChannelReadDoesNotNestInactive) {
    Events events;
    EmbeddedChannel channel;
    channel.pipeline().addLast<ClosesOnRead>(events);
    channel.writeInbound(1);
    EXPECT_EQ(events, (Events{"enter", "leave", "inactive", "unregistered"}));
}

TEST(ChannelLifecycle, S5_AChannelThatWasNeverActiveIsNeverInactive) {
    Events events;
    ScriptedChannel channel(false);
    channel.pipeline().addLast(std::make_unique<Recorder>("h", events));
    channel.start();
    events.clear();
    channel->close();
    channel.run();
    EXPECT_EQ(events, (Events{"h:close", "h:unregistered", "h:removed"}));
}

TEST(ChannelLifecycle, TheWholeLifeIsInTheLegalOrder) {
    Events events;
    {
        EmbeddedChannel channel(std::make_unique<Recorder>("h", events));
        channel.writeInbound(1);
        channel.close();
    }
    EXPECT_EQ(events, (Events{"h:added", "h:registered", "h:active", "h:read", "h:readComplete", "h:close",
                              "h:inactive", "h:unregistered", "h:removed"}));
}

}  // namespace
}  // namespace weft
