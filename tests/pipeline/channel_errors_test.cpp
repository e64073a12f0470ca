#include <weft/pipeline/channel_errors.hpp>

#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include <weft/pipeline/embedded_channel.hpp>
#include <weft/testing/recorder.hpp>

#include "scripted_sink.hpp"
#include "support/log_capture.hpp"

namespace weft {
namespace {

using test::Events;
using test::Recorder;

struct ThrowsOnRead final : ChannelInboundHandler {
    explicit ThrowsOnRead(Events& events) : events_(events) {}
    void channelRead(ChannelHandlerContext&, Message&&) override { throw std::runtime_error("read failed"); }
    void exceptionCaught(ChannelHandlerContext& ctx, std::exception_ptr cause) override {
        events_.push_back("thrower:exception");
        ctx.fireExceptionCaught(cause);
    }
    Events& events_;
};

TEST(PipelineErrors, E1_AnInboundThrowComesToTheSameHandlerAndThenTowardsTheTail) {
    Events events;
    EmbeddedChannel channel(std::make_unique<Recorder>("before", events), std::make_unique<ThrowsOnRead>(events),
                            std::make_unique<Recorder>("after", events));
    events.clear();
    EXPECT_THROW(channel.writeInbound(1), std::runtime_error);
    EXPECT_EQ(events[0], "before:read");
    EXPECT_EQ(events[1], "thrower:exception");
    EXPECT_EQ(events[2], "after:exception read failed");
}

TEST(PipelineErrors, E1_ExceptionsTravelThroughOutboundHandlersToo) {
    struct Outbound final : ChannelOutboundHandler {
        explicit Outbound(Events& events) : events_(events) {}
        void exceptionCaught(ChannelHandlerContext&, std::exception_ptr) override { events_.push_back("outbound"); }
        Events& events_;
    };
    Events events;
    EmbeddedChannel channel(std::make_unique<ThrowsOnRead>(events), std::make_unique<Outbound>(events));
    events.clear();
    channel.writeInbound(1);
    EXPECT_EQ(events, (Events{"thrower:exception", "outbound"}));
}

struct ThrowsOutbound final : ChannelOutboundHandler {
    void bind(ChannelHandlerContext&, const SocketAddress&, ChannelPromise) override { fail(); }
    void connect(ChannelHandlerContext&, const SocketAddress&, const SocketAddress*, ChannelPromise) override {
        fail();
    }
    void close(ChannelHandlerContext& ctx, ChannelPromise promise) override {
        if (armed) fail();
        ctx.close(std::move(promise));
    }
    void deregister(ChannelHandlerContext&, ChannelPromise) override { fail(); }
    void write(ChannelHandlerContext&, Message&&, ChannelPromise) override { fail(); }
    [[noreturn]] static void fail() { throw std::runtime_error("outbound"); }
    bool armed = true;
};

TEST(PipelineErrors, E2_AnOutboundThrowFailsThePromiseAndFiresNothing) {
    Events events;
    EmbeddedChannel channel(std::make_unique<ThrowsOutbound>(), std::make_unique<Recorder>("h", events));
    Channel& subject = channel.channel();
    const ChannelPromise written = subject.newPromise();
    subject.write(Message(1), written);
    const ChannelFuture futures[] = {subject.bind({}), subject.connect({}), subject.close(), subject.deregister(),
                                     written.future()};
    for (const ChannelFuture& future : futures) {
        EXPECT_EQ(future.status(), PromiseStatus::failure);
        EXPECT_EQ(describe(future.cause()), "outbound");
    }
    EXPECT_NO_THROW(channel.checkException());
    channel.pipeline().get<ThrowsOutbound>()->armed = false;
}

TEST(PipelineErrors, E3_AThrowInFlushOrReadComesToTheThrowersExceptionCaught) {
    struct Thrower final : ChannelOutboundHandler {
        explicit Thrower(Events& events) : events_(events) {}
        void flush(ChannelHandlerContext&) override { throw std::runtime_error("flush"); }
        void read(ChannelHandlerContext& ctx) override {
            if (armed) throw std::runtime_error("read");
            ctx.read();
        }
        void exceptionCaught(ChannelHandlerContext&, std::exception_ptr cause) override {
            events_.push_back(describe(cause));
        }
        Events& events_;
        bool armed = false;
    };
    Events events;
    EmbeddedChannel channel;
    channel.pipeline().addLast<Thrower>(events);
    channel.pipeline().get<Thrower>()->armed = true;
    channel.channel().flush();
    channel.channel().read();
    EXPECT_EQ(events, (Events{"flush", "read"}));
}

// A write without a promise has nothing to fail, so a throw in it is fired as an exception, as a throw in flush is.
struct ThrowsWrite final : ChannelDuplexHandler {
    explicit ThrowsWrite(Events* handled = nullptr) : handled_(handled) {}
    void write(ChannelHandlerContext&, Message&&, ChannelPromise) override { throw std::runtime_error("bad write"); }
    void exceptionCaught(ChannelHandlerContext& ctx, std::exception_ptr cause) override {
        if (!handled_) return ctx.fireExceptionCaught(cause);
        handled_->push_back(describe(cause));
    }
    Events* handled_;
};

TEST(PipelineErrors, E3_AThrowInAWriteWithTheVoidPromiseComesToTheThrowersExceptionCaught) {
    Events handled;
    test::ScriptedChannel channel;
    channel.pipeline().addLast<ThrowsWrite>(&handled);
    channel.start();
    channel->write(Buffer::copyOf("x"));
    channel->writeAndFlush(Buffer::copyOf("x"));
    channel->writeAndFlush(Buffer::copyOf("x"), channel->newPromise());
    EXPECT_EQ(handled, (Events{"bad write", "bad write"})) << "the third has a promise, which failed (E-2)";
    EXPECT_TRUE(channel->open()) << "the handler took it";
}

TEST(PipelineErrors, E3_AThrowInAWriteThatNoHandlerTakesIsLoggedWithItsHandlerAndClosesTheChannel) {
    for (const bool flush : {false, true}) {
        test::LogCapture log;
        test::ScriptedChannel channel;
        channel.pipeline().addLast<ThrowsWrite>();
        channel.start();
        channel->writeAndFlush(Buffer::copyOf("x"), channel->newPromise());
        EXPECT_TRUE(channel->open()) << "who waits for the promise decides";
        flush ? channel->writeAndFlush(Buffer::copyOf("x")) : channel->write(Buffer::copyOf("x"));
        EXPECT_TRUE(channel->closed()) << "the peer would wait for ever";
        channel.run();
        EXPECT_EQ(log.count("ThrowsWrite#0", "channel " + std::to_string(channel->id()), "bad write", "closed"), 1)
            << log.text();
    }
}

TEST(PipelineErrors, E3_WhatWasFlushedBeforeAWriteThatThrewLeavesBeforeTheClose) {
    const test::LogCapture log;
    test::ScriptedChannel channel;
    channel.pipeline().addLast<ThrowsWrite>();
    channel.start();
    channel.pipeline().context<ThrowsWrite>()->writeAndFlush(Buffer::copyOf("answer"));
    channel->write(Buffer::copyOf("x"));
    EXPECT_EQ(channel.sink->written, "answer");
    EXPECT_TRUE(channel->closed());
}

TEST(PipelineErrors, E3_AWriteThatThrowsInsideAnExceptionsHandlerDoesNotRecurse) {
    struct AnswersErrors final : ChannelDuplexHandler {
        void channelRead(ChannelHandlerContext&, Message&&) override { throw std::runtime_error("bad read"); }
        void exceptionCaught(ChannelHandlerContext& ctx, std::exception_ptr) override {
            ctx.channel().writeAndFlush(Buffer::copyOf("error"));
        }
    };
    const test::LogCapture log;
    test::ScriptedChannel channel;
    channel.pipeline().addLast<AnswersErrors>();
    channel.pipeline().addLast<ThrowsWrite>();
    channel.start();
    channel.deliver({"x"});
    EXPECT_TRUE(channel->closed());
    channel.run();
    EXPECT_EQ(log.count("bad write"), 1) << log.text();
}

TEST(PipelineErrors, C4_AWriteAfterTheCloseOfThisSideIsLoggedWithItsHandler) {
    const test::LogCapture log;
    test::ScriptedChannel channel;
    channel.start();
    const std::string id = "channel " + std::to_string(channel->id());
    channel->close();
    channel->writeAndFlush(Buffer::copyOf("bye"));
    EXPECT_EQ(log.count(id, "closed", "weft::Buffer"), 1) << log.text();
    channel->writeAndFlush(Buffer::copyOf("bye"), channel->newPromise());
    EXPECT_EQ(log.count(id), 1) << "its promise says so";
}

TEST(PipelineErrors, HC3_AWriteAfterShutdownOutputIsLogged) {
    const test::LogCapture log;
    test::ScriptedChannel channel;
    channel.start();
    channel->shutdownOutput();
    channel->writeAndFlush(Buffer::copyOf("more"));
    EXPECT_EQ(log.count("channel " + std::to_string(channel->id()), "output"), 1) << log.text();
}

TEST(PipelineErrors, C4_WritesAfterACloseAreLoggedInALimitedNumber) {
    const test::LogCapture log;
    test::ScriptedChannel channel;
    channel.start();
    channel->close();
    for (int i = 0; i < 1000; ++i) channel->write(Buffer::copyOf("bye"));
    EXPECT_GE(log.count("weft::Buffer"), 1);
    EXPECT_LE(log.count("weft::Buffer"), 100);
}

TEST(PipelineErrors, E4_AThrowInsideExceptionCaughtGoesNoFurther) {
    struct Worse final : ChannelInboundHandler {
        void channelRead(ChannelHandlerContext&, Message&&) override { throw std::runtime_error("first"); }
        void exceptionCaught(ChannelHandlerContext&, std::exception_ptr) override {
            throw std::runtime_error("second");
        }
    };
    Events events;
    EmbeddedChannel channel(std::make_unique<Worse>(), std::make_unique<Recorder>("after", events));
    events.clear();
    EXPECT_NO_THROW(channel.writeInbound(1));
    EXPECT_EQ(events, (Events{"after:readComplete"}));
}

TEST(PipelineErrors, E5_AThrowingTaskDoesNotEndTheLoop) {
    const test::LogCapture log;
    EmbeddedChannel channel;
    bool ran = false;
    channel.loop().execute([] { throw std::runtime_error("no room"); });
    channel.loop().execute([&] { ran = true; });
    channel.runPendingTasks();
    EXPECT_TRUE(ran);
    EXPECT_EQ(log.countAt(LogLevel::error, "a task of an event loop threw: ", "no room"), 1) << log.text();
}

TEST(PipelineErrors, E6_AReadErrorGivesReadCompleteThenTheExceptionThenCloses) {
    Events events;
    test::ScriptedChannel channel;
    channel.pipeline().addLast(std::make_unique<Recorder>("h", events));
    channel.start();
    events.clear();
    channel->onRead(Buffer::copyOf("partial"));
    channel->onError(fromErrno(ECONNRESET));
    channel.run();
    ASSERT_GE(events.size(), 5u);
    EXPECT_EQ(events[0], "h:read");
    EXPECT_EQ(events[1], "h:readComplete");
    EXPECT_EQ(events[2].substr(0, 11), "h:exception");
    EXPECT_EQ(events[3], "h:inactive");
    EXPECT_EQ(events[4], "h:unregistered");
}

TEST(PipelineErrors, E7_AnAcceptErrorLeavesTheListenerOpen) {
    Events events;
    test::ScriptedChannel channel(false);
    channel.sink->listens = true;
    channel.pipeline().addLast(std::make_unique<Recorder>("h", events));
    channel.start();
    channel->bind(SocketAddress::loopbackV4(0));
    channel.run();
    events.clear();
    channel->onError(fromErrno(EMFILE));
    channel.run();
    EXPECT_TRUE(channel->open());
    EXPECT_EQ(events.size(), 1u);
}

TEST(PipelineErrors, E8_AWriteErrorClosesAndLaterWritesNameTheCause) {
    test::ScriptedChannel channel;
    channel.start();
    channel->onWriteError(fromErrno(EPIPE));
    const ChannelPromise promise = channel->newPromise();
    channel->write(Buffer::copyOf("late"), promise);
    try {
        promise.future().sync();
        FAIL() << "the write succeeded";
    } catch (const ClosedChannelException& closed) {
        EXPECT_EQ(errorCodeOf(closed.cause()), fromErrno(EPIPE));
    }
}

TEST(PipelineErrors, E8_WithoutAutoCloseAWriteErrorEndsTheOutputOnly) {
    Events events;
    test::ScriptedChannel channel;
    channel->setOption(ChannelOption::AUTO_CLOSE, false);
    channel.pipeline().addLast(std::make_unique<Recorder>("h", events));
    channel.start();
    const ChannelPromise pending = channel->newPromise();
    channel->write(Buffer::copyOf("pending"), pending);
    events.clear();
    channel->onWriteError(fromErrno(EPIPE));
    channel.run();
    EXPECT_TRUE(channel->open());
    EXPECT_EQ(channel.sink->count("shutdownOutput"), 1u);
    EXPECT_THROW(pending.future().sync(), OutputShutdownException);
    channel.deliver({"still reading"});
    EXPECT_EQ(events, (Events{"h:event weft::OutputShutdownEvent", "h:read", "h:readComplete"}));
}

TEST(PipelineErrors, E8_AWriteErrorEndsTheOutputEvenIfTheTransportCannotShutItDown) {
    test::ScriptedChannel channel;
    channel->setOption(ChannelOption::AUTO_CLOSE, false);
    channel.start();
    const ChannelPromise pending = channel->newPromise();
    channel->write(Buffer::copyOf("pending"), pending);
    channel.sink->shutdownError = fromErrno(ENOTCONN);
    channel->onWriteError(fromErrno(EPIPE));
    EXPECT_THROW(pending.future().sync(), OutputShutdownException);
    EXPECT_THROW(channel->writeFuture(Buffer::copyOf("late")).sync(), OutputShutdownException);
}

TEST(PipelineErrors, W8_APromiseThatIsDoneOrForeignOrTheCloseFutureIsRefused) {
    EmbeddedChannel channel;
    EmbeddedChannel other;
    const ChannelPromise done = channel.channel().newPromise();
    done.trySuccess();
    EXPECT_THROW(channel.channel().write(Message(1), done), std::invalid_argument);
    EXPECT_THROW(channel.channel().write(Message(1), other.channel().newPromise()), std::invalid_argument);
    const ChannelPromise cancelled = channel.channel().newPromise();
    cancelled.future().cancel();
    channel.channel().writeAndFlush(Message(1), cancelled);
    channel.runPendingTasks();
    EXPECT_EQ(channel.outboundSize(), 0u);
}

}  // namespace
}  // namespace weft
