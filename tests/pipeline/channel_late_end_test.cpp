// A channel that closes after its loop has stopped accepting tasks: its tear-down must not run inside an event of its
// sink, because it would destroy the sink there. And handlers that come after the tear-down.
#include <algorithm>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/embedded_channel.hpp>
#include <weft/testing/recorder.hpp>

#include "scripted_sink.hpp"
#include "support/loop_without_io.hpp"

namespace weft {
namespace {

using test::Events;
using test::Recorder;
using test::ScriptedSink;
using test::SinkScript;

// Delivers one read to a channel in the last turn of its loop, after the loop has refused a task.
class LateReader final : public IoHandler {
  public:
    void open(Carrier&) override {}
    PollResult poll(PollGuard* guard, Deadline, Budget) override {
        if (eventDue) {
            eventDue = false;
            channel->onRead(Buffer::copyOf("late"));
            alive = std::count(sink->calls.begin(), sink->calls.end(), "destroyed") == 0;
            eventsInside = *events;
        }
        if (guard != nullptr && guard->enter()) guard->leave();
        return {};
    }
    void wakeup() noexcept override {}
    void prepareToClose() override {}
    bool closable() const noexcept override { return !eventDue; }
    void close() override {}
    const void* family() const noexcept override { return nullptr; }

    Channel* channel = nullptr;
    std::shared_ptr<SinkScript> sink;
    Events* events = nullptr;
    Events eventsInside;
    bool eventDue = false;
    bool alive = false;
};

struct ClosesOnRead final : ChannelInboundHandler {
    void channelRead(ChannelHandlerContext& ctx, Message&& message) override {
        message.reset();
        ctx.close();
    }
};

bool has(const Events& events, const std::string& what) {
    return std::find(events.begin(), events.end(), what) != events.end();
}

// Submits itself as a task in every turn until the loop refuses it.
void repeatUntilRefused(EventLoop& loop, LateReader& io) {
    loop.execute([&loop, &io] {
        try {
            repeatUntilRefused(loop, io);
        } catch (const SystemError&) {
            io.eventDue = true;
        }
    });
}

TEST(ChannelLateEnd, S5_ACloseInTheLastTurnOfItsLoopTearsDownAfterTheSinksEvent) {
    Events events;
    const auto script = std::make_shared<SinkScript>();
    auto handler = std::make_unique<LateReader>();
    LateReader& io = *handler;
    {
        CarrierGroup group(test::oneCarrier());
        EventLoop loop(group.carrier(0), std::move(handler));
        Future<void> ended = loop.start();
        {
            ChannelRef channel = Channel::create(loop);
            channel->attach(std::make_unique<ScriptedSink>(*channel, script));
            channel->setActive(true);
            channel->pipeline().addLast(std::make_unique<Recorder>("h", events));
            channel->pipeline().addLast<ClosesOnRead>();
            channel->registerWithLoop().sync();
            io.channel = channel.get();
        }
        io.sink = script;
        io.events = &events;
        loop.execute([&] { repeatUntilRefused(loop, io); });
        loop.stop();
        ended.await();
        EXPECT_TRUE(io.alive) << "the sink's own function has not returned yet";
        EXPECT_TRUE(has(io.eventsInside, "h:read")) << "the event was delivered";
        EXPECT_FALSE(has(io.eventsInside, "h:inactive")) << "not inside channelRead";
        EXPECT_TRUE(has(events, "h:inactive"));
        EXPECT_TRUE(has(events, "h:unregistered"));
        EXPECT_TRUE(has(events, "h:removed"));
        EXPECT_EQ(script->calls.back(), "destroyed");
    }
}

TEST(ChannelLateEnd, H8_AHandlerAddedAfterTheEndIsDestroyedWithoutACallback) {
    struct Alive final : ChannelInboundHandler {
        explicit Alive(std::shared_ptr<int> its) : life(std::move(its)) {}
        void handlerAdded(ChannelHandlerContext&) override { ++*life; }
        std::shared_ptr<int> life;
    };
    EmbeddedChannel channel;
    channel.close();
    const auto life = std::make_shared<int>(0);
    channel.pipeline().addLast<Alive>(life).addFirst("first", std::make_unique<Alive>(life));
    channel.pipeline().remove("first");
    EXPECT_TRUE(channel.pipeline().empty());
    EXPECT_EQ(*life, 0);
    EXPECT_EQ(life.use_count(), 1);
}

}  // namespace
}  // namespace weft
