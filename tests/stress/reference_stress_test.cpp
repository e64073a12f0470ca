// References to channels are released on the loop, on another carrier and by a plain thread, while the loop registers
// and closes the channels. Each channel ends once, after its last reference; its handler ends after the last call
// inside it.
#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <utility>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_handler.hpp>
#include <weft/pipeline/channel_handler_context.hpp>
#include <weft/pipeline/context_spawn.hpp>
#include <weft/pipeline/detail/channel_pin.hpp>
#include <weft/scheduler/event_loop.hpp>
#include <weft/scheduler/this_fiber.hpp>
#include <weft/transports/epoll/epoll_io_handler.hpp>

#include <weft/testing/leak_guard.hpp>
#include "pipeline/scripted_sink.hpp"
#include "stress/stress.hpp"

namespace weft::stress {
namespace {

// Outlives the channel of a round. The counts are relaxed: the channel's own operations must order them.
struct Life {
    std::atomic<int> holders{0};
    std::atomic<int> visitors{0};
    std::atomic<int> handlersFreed{0};
    std::atomic<int> ended{0};
    std::atomic<bool> early{false};
    Promise<void> over;
    int uses = 0;  // used by the loop's thread; read at the end
};

// A reference that counts itself.
class Holder {
  public:
    Holder(ChannelRef channel, Life& life) : channel_(std::move(channel)), life_(&life) { enter(); }
    Holder(const Holder& other) : channel_(other.channel_), life_(other.life_) { enter(); }
    Holder(Holder&& other) noexcept : channel_(std::move(other.channel_)), life_(std::exchange(other.life_, nullptr)) {}
    Holder& operator=(Holder) = delete;
    ~Holder() {
        if (life_) life_->holders.fetch_sub(1, std::memory_order_relaxed);
    }
    Channel& operator*() const { return *channel_; }

  private:
    void enter() { life_->holders.fetch_add(1, std::memory_order_relaxed); }

    ChannelRef channel_;
    Life* life_;
};

// A call inside the handler, which may already have been removed.
class Visitor {
  public:
    Visitor(Channel& channel, Life& life) : pin_(channel), life_(&life) {
        life_->visitors.fetch_add(1, std::memory_order_relaxed);
    }
    Visitor(Visitor&& other) noexcept : pin_(std::move(other.pin_)), life_(std::exchange(other.life_, nullptr)) {}
    Visitor& operator=(Visitor&&) = delete;
    ~Visitor() {
        if (life_) life_->visitors.fetch_sub(1, std::memory_order_relaxed);
    }

  private:
    detail::ChannelPin pin_;
    Life* life_;
};

// Has visitors on its own carrier and on another one, and is removed while they are inside.
class Host final : public ChannelInboundHandler {
  public:
    Host(Life& life, Carrier& elsewhere) : life_(life), elsewhere_(elsewhere) {}
    ~Host() override {
        if (life_.visitors.load(std::memory_order_relaxed) != 0) life_.early = true;
        life_.handlersFreed.fetch_add(1, std::memory_order_relaxed);
    }
    void channelActive(ChannelHandlerContext& ctx) override {
        ++life_.uses;
        for (int i = 0; i < 4; ++i) {
            elsewhere_.spawnDetached([visitor = Visitor(ctx.channel(), life_), &loop = ctx.loop()]() mutable {
                thisFiber::yield();
                { const Visitor last = std::move(visitor); }
                loop.execute([] {});  // the last visitor asks a loop that may sleep, and does not wake it
            });
        }
        ctx.spawn([this, &ctx, holder = Holder(ChannelRef(ctx.channel()), life_)] {
            for (int i = 0; i < 4; ++i) {
                const Visitor visitor(ctx.channel(), life_);
                const Visitor another(ctx.channel(), life_);
                thisFiber::yield();
            }
            if (ctx.pipeline().get<Host>() == this) ctx.pipeline().remove(*this);
        });
    }

  private:
    Life& life_;
    Carrier& elsewhere_;
};

// The channel's destructor releases its script, which reports that.
ChannelRef makeChannel(EventLoop& loop, Life& life, Carrier& elsewhere) {
    ChannelRef channel = Channel::create(loop);
    const std::shared_ptr<test::SinkScript> script(new test::SinkScript, [&life](test::SinkScript* ended) {
        if (life.holders.load(std::memory_order_relaxed) != 0) life.early = true;
        delete ended;
        life.ended.fetch_add(1, std::memory_order_relaxed);
        life.over.setValue();
    });
    channel->attach(std::make_unique<test::ScriptedSink>(*channel, script));
    channel->setActive(true);
    channel->pipeline().addLast(std::make_unique<Host>(life, elsewhere));
    return channel;
}

// Holds, copies and passes to the loop references that the loop counts too.
void holdRemotely(Holder holder, EventLoop& loop, Noise& noise) {
    for (int i = 0; i < 3; ++i) {
        const Holder another = holder;
        noise();
        loop.execute([another] { const Holder third = another; });
    }
}

class ReferenceStress : public test::LeakGuard {};

TEST_F(ReferenceStress, AChannelEndsOnceAfterTheLastOfItsHolders) {
    CarrierGroup group(carriers(2));
    EventLoop loop(group.carrier(0), std::make_unique<EpollIoHandler>());
    const Future<void> ended = loop.start();
    {
        Watchdog watchdog(group);
        const std::uint32_t first = seed();
        Noise noise(first);
        Noise remoteNoise(first + 1);
        const std::uint64_t total = rounds(0.1);
        for (std::uint64_t i = 0; i < total; ++i) {
            Life life;
            const Future<void> over = life.over.future();
            auto away = std::make_unique<Holder>(makeChannel(loop, life, group.carrier(1)), life);
            Channel& channel = **away;
            channel.registerWithLoop();
            auto fiber = group.carrier(1).spawn([holder = *away, &loop, &remoteNoise]() mutable {
                holdRemotely(std::move(holder), loop, remoteNoise);
            });
            noise();
            if (noise.next() % 4 == 0) {
                channel.deregister().await();
                channel.registerWithLoop();
            }
            holdRemotely(*away, loop, noise);
            channel.close();
            noise();
            away.reset();
            over.await();
            fiber.join();
            ASSERT_FALSE(life.early) << "somebody held it still";
            ASSERT_EQ(life.ended, 1);
            ASSERT_EQ(life.handlersFreed, 1);
            ASSERT_EQ(life.uses, 1);
            watchdog.advance();
        }
    }
    loop.stop();
    ended.await();
}

}  // namespace
}  // namespace weft::stress
