// A filter between a channel and its transport: what it holds counts, promises wait for the encoded bytes, and it may
// be added at any time. That the rules of channels hold with one: tests/transports/rules_test.cpp.
#include <weft/pipeline/channel_filter.hpp>

#include <memory>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include <weft/pipeline/channel_errors.hpp>
#include <weft/pipeline/embedded_channel.hpp>
#include <weft/testing/recorder.hpp>

#include "pipeline/scripted_sink.hpp"
#include "pipeline/xor_filter.hpp"

namespace weft {
namespace {

using test::ScriptedChannel;
using test::xored;
using test::XorFilter;

constexpr char key = 0x55;

XorFilter& addXor(ScriptedChannel& channel, char with = key) {
    auto filter = std::make_unique<XorFilter>(with);
    XorFilter& added = *filter;
    channel->addFilter(std::move(filter));
    return added;
}

// Collects what the handlers get.
struct Collector final : ChannelInboundHandler {
    explicit Collector(std::string& log) : log(log) {}
    void channelRead(ChannelHandlerContext&, Message&& message) override { log += message.get<Buffer>().view(); }
    void channelReadComplete(ChannelHandlerContext&) override { log += '.'; }
    std::string& log;
};

TEST(ChannelFilter, ChangesTheBytesOfBothDirections) {
    ScriptedChannel channel;
    std::string log;
    channel.pipeline().addLast<Collector>(log);
    channel.start();
    addXor(channel);
    channel.deliver({xored("ab", key).c_str(), xored("c", key).c_str()});
    EXPECT_EQ(log, "abc.");
    channel->writeAndFlush(Message(Buffer::copyOf("out")));
    channel.run();
    EXPECT_EQ(channel.sink->written, xored("out", key));
    EXPECT_EQ(channel->writtenBytes(), 3u);
}

TEST(ChannelFilter, TheLastOneAddedIsNearestToTheHandlers) {
    ScriptedChannel channel;
    std::string log;
    channel.pipeline().addLast<Collector>(log);
    channel.start();
    addXor(channel, 1).sayGoodbye("lower");
    addXor(channel, 2).sayGoodbye("upper");
    channel->writeAndFlush(Message(Buffer::copyOf("out")));
    channel.run();
    EXPECT_EQ(channel.sink->written, xored("out", 3));
    channel.deliver({xored("in", 3).c_str()});
    EXPECT_EQ(log, "in.");
    channel->close({});
    channel.run();
    EXPECT_EQ(channel.sink->written, xored("out", 3) + xored("upper", 1) + "lower");
}

TEST(ChannelFilter, WhatWasWrittenBeforeIsSentAsItIs) {
    ScriptedChannel channel;
    channel.start();
    channel.sink->room = 2;
    const ChannelPromise promise = channel->newPromise();
    channel->writeAndFlush(Message(Buffer::copyOf("before")), promise);
    channel.run();
    addXor(channel);
    channel->writeAndFlush(Message(Buffer::copyOf("after")));
    channel.run();
    EXPECT_EQ(channel.sink->written, "be");
    EXPECT_FALSE(promise.done());
    channel.sink->room = 1000;
    channel->onWritable();
    channel.run();
    EXPECT_TRUE(promise.done());
    EXPECT_EQ(channel.sink->written, "before" + xored("after", key));
}

// STARTTLS: the filter is added by the listener of the answer's promise, inside the transport's report.
TEST(ChannelFilter, AListenerOfAWriteMayAddIt) {
    ScriptedChannel channel;
    channel.start();
    const ChannelPromise promise = channel->newPromise();
    promise.addListener([&](const ChannelFuture&) {
        addXor(channel);
        channel->writeAndFlush(Message(Buffer::copyOf("after")));
    });
    channel->writeAndFlush(Message(Buffer::copyOf("before")), promise);
    channel.run();
    EXPECT_EQ(channel.sink->written, "before" + xored("after", key));
}

TEST(ChannelFilter, AListenerMayAddItBetweenTwoWritesOfAFlush) {
    ScriptedChannel channel;
    channel.start();
    channel.sink->writesOncePerFlush = true;
    channel.sink->room = 6;
    const ChannelPromise promise = channel->newPromise();
    promise.addListener([&](const ChannelFuture&) {
        channel.sink->room = 1000;
        addXor(channel);
        channel->writeAndFlush(Message(Buffer::copyOf("after")));
    });
    channel->writeAndFlush(Message(Buffer::copyOf("before")), promise);
    channel->writeAndFlush(Message(Buffer::copyOf(" and ")));
    channel.run();
    EXPECT_EQ(channel.sink->written, "before and " + xored("after", key));
}

TEST(ChannelFilter, AListenerMayAddASecondOneInAFlushOfTheFirst) {
    ScriptedChannel channel;
    channel.start();
    addXor(channel, 1);
    const ChannelPromise promise = channel->newPromise();
    promise.addListener([&](const ChannelFuture&) {
        addXor(channel, 2);
        channel->writeAndFlush(Message(Buffer::copyOf("after")));
    });
    channel->writeAndFlush(Message(Buffer::copyOf("before")), promise);
    channel.run();
    EXPECT_EQ(channel.sink->written, xored("before", 1) + xored("after", 3));
}

TEST(ChannelFilter, PromisesOfSentBytesCompleteThoughAListenerAddsIt) {
    ScriptedChannel channel;
    channel.start();
    const ChannelPromise first = channel->newPromise(), second = channel->newPromise();
    first.addListener([&](const ChannelFuture&) { addXor(channel).hold(); });
    channel->write(Message(Buffer::copyOf("a")), first);
    channel->writeAndFlush(Message(Buffer::copyOf("b")), second);
    channel.run();
    EXPECT_EQ(channel.sink->written, "ab");
    EXPECT_TRUE(second.done());
    EXPECT_EQ(channel->pendingBytes(), 0u);
}

// The loop of the test ends only if no flush point is requested again and again.
TEST(ChannelFilter, AFilterThatBeginsToRefuseInAListenerIsLeftAlone) {
    ScriptedChannel channel;
    channel.start();
    XorFilter& filter = addXor(channel);
    const ChannelPromise promise = channel->newPromise();
    promise.addListener([&](const ChannelFuture&) {
        filter.greet("hi");
        filter.hold();
        channel->writeAndFlush(Message(Buffer::copyOf("two")));
    });
    channel->writeAndFlush(Message(Buffer::copyOf("one")), promise);
    channel.run();
    EXPECT_EQ(channel.sink->written, xored("one", key) + "hi");
    filter.pass();
    channel.run();
    EXPECT_EQ(channel.sink->written, xored("one", key) + "hi" + xored("two", key));
}

TEST(ChannelFilter, TheLowerOneMaySendWhileItRefusesTheUpperOnes) {
    ScriptedChannel channel;
    channel.start();
    XorFilter& lower = addXor(channel, 1);
    XorFilter& upper = addXor(channel, 2);
    lower.hold();
    upper.greet("upper");
    upper.hold();
    channel->writeAndFlush(Message(Buffer::copyOf("plain")));
    channel.run();
    EXPECT_EQ(channel.sink->written, "");
    lower.greet("lower");
    channel.run();
    EXPECT_EQ(channel.sink->written, "lower");
    lower.pass();
    upper.pass();
    channel.run();
    EXPECT_EQ(channel.sink->written, "lower" + xored("upper", 1) + xored("plain", 3));
}

TEST(ChannelFilter, ItsOwnBytesDuringASendFollowIt) {
    ScriptedChannel channel;
    channel.start();
    XorFilter& filter = addXor(channel);
    channel.sink->reportsLater = true;
    const std::string large(ChannelFilter::mostEncoded + 1000, 'x');
    channel->writeAndFlush(Message(Buffer::copyOf(large)));
    channel.run();
    const std::size_t first = channel.sink->written.size();
    ASSERT_LT(first, large.size());
    filter.greet("hello");
    channel.run();
    EXPECT_EQ(channel.sink->written.size(), first) << "the sink has not reported";
    channel.sink->reportsLater = false;
    channel->onWritten(first);
    channel.run();
    const std::string encoded = xored(large, key);
    EXPECT_EQ(channel.sink->written, encoded.substr(0, first) + "hello" + encoded.substr(first));
    EXPECT_EQ(channel->pendingBytes(), 0u);
}

TEST(ChannelFilter, GetsTheBytesThatHaveAlreadyArrived) {
    ScriptedChannel channel;
    std::string log;
    channel.pipeline().addLast<Collector>(log);
    channel.start();
    channel->addFilter(std::make_unique<XorFilter>(key), Buffer::copyOf(xored("early", key)));
    EXPECT_EQ(log, "early.");
}

TEST(ChannelFilter, W1_APromiseCompletesWhenItsEncodedBytesAreSent) {
    ScriptedChannel channel;
    channel.start();
    addXor(channel);
    channel.sink->room = 4;
    const ChannelPromise first = channel->newPromise(), second = channel->newPromise();
    channel->writeAndFlush(Message(Buffer::copyOf("abc")), first);
    channel.run();
    EXPECT_TRUE(first.done());
    channel->writeAndFlush(Message(Buffer::copyOf("def")), second);
    channel.run();
    EXPECT_FALSE(second.done());
    EXPECT_GE(channel->pendingBytes(), 2u);
    channel.sink->room = 100;
    channel->onWritable();
    EXPECT_TRUE(second.done());
    EXPECT_EQ(channel->pendingBytes(), 0u);
}

TEST(ChannelFilter, W3_WhatItHoldsCountsForTheWatermarks) {
    ScriptedChannel channel;
    channel.start();
    addXor(channel);
    channel->setOption(ChannelOption::WRITE_BUFFER_WATER_MARK, WriteBufferWaterMark(100, 1000));
    channel.sink->room = 0;
    channel->writeAndFlush(Message(Buffer::copyOf(std::string(2000, 'x'))));
    channel.run();
    EXPECT_FALSE(channel->isWritable());
    channel.sink->room = 10'000;
    channel->onWritable();
    channel.run();
    EXPECT_TRUE(channel->isWritable());
    EXPECT_EQ(channel->pendingBytes(), 0u);
}

TEST(ChannelFilter, WhatAFullSocketDoesNotTakeWaitsAndCounts) {
    ScriptedChannel channel;
    channel.start();
    addXor(channel);
    channel.sink->room = 2;
    channel->writeAndFlush(Message(Buffer::copyOf("hello")));
    channel.run();
    EXPECT_EQ(channel.sink->written, xored("he", key));
    EXPECT_EQ(channel->pendingBytes(), 3u);
    channel->writeAndFlush(Message(Buffer::copyOf(" you")));
    channel.run();
    EXPECT_EQ(channel.sink->written, xored("he", key)) << "the socket is full";
    channel.sink->room = 10;
    channel->onWritable();
    channel.run();
    EXPECT_EQ(channel.sink->written, xored("hello you", key));
    EXPECT_EQ(channel->pendingBytes(), 0u);
}

TEST(ChannelFilter, BytesThatItDoesNotTakeYetWaitInOrder) {
    ScriptedChannel channel;
    channel.start();
    XorFilter& filter = addXor(channel);
    filter.hold();
    const ChannelPromise promise = channel->newPromise();
    channel->writeAndFlush(Message(Buffer::copyOf("one ")), promise);
    channel->writeAndFlush(Message(Buffer::copyOf("two")));
    channel.run();
    filter.greet("hello");
    channel.run();
    EXPECT_EQ(channel.sink->written, "hello");
    EXPECT_FALSE(promise.done());
    filter.pass();
    channel.run();
    EXPECT_EQ(channel.sink->written, "hello" + xored("one two", key));
    EXPECT_TRUE(promise.done());
}

TEST(ChannelFilter, C2_ACloseFailsTheWritesWhoseBytesItHolds) {
    ScriptedChannel channel;
    channel.start();
    addXor(channel);
    channel.sink->room = 0;
    const ChannelPromise encoded = channel->newPromise(), unflushed = channel->newPromise();
    channel->writeAndFlush(Message(Buffer::copyOf("encoded")), encoded);
    channel.run();
    channel->write(Message(Buffer::copyOf("unflushed")), unflushed);
    channel->close({});
    EXPECT_TRUE(encoded.done() && !encoded.future().success());
    EXPECT_TRUE(unflushed.done() && !unflushed.future().success());
    EXPECT_EQ(channel->pendingBytes(), 0u);
}

TEST(ChannelFilter, HC3_TheOutputEndsBehindTheEncodedBytes) {
    ScriptedChannel channel;
    channel.start();
    addXor(channel).sayGoodbye("bye");
    channel->writeAndFlush(Message(Buffer::copyOf("last ")));
    channel->shutdownOutput({});
    EXPECT_EQ(channel.sink->written, xored("last ", key) + "bye");
    EXPECT_EQ(channel.sink->calls.back(), "shutdownOutput");
}

TEST(ChannelFilter, IsRefusedWhereNoBytesPass) {
    EmbeddedChannel embedded;
    EXPECT_THROW(embedded.channel().addFilter(std::make_unique<XorFilter>(key)), std::logic_error);
    ScriptedChannel listener(false);
    listener.sink->listens = true;
    EXPECT_THROW(listener->addFilter(std::make_unique<XorFilter>(key)), std::logic_error);
}

}  // namespace
}  // namespace weft
