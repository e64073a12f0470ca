// References to a channel and pins of its handlers. The loop counts its own, and all other threads share a second
// count. Releasing the last one, of either count and on any thread, destroys the object.
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_handler.hpp>
#include <weft/pipeline/channel_handler_context.hpp>
#include <weft/pipeline/detail/channel_pin.hpp>

#include "scripted_sink.hpp"
#include "support/loop_without_io.hpp"

namespace weft {
namespace {

using test::IdleIoHandler;
using test::LoopWithoutIo;
using test::oneCarrier;
using test::ScriptedChannel;
using test::ScriptedSink;
using test::SinkScript;

struct Canary final : ChannelInboundHandler {
    explicit Canary(int& freed) : freed_(freed) {}
    ~Canary() override { ++freed_; }
    int& freed_;
};

// A registered channel; `channel` is its only reference besides the loop's own.
struct Fixture {
    std::shared_ptr<SinkScript> sink = std::make_shared<SinkScript>();
    ChannelRef channel;

    explicit Fixture(LoopWithoutIo& host) : channel(Channel::create(host.loop)) {
        channel->attach(std::make_unique<ScriptedSink>(*channel, sink));
        channel->setActive(true);
        channel->registerWithLoop().sync();
        host.inDispatch([] {});  // the task of the registration has released its reference
    }
    std::size_t ended() const { return sink->count("destroyed"); }
};

void close(LoopWithoutIo& host, Channel& channel) {
    channel.close().sync();
    host.inDispatch([] {});  // runs after the tear-down task, which is already queued
}

TEST(ChannelReferences, AnotherThreadReleasesReferencesTakenByTheLoop) {
    LoopWithoutIo host;
    Fixture made(host);
    ChannelRef first, second;
    host.inDispatch([&] { second = first = made.channel; });
    close(host, *made.channel);
    made.channel = {};
    first = {};
    EXPECT_EQ(made.ended(), 0u) << "one is left";
    second = {};
    EXPECT_EQ(made.ended(), 1u);
}

TEST(ChannelReferences, TheLoopReleasesReferencesTakenByAnotherThread) {
    LoopWithoutIo host;
    Fixture made(host);
    ChannelRef first = made.channel, second = made.channel, third = made.channel;
    host.inDispatch([&] { first = second = {}; });
    close(host, *made.channel);
    made.channel = {};
    EXPECT_EQ(made.ended(), 0u) << "one is left";
    third = {};
    EXPECT_EQ(made.ended(), 1u);
}

TEST(ChannelReferences, TheLoopReleasesTheLastReferenceAfterTheClose) {
    LoopWithoutIo host;
    Fixture made(host);
    ChannelRef last = made.channel;
    close(host, *made.channel);
    made.channel = {};
    host.inDispatch([&] {
        EXPECT_EQ(made.ended(), 0u);
        last = {};
        EXPECT_EQ(made.ended(), 1u);
    });
}

TEST(ChannelReferences, TheLoopKeepsAChannelWithoutOtherReferences) {
    LoopWithoutIo host;
    Fixture made(host);
    Channel* const channel = made.channel.get();
    made.channel = {};
    host.inDispatch([&] {
        EXPECT_EQ(made.ended(), 0u);
        channel->close();
    });
    host.inDispatch([] {});
    EXPECT_EQ(made.ended(), 1u);
}

TEST(ChannelReferences, ADeregisteredChannelEndsWithItsLastOne) {
    LoopWithoutIo host;
    Fixture made(host);
    for (int round = 0; round < 2; ++round) {
        ChannelRef fromTheLoop;
        host.inDispatch([&] { fromTheLoop = made.channel; });
        made.channel->deregister().sync();
        host.inDispatch([] {});
        made.channel = std::move(fromTheLoop);
        EXPECT_EQ(made.ended(), 0u);
        if (round == 0) made.channel->registerWithLoop().sync();
        host.inDispatch([] {});
    }
    made.channel = {};
    EXPECT_EQ(made.ended(), 1u);
}

TEST(ChannelReferences, TheyMayOutliveTheLoop) {
    std::optional<LoopWithoutIo> host(std::in_place);
    Fixture made(*host);
    ChannelRef fromTheLoop;
    host->inDispatch([&] { fromTheLoop = made.channel; });
    close(*host, *made.channel);
    host.reset();
    made.channel = {};
    EXPECT_EQ(made.ended(), 0u);
    fromTheLoop = {};
    EXPECT_EQ(made.ended(), 1u);
}

TEST(ChannelReferences, TheyKeepALoopThatASharedPointerOwns) {
    CarrierGroup carriers(oneCarrier());
    auto loop = std::make_shared<EventLoop>(carriers.carrier(0), std::make_unique<IdleIoHandler>());
    const std::weak_ptr<EventLoop> life = loop;
    const Future<void> ended = loop->start();
    ChannelRef channel = Channel::create(*loop);
    loop->stop();
    ended.await();
    loop.reset();
    EXPECT_FALSE(channel->loop().inEventLoop());
    ChannelFuture closed = channel->closeFuture();
    channel = {};
    EXPECT_FALSE(life.expired());
    closed = {};
    EXPECT_TRUE(life.expired());
}

TEST(ChannelReferences, ReferencesToAnEmbeddedChannelMayBeReleasedOnAnyThread) {
    std::optional<ScriptedChannel> embedded(std::in_place);
    embedded->start();
    const std::shared_ptr<SinkScript> sink = embedded->sink;
    ChannelRef last = embedded->channel;
    std::thread([copy = last] { const ChannelRef another = copy; }).join();
    embedded.reset();
    EXPECT_EQ(sink->count("destroyed"), 0u);
    std::thread([last = std::move(last)]() mutable { last = {}; }).join();
    EXPECT_EQ(sink->count("destroyed"), 1u);
}

TEST(ChannelPins, ARemovedHandlerLivesUntilAnotherThreadReleasesTheLastPin) {
    LoopWithoutIo host;
    Fixture made(host);
    int freed = 0;
    for (int round = 1; round <= 2; ++round) {
        std::optional<detail::ChannelPin> here, elsewhere;
        host.inDispatch([&] {
            here.emplace(*made.channel);
            elsewhere.emplace(*made.channel);
            made.channel->pipeline().addLast(std::make_unique<Canary>(freed));
            made.channel->pipeline().remove<Canary>();
        });
        host.inDispatch([&] { here.reset(); });
        EXPECT_EQ(freed, round - 1) << "one is left";
        elsewhere.reset();
        host.inDispatch([] {});
        EXPECT_EQ(freed, round);
    }
    close(host, *made.channel);
}

TEST(ChannelPins, ARemovedHandlerIsDestroyedWhenTheLoopReleasesTheLastPin) {
    LoopWithoutIo host;
    Fixture made(host);
    int freed = 0;
    std::optional<detail::ChannelPin> here, elsewhere;
    host.inDispatch([&] {
        here.emplace(*made.channel);
        elsewhere.emplace(*made.channel);
        made.channel->pipeline().addLast(std::make_unique<Canary>(freed));
        made.channel->pipeline().remove<Canary>();
    });
    elsewhere.reset();
    host.inDispatch([&] {
        EXPECT_EQ(freed, 0) << "one is left";
        here.reset();
        EXPECT_EQ(freed, 1);
    });
    close(host, *made.channel);
}

TEST(ChannelPins, ReleasedPinsKeepNoHandler) {
    LoopWithoutIo host;
    Fixture made(host);
    int freed = 0;
    std::optional<detail::ChannelPin> here, elsewhere;
    host.inDispatch([&] {
        here.emplace(*made.channel);
        elsewhere.emplace(*made.channel);
    });
    elsewhere.reset();
    host.inDispatch([&] {
        here.reset();
        made.channel->pipeline().addLast(std::make_unique<Canary>(freed));
        made.channel->pipeline().remove<Canary>();
        EXPECT_EQ(freed, 1);
    });
    close(host, *made.channel);
}

TEST(ChannelPins, PinsOfAnEmbeddedChannelMayBeReleasedOnAnyThread) {
    ScriptedChannel embedded;
    embedded.start();
    int freed = 0;
    for (int round = 1; round <= 2; ++round) {
        std::optional<detail::ChannelPin> pin(std::in_place, *embedded.channel);
        embedded.pipeline().addLast(std::make_unique<Canary>(freed));
        embedded.pipeline().remove<Canary>();
        EXPECT_EQ(freed, round - 1) << "one is left";
        std::thread([&] { pin.reset(); }).join();
        embedded.run();
        EXPECT_EQ(freed, round);
    }
}

}  // namespace
}  // namespace weft
