// The end of a channel: close (rules C-*) and half-close (rules HC-*). What completes first, what fails, and what the
// handlers are told.
#include <weft/pipeline/channel.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include <gtest/gtest.h>

#include <weft/pipeline/channel_errors.hpp>
#include <weft/pipeline/embedded_channel.hpp>
#include <weft/testing/recorder.hpp>

#include "scripted_sink.hpp"

namespace weft {
namespace {

using test::Events;
using test::isWritabilityChange;
using test::Recorder;
using test::ScriptedChannel;

// ---- C: close ----

TEST(ChannelClose, C1_TheFirstCloseWinsAndLaterOnesCompleteWithIt) {
    ScriptedChannel channel;
    channel.sink->closesLater = true;
    channel.start();
    const ChannelFuture first = channel->close();
    const ChannelFuture second = channel->close();
    EXPECT_EQ(channel.sink->count("close"), 1u);
    EXPECT_FALSE(first.done());
    EXPECT_FALSE(second.done());
    channel.sink->closing.trySuccess();
    EXPECT_TRUE(first.success());
    EXPECT_TRUE(second.success());
    EXPECT_TRUE(channel->close().success());
}

TEST(ChannelClose, C2_TheOrderIsCloseFutureClosePromiseFlushedUnflushedEvents) {
    Events events;
    ScriptedChannel channel;
    channel.pipeline().addLast(std::make_unique<Recorder>("h", events));
    channel.start();
    channel.sink->room = 0;
    const auto listened = [&](const char* what) {
        ChannelPromise promise = channel->newPromise();
        promise.addListener([&events, what](const ChannelFuture& future) {
            events.push_back(std::string(what) + (future.success() ? " ok" : " failed"));
        });
        return promise;
    };
    channel->write(Buffer::copyOf("flushed"), listened("flushed write"));
    channel->flush();
    channel.run();
    channel->write(Buffer::copyOf("unflushed"), listened("unflushed write"));
    channel->closeFuture().addListener([&](const ChannelFuture&) { events.push_back("closeFuture"); });
    events.clear();
    channel->close(listened("close"));
    channel.run();
    EXPECT_EQ(events, (Events{"h:close", "closeFuture", "close ok", "flushed write failed", "unflushed write failed",
                              "h:inactive", "h:unregistered", "h:removed"}));
}

TEST(ChannelClose, C3_AListenerOfAFailedWriteMayCloseAndWriteAgain) {
    ScriptedChannel channel;
    channel.start();
    channel.sink->room = 0;
    const ChannelPromise second = channel->newPromise();
    const ChannelPromise first = channel->newPromise();
    first.addListener([&](const ChannelFuture&) {
        channel->write(Buffer::copyOf("again"), second);
        channel->flush();
        channel->close({});
    });
    channel->writeAndFlush(Buffer::copyOf("x"), first);
    channel->close({});
    channel.run();
    EXPECT_EQ(second.future().status(), PromiseStatus::failure);
    EXPECT_EQ(channel.sink->count("close"), 1u);
}

TEST(ChannelClose, C3_ACloseFromInsideAFlushFailsTheRestAfterTheFlush) {
    ScriptedChannel channel;
    channel.start();
    channel.sink->room = 4;
    Events events;
    const ChannelPromise first = channel->newPromise();
    const ChannelPromise second = channel->newPromise();
    second.addListener([&](const ChannelFuture& future) { events.push_back(future.success() ? "written" : "failed"); });
    first.addListener([&](const ChannelFuture&) {
        channel->close({});
        events.push_back("closed");
    });
    channel->write(Buffer::copyOf("1234"), first);
    channel->write(Buffer::copyOf("5678"), second);
    channel->flush();
    channel.run();
    EXPECT_EQ(events, (Events{"closed", "failed"}));
    EXPECT_EQ(channel.sink->written, "1234");
}

TEST(ChannelClose, C4_AWriteToAClosedChannelReleasesTheMessageAndFailsThePromise) {
    EmbeddedChannel channel;
    channel.close();
    auto life = std::make_shared<int>(1);
    const ChannelPromise promise = channel.channel().newPromise();
    channel.channel().write(Message(std::shared_ptr<int>(life)), promise);
    channel.channel().flush();
    EXPECT_EQ(life.use_count(), 1);
    EXPECT_THROW(promise.future().sync(), ClosedChannelException);
}

TEST(ChannelClose, C5_CloseDoesNotFlushAndAListenerThatClosesDoes) {
    ScriptedChannel unflushed;
    unflushed.start();
    unflushed->write(Buffer::copyOf("lost"));
    unflushed->close();
    unflushed.run();
    EXPECT_EQ(unflushed.sink->written, "");

    ScriptedChannel idiom;
    idiom.start();
    ChannelPromise promise = idiom->newPromise();
    promise.addListener(closeChannel);
    idiom->writeAndFlush(Buffer::copyOf("last"), promise);
    idiom.run();
    EXPECT_EQ(idiom.sink->written, "last");
    EXPECT_TRUE(idiom->closed());
}

TEST(ChannelClose, C7_OnlyTheTransportCompletesTheCloseFuture) {
    static_assert(!std::is_constructible_v<ChannelPromise, ChannelFuture>, "nobody can complete a future");
    EmbeddedChannel channel;
    EXPECT_FALSE(channel.channel().closeFuture().cancel());
    EXPECT_FALSE(channel.channel().closeFuture().done());
    channel.close();
    EXPECT_TRUE(channel.channel().closeFuture().success());
}

TEST(ChannelClose, AChannelIsFreedWhenItsLastReferenceGoesAfterTheClose) {
    auto life = std::make_shared<int>(1);
    struct Holder final : ChannelInboundHandler {
        explicit Holder(std::shared_ptr<int> held) : held_(std::move(held)) {}
        void channelActive(ChannelHandlerContext& ctx) override { self = ChannelRef(ctx.channel()); }
        std::shared_ptr<int> held_;
        ChannelRef self;  // a cycle, until the handler is removed
    };
    {
        EmbeddedChannel channel(std::make_unique<Holder>(life));
        EXPECT_EQ(life.use_count(), 2);
        channel.close();
    }
    EXPECT_EQ(life.use_count(), 1);
}

TEST(ChannelClose, AChannelThatWasNeverRegisteredReleasesItsSinkAndHandlers) {
    auto script = std::make_shared<test::SinkScript>();
    ManualClock clock;
    EventLoop loop(clock);
    {
        ChannelRef channel = Channel::create(loop);
        channel->attach(std::make_unique<test::ScriptedSink>(*channel, script));
        channel->pipeline().addLast([](Channel&) {});
    }
    EXPECT_EQ(script->count("destroyed"), 1u);
}

// ---- HC: half-close ----

TEST(ChannelHalfClose, HC1_TheEndOfInputGivesReadCompleteAndCloses) {
    Events events;
    ScriptedChannel channel;
    channel.pipeline().addLast(std::make_unique<Recorder>("h", events));
    channel.start();
    events.clear();
    channel->onRead(Buffer::copyOf("last"));
    channel->onEof();
    channel->onReadComplete();
    channel.run();
    EXPECT_EQ(events, (Events{"h:read", "h:readComplete", "h:inactive", "h:unregistered", "h:removed"}));
}

TEST(ChannelHalfClose, HC2_WithTheOptionItIsAnEventAndWritingStillWorks) {
    Events events;
    ScriptedChannel channel;
    channel->setOption(ChannelOption::ALLOW_HALF_CLOSURE, true);
    channel.pipeline().addLast(std::make_unique<Recorder>("h", events));
    channel.start();
    events.clear();
    channel->onEof();
    channel->onEof();
    channel->onEof();
    EXPECT_EQ(events, (Events{"h:event weft::InputShutdownEvent", "h:event weft::InputShutdownReadCompleteEvent"}));
    EXPECT_FALSE(channel.sink->wantsRead);
    channel->writeAndFlush(Buffer::copyOf("answer"));
    channel.run();
    EXPECT_EQ(channel.sink->written, "answer");
}

TEST(ChannelHalfClose, HC3_ShutdownOutputFailsWhatIsPendingAndTellsTheHandlers) {
    Events events;
    ScriptedChannel channel;
    channel.pipeline().addLast(std::make_unique<Recorder>("h", events));
    channel.start();
    const ChannelPromise pending = channel->newPromise();
    channel->write(Buffer::copyOf("x"), pending);
    events.clear();
    EXPECT_TRUE(channel->shutdownOutput().success());
    EXPECT_THROW(pending.future().sync(), OutputShutdownException);
    EXPECT_EQ(events, (Events{"h:event weft::OutputShutdownEvent"}));
    channel.deliver({"still reading"});
    EXPECT_EQ(events.back(), "h:readComplete");
}

TEST(ChannelHalfClose, HC3_AfterShutdownOutputWithMuchPendingTheChannelIsWritable) {
    Events events;
    ScriptedChannel channel;
    channel.pipeline().addLast(std::make_unique<Recorder>("h", events));
    channel.start();
    channel.sink->room = 0;
    const ChannelPromise pending = channel->newPromise();
    channel->writeAndFlush(Buffer::copyOf(std::string(WriteBufferWaterMark::defaultHigh + 1, 'x')), pending);
    ASSERT_FALSE(channel->isWritable());
    events.clear();
    channel->shutdownOutput();
    EXPECT_TRUE(channel->isWritable()) << "nothing is pending any more";
    EXPECT_EQ(channel->pendingBytes(), 0u);
    EXPECT_EQ(events, (Events{"h:writable", "h:event weft::OutputShutdownEvent"}));
    channel->writeAndFlush(Buffer::copyOf(std::string(WriteBufferWaterMark::defaultHigh + 1, 'x')),
                           channel->newPromise());
    EXPECT_TRUE(channel->isWritable()) << "a refused write is not pending";
}

TEST(ChannelHalfClose, HC3_AListenerOfAWriteThatShutdownOutputFailsMayCloseTheChannel) {
    Events events;
    ScriptedChannel channel;
    channel.pipeline().addLast(std::make_unique<Recorder>("h", events));
    channel.start();
    channel.sink->room = 0;
    const ChannelPromise pending = channel->newPromise();
    pending.addListener(closeChannelOnFailure);
    channel->writeAndFlush(Buffer::copyOf(std::string(WriteBufferWaterMark::defaultHigh + 1, 'x')), pending);
    events.clear();
    channel->shutdownOutput();
    channel.run();
    EXPECT_TRUE(channel->closed());
    EXPECT_EQ(std::count_if(events.begin(), events.end(), isWritabilityChange), 0)
        << "never for a closed channel (W-4)";
    EXPECT_EQ(std::count(events.begin(), events.end(), "h:event weft::OutputShutdownEvent"), 0);
}

TEST(ChannelHalfClose, HC3_AShutdownOutputThatTheTransportRefusesChangesNothing) {
    Events events;
    ScriptedChannel channel;
    channel.pipeline().addLast(std::make_unique<Recorder>("h", events));
    channel.start();
    channel.sink->room = 0;
    const ChannelPromise pending = channel->newPromise();
    channel->writeAndFlush(Buffer::copyOf("first "), pending);
    events.clear();
    channel.sink->shutdownError = operationAborted();
    EXPECT_EQ(channel->shutdownOutput().error(), operationAborted());
    EXPECT_EQ(events, (Events{}));
    EXPECT_FALSE(pending.done()) << "the transport may be sending these bytes";
    channel.sink->room = 100;
    channel->onWritable();
    channel->writeAndFlush(Buffer::copyOf("second"));
    channel.run();
    EXPECT_TRUE(pending.future().success());
    EXPECT_EQ(channel.sink->written, "first second");
    events.clear();
    channel.sink->shutdownError = {};
    EXPECT_TRUE(channel->shutdownOutput().success());
    EXPECT_EQ(channel.sink->count("shutdownOutput"), 2u);
    EXPECT_EQ(events, (Events{"h:event weft::OutputShutdownEvent"}));
}

}  // namespace
}  // namespace weft
