// ChannelGroup over embedded channels; over sockets and several carriers: tests/examples/chat_test.cpp.
#include <weft/pipeline/channel_group.hpp>

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <weft/pipeline/codec/string_codec.hpp>
#include <weft/pipeline/embedded_channel.hpp>
#include <weft/pipeline/pipeline.hpp>

#include "scripted_sink.hpp"
#include "support/loop_without_io.hpp"

namespace weft::test {
namespace {

std::string text(EmbeddedChannel& channel) {
    return channel.readOutboundText();
}

TEST(ChannelGroup, HasEachOpenChannelOnce) {
    EmbeddedChannel one;
    EmbeddedChannel two;
    ChannelGroup group;
    EXPECT_TRUE(group.empty());
    EXPECT_TRUE(group.add(one.channel()));
    EXPECT_FALSE(group.add(one.channel()));
    EXPECT_TRUE(group.add(two.channel()));
    EXPECT_EQ(group.size(), 2u);
    EXPECT_TRUE(group.contains(one.channel()));
    EXPECT_EQ(group.find(two.channel().id()).get(), &two.channel());
    EXPECT_FALSE(group.find(0));
    EXPECT_TRUE(group.remove(one.channel()));
    EXPECT_FALSE(group.remove(one.channel()));
    EXPECT_EQ(group.channels(), std::vector<ChannelRef>{ChannelRef(two.channel())});
}

TEST(ChannelGroup, AChannelLeavesWhenItIsClosed) {
    EmbeddedChannel one;
    EmbeddedChannel two;
    ChannelGroup group;
    group.add(one.channel());
    group.add(two.channel());
    one.channel().close();
    one.runPendingTasks();
    EXPECT_FALSE(group.contains(one.channel()));
    EXPECT_EQ(group.size(), 1u);
    EXPECT_FALSE(group.add(one.channel()));
    EXPECT_EQ(group.size(), 1u);
}

TEST(ChannelGroup, AChannelMayOutliveItsGroup) {
    EmbeddedChannel channel;
    {
        ChannelGroup group;
        group.add(channel.channel());
    }
    channel.channel().close();
    channel.runPendingTasks();
    EXPECT_TRUE(channel.channel().closed());
}

TEST(ChannelGroup, WritesToAllOrToThoseThatMatch) {
    EmbeddedChannel one;
    EmbeddedChannel two;
    EmbeddedChannel other;
    ChannelGroup group;
    group.add(one.channel());
    group.add(two.channel());
    const ChannelGroupFuture all = group.writeAndFlush(Buffer::copyOf("to all"));
    for (EmbeddedChannel* each : {&one, &two}) each->runPendingTasks();
    EXPECT_EQ(all.size(), 2u);
    EXPECT_TRUE(all.done());
    EXPECT_TRUE(all.success());
    EXPECT_NO_THROW(all.sync());
    EXPECT_EQ(text(one), "to all");
    EXPECT_EQ(text(two), "to all");
    EXPECT_EQ(text(other), "");
    const Channel* const chosen = &two.channel();
    group.writeAndFlush(Buffer::copyOf("to two"), [chosen](Channel& channel) { return &channel == chosen; });
    for (EmbeddedChannel* each : {&one, &two}) each->runPendingTasks();
    EXPECT_EQ(text(one), "");
    EXPECT_EQ(text(two), "to two");
}

TEST(ChannelGroup, CopiesOtherMessagesForEach) {
    EmbeddedChannel one(std::make_unique<StringEncoder>());
    EmbeddedChannel two(std::make_unique<StringEncoder>());
    ChannelGroup group;
    group.add(one.channel());
    group.add(two.channel());
    group.writeAndFlush(std::string("line"));
    for (EmbeddedChannel* each : {&one, &two}) {
        each->runPendingTasks();
        EXPECT_EQ(text(*each), "line");
    }
}

TEST(ChannelGroup, AWriteWaitsForItsFlush) {
    EmbeddedChannel one;
    ChannelGroup group;
    group.add(one.channel());
    const ChannelGroupFuture written = group.write(Buffer::copyOf("later"));
    one.runPendingTasks();
    EXPECT_FALSE(written.done());
    int told = 0;
    written.addListener([&](const ChannelGroupFuture& future) { told += future.success() ? 1 : 100; });
    group.flush();
    one.runPendingTasks();
    EXPECT_TRUE(written.success());
    EXPECT_EQ(told, 1);
    EXPECT_EQ(text(one), "later");
}

struct RefusesWrites final : ChannelOutboundHandler {
    void write(ChannelHandlerContext&, Message&& message, ChannelPromise promise) override {
        message.reset();
        promise.tryFailure(fromErrno(EIO));
    }
};

TEST(ChannelGroup, TheFutureTellsWhereItFailed) {
    EmbeddedChannel good;
    EmbeddedChannel bad(std::make_unique<RefusesWrites>());
    ChannelGroup group;
    group.add(good.channel());
    group.add(bad.channel());
    const ChannelGroupFuture future = group.writeAndFlush(Buffer::copyOf("x"));
    for (EmbeddedChannel* each : {&good, &bad}) each->runPendingTasks();
    EXPECT_TRUE(future.done());
    EXPECT_FALSE(future.success());
    EXPECT_TRUE(future.partialSuccess());
    ASSERT_EQ(future.failures().size(), 1u);
    EXPECT_EQ(future.failures().front().channel().get(), &bad.channel());
    try {
        future.sync();
        ADD_FAILURE() << "no exception";
    } catch (const ChannelGroupException& error) {
        EXPECT_NE(std::string(error.what()).find("failed for 1 of 2 channels"), std::string::npos) << error.what();
    }
}

TEST(ChannelGroup, ClosesAllOrThoseThatMatch) {
    EmbeddedChannel one;
    EmbeddedChannel two;
    ChannelGroup group;
    group.add(one.channel());
    group.add(two.channel());
    const ChannelGroupFuture allGone = group.closeFuture();
    const Channel* const first = &one.channel();
    const ChannelGroupFuture closed = group.close([first](Channel& channel) { return &channel == first; });
    one.runPendingTasks();
    EXPECT_TRUE(closed.success());
    EXPECT_TRUE(one.channel().closed());
    EXPECT_TRUE(two.channel().open());
    EXPECT_FALSE(allGone.done());
    group.close();
    two.runPendingTasks();
    EXPECT_TRUE(allGone.success());
    EXPECT_TRUE(group.empty());
}

TEST(ChannelGroup, AGroupThatStaysClosedClosesLateMembers) {
    EmbeddedChannel early;
    EmbeddedChannel late;
    ChannelGroup group(true);
    EXPECT_TRUE(group.add(early.channel()));
    group.close();
    EXPECT_FALSE(group.add(late.channel()));
    late.runPendingTasks();
    EXPECT_TRUE(late.channel().closed());
    EXPECT_TRUE(group.empty());
    ChannelGroup again;
    EmbeddedChannel another;
    again.close();
    EXPECT_TRUE(again.add(another.channel()));
}

TEST(ChannelGroup, AnEmptyOneHasNothingToWaitFor) {
    ChannelGroup group;
    EXPECT_TRUE(group.writeAndFlush(Buffer::copyOf("x")).success());
    EXPECT_NO_THROW(group.close().sync());
    EXPECT_FALSE(group.close().partialSuccess());
}

TEST(ChannelGroup, EndsAlthoughTheLoopOfAChannelHasEnded) {
    LoopWithoutIo host;
    const ChannelRef channel = Channel::create(host.loop);
    channel->attach(std::make_unique<ScriptedSink>(*channel, std::make_shared<SinkScript>()));
    channel->registerWithLoop().sync();
    const ChannelPromise pending = channel->newPromise();
    const ChannelGroupFuture waiting({pending.future(), channel->closeFuture()});
    channel->close().sync();
    host.inDispatch([] {});
    host.loop.stop();
    host.ended.await();
    pending.trySuccess();
    EXPECT_TRUE(waiting.done()) << "no listener of the promise is called any more";
    ChannelGroup group;
    EXPECT_FALSE(group.add(*channel));
    EXPECT_TRUE(group.empty());
}

}  // namespace
}  // namespace weft::test
