#include "child_fiber.hpp"

#include <exception>
#include <memory>
#include <string>

#include <weft/pipeline/channel_errors.hpp>
#include <weft/pipeline/channel_events.hpp>
#include <weft/pipeline/channel_handler_context.hpp>
#include <weft/pipeline/context_spawn.hpp>
#include <weft/pipeline/detail/lost_writes.hpp>
#include <weft/scheduler/log.hpp>
#include <weft/scheduler/this_fiber.hpp>

#include "fiber_sink.hpp"

namespace weft::detail {

namespace {

FiberSink& sinkOf(Channel& channel) noexcept {
    return static_cast<FiberSink&>(*channel.sink());
}

// Shared by the fiber and its stream, which the function may have given to another one.
struct Users {
    explicit Users(Channel& channel) noexcept : channel(channel) {}
    ~Users() { channel->close(ChannelPromise()); }
    Users(const Users&) = delete;
    Users& operator=(const Users&) = delete;

    const ChannelRef channel;
};

}  // namespace

void ChildFiber::channelActive(ChannelHandlerContext& ctx) {
    try {
        start(ctx);
    } catch (const std::exception& error) {
        log(LogLevel::warning, {"no fiber for ", channelName(ctx.channel()), ", which is closed: ", error.what()});
        return ctx.close(ChannelPromise());
    }
    ctx.fireChannelActive();
}

void ChildFiber::start(ChannelHandlerContext& ctx) {
    SpawnOptions options = options_;
    options.name = name_;
    ctx.spawn([this, &channel = ctx.channel()] { run(channel); }, options);  // keeps its handler and channel
}

// What the function throws ends its connection, as a return does.
void ChildFiber::run(Channel& channel) {
    if (channel.closed()) return;
    const auto users = std::make_shared<Users>(channel);
    try {
        function_(TcpStream(*channel.loop().carrier(), sinkOf(channel).open(users)));
    } catch (...) {
        log(LogLevel::debug, {"fiber '", thisFiber::name(), "' of ", channelName(channel),
                              " ended with an exception: ", describe(std::current_exception())});
    }
}

void ChildFiber::userEventTriggered(ChannelHandlerContext& ctx, Message&& event) {
    if (event.is<DrainStarted>()) sinkOf(ctx.channel()).drain();
    ctx.fireUserEventTriggered(std::move(event));
}

}  // namespace weft::detail
