#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_option.hpp>
#include <weft/pipeline/context_spawn.hpp>
#include <weft/scheduler/cancellation_shield.hpp>
#include <weft/scheduler/non_suspending_scope.hpp>
#include <weft/testing/recorder.hpp>

#include "hosted_channel.hpp"
#include "scripted_sink.hpp"
#include "support/log_capture.hpp"
#include "support/loop_without_io.hpp"

namespace weft {
namespace {

using test::HostedChannel;
using test::LoopWithoutIo;
using test::ScriptedSink;
using test::SinkScript;

struct ChecksItsLoop final : ChannelDuplexHandler {
    ChecksItsLoop(std::atomic<int>& calls, std::atomic<int>& wrong) : calls_(calls), wrong_(wrong) {}
    void handlerAdded(ChannelHandlerContext& ctx) override {
        if (!ctx.loop().inEventLoop()) ++wrong_;
    }
    void userEventTriggered(ChannelHandlerContext& ctx, Message&&) override { check(ctx); }
    void write(ChannelHandlerContext& ctx, Message&& message, ChannelPromise promise) override {
        check(ctx);
        ctx.write(std::move(message), std::move(promise));
    }
    void check(ChannelHandlerContext& ctx) {
        ++calls_;
        if (inside_ || !ctx.loop().inEventLoop() || !NonSuspendingScope::active()) ++wrong_;
        inside_ = true;
        for (int i = 0; i < 200; ++i) std::atomic_signal_fence(std::memory_order_seq_cst);  // time for an intruder
        inside_ = false;
    }
    std::atomic<int>& calls_;
    std::atomic<int>& wrong_;
    bool inside_ = false;
};

TEST(Threading, TH1_CallbacksForAllCallersRunOnTheLoopAndNeverTwoAtOnce) {
    std::atomic<int> calls{0};
    std::atomic<int> wrong{0};
    {
        HostedChannel channel([&](Channel& inner) { inner.pipeline().addLast<ChecksItsLoop>(calls, wrong); });
        const auto work = [&] {
            for (int i = 0; i < 200; ++i) {
                channel->write(Buffer::copyOf("x"));
                channel->pipeline().fireUserEventTriggered(Message(int{i}));
            }
        };
        std::thread one(work);
        std::thread two(work);
        channel.host.inFiber(work);
        one.join();
        two.join();
        channel.host.inDispatch([] {});
    }
    EXPECT_EQ(calls, 1200);
    EXPECT_EQ(wrong, 0);
}

TEST(Threading, TH2_OperationsOfOneForeignCallerKeepTheirOrder) {
    HostedChannel channel;
    std::string expected;
    for (int i = 0; i < 300; ++i) {
        const std::string text = std::to_string(i) + " ";
        expected += text;
        if (i % 3 == 0) {
            channel->writeAndFlush(Buffer::copyOf(text));
        } else {
            channel->write(Buffer::copyOf(text));
        }
    }
    const ChannelPromise last = channel->newPromise();
    channel->writeAndFlush(Buffer::copyOf("end"), last);
    last.future().sync();
    EXPECT_EQ(channel.sink->written, expected + "end");
}

TEST(Threading, TH2_AFiberOfTheCarrierEntersThePipelineDirectly) {
    HostedChannel channel;
    bool counted = false;
    channel.host.inFiber([&] {
        channel->write(Buffer::copyOf("direct"));
        counted = channel->pendingBytes() == 6;
        channel->flush();
    });
    EXPECT_TRUE(counted) << "the bytes were queued inside the call, without a task";
    channel.host.inDispatch([] {});
}

TEST(Threading, TH2_AHandlerAddedFromAnotherThreadIsAddedByTheLoop) {
    std::atomic<int> calls{0};
    std::atomic<int> wrong{0};
    HostedChannel channel;
    channel->pipeline().addLast<ChecksItsLoop>(calls, wrong);
    channel->pipeline().fireUserEventTriggered(Message(1));
    channel.host.inDispatch([&] { EXPECT_NE(channel->pipeline().get<ChecksItsLoop>(), nullptr); });
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(wrong, 0);
    channel->pipeline().remove<ChecksItsLoop>();
    channel.host.inDispatch([&] { EXPECT_TRUE(channel->pipeline().empty()); });
}

// By then, a descriptor named by another thread may be closed and reused for another file.
TEST(Threading, TH2_ASocketOptionSetFromAnotherThreadIsSetByTheLoop) {
    const test::LogCapture log;
    HostedChannel channel;
    std::atomic<bool> held{false};
    std::atomic<bool> goOn{false};
    channel.host.loop.execute([&] {
        held = true;
        while (!goOn) std::this_thread::yield();
    });
    while (!held) std::this_thread::yield();
    EXPECT_FALSE(channel->setOption(ChannelOption::NO_DELAY, true)) << "what the loop will find is not known yet";
    EXPECT_EQ(channel.sink->optionsSet, 0) << "the loop is busy: nobody else may touch the socket";
    goOn = true;
    channel.host.inDispatch([] {});
    EXPECT_EQ(channel.sink->optionsSet, 1);
    channel.sink->optionError = fromErrno(EINVAL);
    EXPECT_FALSE(channel->setOption(ChannelOption::NO_DELAY, true));
    channel.host.inDispatch([] {});
    EXPECT_EQ(log.count("channel " + std::to_string(channel->id()), "NO_DELAY", "refused"), 1) << log.text();
    ErrorCode inLoop;
    channel.host.inDispatch([&] { inLoop = channel->setOption(ChannelOption::NO_DELAY, true); });
    EXPECT_EQ(inLoop, fromErrno(EINVAL)) << "in the loop it is known at once";
    EXPECT_THROW(channel->option(ChannelOption::NO_DELAY), std::logic_error);
    channel.host.inFiber([&] { EXPECT_TRUE(channel->option(ChannelOption::NO_DELAY)); });
}

TEST(Threading, TH2_ASocketOptionSetAfterTheEndOfItsLoopIsRefused) {
    ChannelRef channel;
    const auto script = std::make_shared<SinkScript>();
    LoopWithoutIo host;
    channel = Channel::create(host.loop);
    channel->attach(std::make_unique<ScriptedSink>(*channel, script));
    EXPECT_FALSE(channel->setOption(ChannelOption::NO_DELAY, true)) << "the builder, before registration";
    EXPECT_EQ(script->optionsSet, 1);
    channel->registerWithLoop().sync();
    channel->close().sync();
    host.inDispatch([] {});
    host.loop.stop();
    host.ended.await();
    EXPECT_EQ(channel->setOption(ChannelOption::NO_DELAY, true), operationAborted());
    EXPECT_EQ(channel->setOption(ChannelOption::AUTO_READ, false), operationAborted());
    EXPECT_EQ(script->optionsSet, 1);
}

TEST(Threading, TH2_AnOperationAfterTheEndOfItsLoopFailsItsPromiseAndALaterCloseSucceeds) {
    const auto host = std::make_unique<LoopWithoutIo>();
    const ChannelRef channel = Channel::create(host->loop);
    channel->attach(std::make_unique<ScriptedSink>(*channel, std::make_shared<SinkScript>()));
    channel->registerWithLoop().sync();
    channel->close().sync();
    host->inDispatch([] {});
    host->loop.stop();
    host->ended.await();
    EXPECT_TRUE(channel->close().success());
    EXPECT_TRUE(channel->disconnect().success());
    const auto life = std::make_shared<int>(0);
    for (const ChannelFuture& refused : {channel->shutdownOutput(), channel->deregister(), channel->bind({}),
                                         channel->writeFuture(Message(std::shared_ptr<int>(life)))}) {
        EXPECT_EQ(refused.error(), operationAborted());
    }
    struct Holds final : ChannelInboundHandler {
        explicit Holds(std::shared_ptr<int> its) : held(std::move(its)) {}
        std::shared_ptr<int> held;
    };
    channel->pipeline().addLast<Holds>(life);
    channel->pipeline().remove<Holds>();
    EXPECT_EQ(life.use_count(), 1);
}

TEST(Threading, TH3_EventLoopFailsBeforeRegistration) {
    LoopWithoutIo host;
    ChannelRef channel = Channel::create(host.loop);
    EXPECT_THROW(channel->eventLoop(), std::logic_error);
    HostedChannel registered;
    EXPECT_EQ(&registered->eventLoop(), &registered.host.loop);
}

TEST(Threading, TH4_AForeignWriteCountsAsPendingAtSubmission) {
    HostedChannel channel;
    // A task keeps the loop busy, so the write cannot have run when the writer checks.
    std::atomic<bool> busy{false};
    std::atomic<bool> goOn{false};
    channel.host.loop.execute([&] {
        busy = true;
        while (!goOn) std::this_thread::yield();
    });
    while (!busy) std::this_thread::yield();
    channel->write(Buffer::copyOf(std::string(1000, 'x')));
    EXPECT_EQ(channel->pendingBytes(), 1032u);
    channel->write(Buffer::copyOf(std::string(70'000, 'x')));
    EXPECT_FALSE(channel->isWritable());
    goOn = true;
    const ChannelPromise last = channel->newPromise();
    channel->writeAndFlush(Buffer::copyOf("."), last);
    last.future().sync();
    channel.host.inDispatch([] {});
    EXPECT_EQ(channel->pendingBytes(), 0u);
    EXPECT_TRUE(channel->isWritable());
}

TEST(Threading, TH5_AForeignWriteWithoutAFlushRunsWithTheNextTurnBeforeLaterTasks) {
    HostedChannel channel;
    const ChannelPromise written = channel->newPromise();
    channel->write(Buffer::copyOf("lazy"), written);
    const auto turn = [&] {
        std::uint64_t number = 0;
        channel.host.inDispatch([&] { number = channel.host.loop.flushPoints(); });
        return number;
    };
    const std::uint64_t after = turn();
    while (turn() == after) continue;  // the flush point of the write's turn has passed
    EXPECT_EQ(channel.sink->written, "");
    EXPECT_EQ(channel->pendingBytes(), 4 + ChannelOutput::entryBytes);
    EXPECT_FALSE(written.done());
    channel->flush();
    written.future().sync();
    EXPECT_EQ(channel.sink->written, "lazy");
}

TEST(Threading, TH4_ARefusedSubmissionReleasesTheMessageAndFailsThePromise) {
    ChannelRef channel;
    auto life = std::make_shared<int>(1);
    auto host = std::make_unique<LoopWithoutIo>();
    channel = Channel::create(host->loop);
    host->loop.stop();
    host->ended.await();
    const ChannelPromise promise = channel->newPromise();
    channel->write(Message(std::shared_ptr<int>(life)), promise);
    EXPECT_EQ(promise.future().error(), operationAborted());
    EXPECT_EQ(life.use_count(), 1);
    EXPECT_EQ(channel->pendingBytes(), 0u);
    channel = nullptr;
}

struct Answers final : ChannelInboundHandler {
    void userEventTriggered(ChannelHandlerContext& ctx, Message&& event) override {
        // A fiber on this connection's carrier: it may block, and the context outlives it.
        ctx.spawn([&ctx, future = event.take<ChannelFuture>()] {
            const CancellationShield shield;
            future.await();
            ctx.writeAndFlush(Buffer::copyOf("answer"));
        });
    }
};

TEST(Threading, ASpawnedFiberMayBlockAndAnswerThroughItsContext) {
    HostedChannel channel([](Channel& inner) { inner.pipeline().addLast<Answers>(); });
    const ChannelPromise awaited = channel->newPromise();
    channel->pipeline().fireUserEventTriggered(Message(awaited.future()));
    channel.host.inDispatch([] {});
    awaited.trySuccess();
    const ChannelPromise last = channel->newPromise();
    channel.host.inFiber([] {});
    channel->writeAndFlush(Buffer::copyOf("."), last);
    last.future().sync();
    EXPECT_NE(channel.sink->written.find("answer"), std::string::npos);
}

TEST(Threading, TheContextOfASpawnedFiberOutlivesTheCloseOfTheChannel) {
    std::atomic<bool> ended{false};
    {
        HostedChannel channel([](Channel& inner) { inner.pipeline().addLast<Answers>(); });
        const ChannelPromise awaited = channel->newPromise();
        channel->pipeline().fireUserEventTriggered(Message(awaited.future()));
        channel.host.inDispatch([] {});
        channel->close().sync();
        channel.host.inDispatch([&] { EXPECT_TRUE(channel->pipeline().empty()); });
        awaited.trySuccess();  // the fiber then writes through its removed context: refused, not a crash
        channel.host.inFiber([&] { ended = true; });
        EXPECT_EQ(channel.sink->written, "");
    }
    EXPECT_TRUE(ended);
}

}  // namespace
}  // namespace weft
