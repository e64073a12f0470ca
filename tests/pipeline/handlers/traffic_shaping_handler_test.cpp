#include <weft/pipeline/handlers/traffic_shaping_handler.hpp>

#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <weft/pipeline/channel_errors.hpp>
#include <weft/pipeline/channel_option.hpp>
#include <weft/scheduler/timer_wheel.hpp>
#include <weft/testing/recorder.hpp>

#include "../scripted_sink.hpp"

namespace weft {
namespace {

using namespace std::chrono_literals;
using test::ScriptedChannel;

// ---- the bucket ----

constexpr TimePoint start = TimePoint(1h);

TEST(TokenBucket, ABurstPassesAndThenTheRateHolds) {
    TokenBucket bucket(1000, 500);
    EXPECT_EQ(bucket.delay(start), 0s);
    bucket.take(499, start);
    EXPECT_EQ(bucket.delay(start), 0s) << "a token is left";
    bucket.take(1, start);
    EXPECT_EQ(bucket.delay(start), 1ns) << "empty: until the first part of a token is back";
    bucket.take(1000, start);
    EXPECT_EQ(bucket.delay(start), 1s + 1ns);
    EXPECT_EQ(bucket.delay(start + 400ms), 600ms + 1ns);
    EXPECT_EQ(bucket.delay(start + 1s + 1ns), 0s);
}

TEST(TokenBucket, APauseFillsItNoFurtherThanTheBurst) {
    TokenBucket bucket(1000, 500);
    bucket.take(500, start);
    bucket.take(1500, start + 1h);
    EXPECT_EQ(bucket.delay(start + 1h), 1s + 1ns);
}

TEST(TokenBucket, ExtremesDoNotOverflow) {
    TokenBucket slow(1, 1);
    for (int i = 0; i < 100; ++i) slow.take(~std::uint64_t{0}, start);
    EXPECT_GT(slow.delay(start), 24h * 365);
    TokenBucket fast(TokenBucket::mostBytesPerSecond, 1);
    fast.take(1000, start);
    EXPECT_LE(fast.delay(start), 2ns);
    EXPECT_THROW(TokenBucket(0), std::invalid_argument);
    EXPECT_THROW(TokenBucket(TokenBucket::mostBytesPerSecond + 1), std::invalid_argument);
    EXPECT_THROW(TokenBucket(1, 0), std::invalid_argument);
}

TEST(TokenBucket, WhatManyThreadsTakeAddsUp) {
    TokenBucket bucket(1000, 1);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] {
            for (int j = 0; j < 10'000; ++j) bucket.take(1, start);
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(bucket.delay(start), 39'999ms + 1ns);
}

// ---- the handler ----

struct Shaped {
    template <class Limits>
    explicit Shaped(Limits limits) {
        channel.pipeline().addLast<TrafficShapingHandler>(limits);
        channel.start();
    }
    void write(std::size_t bytes, ChannelPromise promise = {}) {
        channel->writeAndFlush(Message(Buffer::copyOf(std::string(bytes, 'x'))), std::move(promise));
        channel.run();
    }
    // Bytes written once `time` has passed.
    std::size_t after(Duration time) {
        if (time > 0s) channel.clock.advance(time + TimerWheel::tick);  // a timer may be late by one tick
        channel.run();
        return channel.sink->written.size();
    }
    TrafficShapingHandler& handler() { return *channel.pipeline().get<TrafficShapingHandler>(); }
    ScriptedChannel channel;
};

TEST(TrafficShapingHandler, WritesLeaveAtTheRateAfterABurst) {
    Shaped test(TrafficLimits{.write = 1000, .burst = 1000});
    for (int i = 0; i < 50; ++i) test.write(100);
    EXPECT_EQ(test.after(0s), 1000u);
    EXPECT_EQ(test.after(1s), 2000u);
    EXPECT_EQ(test.after(1s), 3000u);
    EXPECT_EQ(test.handler().queuedBytes(), 2000u);
    EXPECT_EQ(test.after(1s), 4000u);
    EXPECT_EQ(test.after(1s), 5000u);
    EXPECT_EQ(test.handler().queuedBytes(), 0u);
}

TEST(TrafficShapingHandler, ALargeMessagePassesWholeAndIsPaidForAfterwards) {
    Shaped test(TrafficLimits{.write = 1000, .burst = 100});
    test.write(5000);
    test.write(1);
    EXPECT_EQ(test.after(0s), 5000u);
    EXPECT_EQ(test.after(4899ms), 5000u);
    EXPECT_EQ(test.after(2ms), 5001u);
}

TEST(TrafficShapingHandler, PromisesCompleteWhenTheBytesHaveLeftAndInOrder) {
    Shaped test(TrafficLimits{.write = 1000, .burst = 1});
    std::vector<int> order;
    for (int i = 0; i < 3; ++i) {
        ChannelPromise promise = test.channel->newPromise();
        promise.addListener([&order, i](const ChannelFuture&) { order.push_back(i); });
        test.write(1000, promise);
    }
    EXPECT_EQ(order, std::vector{0});
    test.after(1s);
    EXPECT_EQ(order, (std::vector{0, 1}));
    test.after(1s);
    EXPECT_EQ(order, (std::vector{0, 1, 2}));
}

TEST(TrafficShapingHandler, WhatHasNotBeenFlushedDoesNotLeave) {
    Shaped test(TrafficLimits{.write = 1000, .burst = 100});
    test.write(200);
    test.channel->write(Message(Buffer::copyOf("later")));
    EXPECT_EQ(test.after(10s), 200u);
    test.channel->write(Message(Buffer::copyOf("!")));
    test.channel->flush();
    EXPECT_EQ(test.after(0s), 206u);
    EXPECT_EQ(test.channel.sink->written.substr(200), "later!") << "nor does anything overtake it";
}

TEST(TrafficShapingHandler, W3_TheChannelIsNotWritableWhileMuchWaits) {
    Shaped test(TrafficLimits{.write = 1000, .burst = 1});
    test.write(1);
    test.write(TrafficShapingHandler::mostQueuedBytes - ChannelOutput::entryBytes);  // the overhead counts too
    EXPECT_TRUE(test.channel->isWritable());
    test.write(1000);
    EXPECT_FALSE(test.channel->isWritable());
    test.after(1s);  // the large write leaves
    EXPECT_TRUE(test.channel->isWritable());
    test.write(TrafficShapingHandler::mostQueuedBytes);
    EXPECT_FALSE(test.channel->isWritable());
    test.channel.pipeline().remove<TrafficShapingHandler>();
    EXPECT_TRUE(test.channel->isWritable());
}

TEST(TrafficShapingHandler, R2_ReadingWaitsUntilWhatCameHasBeenPaidFor) {
    Shaped test(TrafficLimits{.read = 1000, .burst = 100});
    EXPECT_TRUE(test.channel.sink->wantsRead);
    test.channel.deliver({std::string(2100, 'x').c_str()});
    EXPECT_FALSE(test.channel.sink->wantsRead);
    test.after(1999ms);
    EXPECT_FALSE(test.channel.sink->wantsRead);
    test.after(2ms);
    EXPECT_TRUE(test.channel.sink->wantsRead);
}

TEST(TrafficShapingHandler, R3_AnAutomaticReadIsTakenBackWithAutoRead) {
    Shaped test(TrafficLimits{.read = 1000, .burst = 100});
    test.channel.deliver({std::string(2100, 'x').c_str()});
    test.channel->setOption(ChannelOption::AUTO_READ, false);
    test.after(10s);
    EXPECT_FALSE(test.channel.sink->wantsRead);
    test.channel->read();
    EXPECT_TRUE(test.channel.sink->wantsRead);
    test.channel.deliver({std::string(2100, 'x').c_str()});
    test.channel->read();
    EXPECT_FALSE(test.channel.sink->wantsRead);
    test.after(10s);
    EXPECT_TRUE(test.channel.sink->wantsRead) << "a read() that somebody called is only late";
}

TEST(TrafficShapingHandler, C5_ACloseAndARemovalPutOutWhatWasFlushed) {
    for (const bool disconnects : {false, true}) {
        Shaped closed(TrafficLimits{.write = 1000, .burst = 1});
        for (int i = 0; i < 3; ++i) closed.write(100);
        ChannelPromise lost = closed.channel->newPromise();
        closed.channel->write(Message(Buffer::copyOf("lost")), lost);
        disconnects ? closed.channel->disconnect() : closed.channel->close();
        closed.channel.run();
        EXPECT_EQ(closed.channel.sink->written.size(), 300u);
        EXPECT_THROW(lost.future().sync(), ClosedChannelException);
    }

    Shaped removed(TrafficLimits{.write = 1000, .burst = 1});
    for (int i = 0; i < 3; ++i) removed.write(100);
    removed.channel.pipeline().remove<TrafficShapingHandler>();
    removed.channel.run();
    EXPECT_EQ(removed.channel.sink->written.size(), 300u);
}

TEST(TrafficShapingHandler, SharedBucketsLimitAllConnectionsTogether) {
    const SharedTraffic shared{nullptr, std::make_shared<TokenBucket>(1000, 1000)};
    Shaped first(shared);
    Shaped second(shared);
    first.write(600);
    second.write(600);
    first.write(100);
    second.write(100);
    EXPECT_EQ(first.after(0s), 600u);
    EXPECT_EQ(second.after(0s), 600u);
    EXPECT_EQ(first.after(201ms), 700u);
    EXPECT_EQ(second.after(201ms), 600u) << "the first took what there was";
    EXPECT_EQ(second.after(100ms), 700u);
}

TEST(TrafficShapingHandler, WithoutLimitsEverythingPassesAndBadOnesAreRefused) {
    Shaped test(TrafficLimits{});
    test.write(1'000'000);
    EXPECT_EQ(test.after(0s), 1'000'000u);
    EXPECT_THROW(TrafficShapingHandler(TrafficLimits{}, 0), std::invalid_argument);
    EXPECT_THROW(TrafficShapingHandler(TrafficLimits{}, 32), std::invalid_argument);
    EXPECT_THROW(TrafficShapingHandler(TrafficLimits{.read = TokenBucket::mostBytesPerSecond + 1}),
                 std::invalid_argument);
}

}  // namespace
}  // namespace weft
