#include "child_fiber.hpp"

#include <exception>
#include <stdexcept>
#include <utility>

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

// A listener may have been made without ChildSetup::makeSink, or its handlers have brought a channel of their own.
FiberSink& sinkOf(Channel& channel) {
    if (auto* const sink = dynamic_cast<FiberSink*>(channel.sink())) return *sink;
    throw std::logic_error("childFiber() serves only the connections that its server's listener has made");
}

}  // namespace

// The connection is closed with the last user of its sink, so also if there is no fiber.
void ChildFiber::channelActive(ChannelHandlerContext& ctx) {
    try {
        start(ctx);
        ctx.fireChannelActive();
    } catch (const std::exception& error) {
        ctx.close(ChannelPromise());
        log(LogLevel::warning, {"a connection was closed, because there is no fiber for it: ", error.what()});
    }
}

void ChildFiber::start(ChannelHandlerContext& ctx) {
    SpawnOptions options = options_;
    options.name = name_;
    // Keeps this handler.
    ctx.spawn([this, user = FiberSink::User(sinkOf(ctx.channel()))] { run(user.sink()); }, options);
}

// What the function throws ends its connection, as a return does.
void ChildFiber::run(FiberSink& sink) {
    Channel& channel = sink.channel();
    if (channel.closed()) return;
    try {
        function_(TcpStream(*channel.loop().carrier(), sink.open()));
    } catch (...) {
        log(LogLevel::debug, {"fiber '", thisFiber::name(), "' of ", channelName(channel),
                              " ended with an exception: ", describe(std::current_exception())});
    }
}

void ChildFiber::userEventTriggered(ChannelHandlerContext& ctx, Message&& event) {
    auto* const sink = dynamic_cast<FiberSink*>(ctx.channel().sink());
    if (sink != nullptr && event.is<DrainStarted>()) sink->drain();
    ctx.fireUserEventTriggered(std::move(event));
}

}  // namespace weft::detail
