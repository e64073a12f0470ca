// ChannelHandler: the base of an application's handlers, which react to the events of a channel and intercept its
// operations. Every method forwards by default; an override that calls no ctx.fireX() or ctx.op() swallows the event
// (P-3).
#pragma once

#include <exception>

#include <weft/pipeline/channel_promise.hpp>
#include <weft/pipeline/message.hpp>
#include <weft/pipeline/socket_address.hpp>

namespace weft {

class ChannelHandlerContext;

// Context: the channel's loop. Callbacks of one channel never overlap and must not block: start a fiber with
// ctx.spawn() for work that does. An exception from an inbound method, from read() or flush(), or from write() with the
// void promise goes to this handler's exceptionCaught(); from any other outbound method it fails the promise
// (E-1..E-3).
// Derive from ChannelInboundHandler, ChannelOutboundHandler or ChannelDuplexHandler. A type with
// `static constexpr bool sharable = true;` may be in several pipelines at once, held by std::shared_ptr.
class ChannelHandler {
  public:
    ChannelHandler() = default;
    ChannelHandler(const ChannelHandler&) = delete;
    ChannelHandler& operator=(const ChannelHandler&) = delete;
    virtual ~ChannelHandler() = default;

    // Called once, before any other callback. Events fired inside it reach this handler. (H-3)
    virtual void handlerAdded(ChannelHandlerContext&) {}
    // Called once, after every other callback, if handlerAdded() was called. The context still forwards. (H-6)
    virtual void handlerRemoved(ChannelHandlerContext&) {}
    // Receives what this handler threw or an earlier one passed on. An exception from here is only logged. (E-4)
    virtual void exceptionCaught(ChannelHandlerContext& ctx, std::exception_ptr cause);

    // Inbound: from the transport towards the tail.
    virtual void channelRegistered(ChannelHandlerContext& ctx);
    virtual void channelUnregistered(ChannelHandlerContext& ctx);
    virtual void channelActive(ChannelHandlerContext& ctx);
    virtual void channelInactive(ChannelHandlerContext& ctx);
    // A message that is not moved from is released when this returns. (RC-2)
    virtual void channelRead(ChannelHandlerContext& ctx, Message&& message);
    virtual void channelReadComplete(ChannelHandlerContext& ctx);
    virtual void userEventTriggered(ChannelHandlerContext& ctx, Message&& event);
    virtual void channelWritabilityChanged(ChannelHandlerContext& ctx);

    // Outbound: from the application towards the transport. A handler that does not pass an operation on must complete
    // its promise.
    virtual void bind(ChannelHandlerContext& ctx, const SocketAddress& local, ChannelPromise promise);
    virtual void connect(ChannelHandlerContext& ctx, const SocketAddress& remote, const SocketAddress* local,
                         ChannelPromise promise);
    virtual void disconnect(ChannelHandlerContext& ctx, ChannelPromise promise);
    virtual void close(ChannelHandlerContext& ctx, ChannelPromise promise);
    virtual void deregister(ChannelHandlerContext& ctx, ChannelPromise promise);
    virtual void read(ChannelHandlerContext& ctx);
    virtual void write(ChannelHandlerContext& ctx, Message&& message, ChannelPromise promise);
    virtual void flush(ChannelHandlerContext& ctx);
};

// Overrides inbound methods only; adding one that overrides an outbound method does not compile.
class ChannelInboundHandler : public ChannelHandler {};
// Overrides outbound methods only; adding one that overrides an inbound method does not compile.
class ChannelOutboundHandler : public ChannelHandler {};
// Overrides both kinds.
class ChannelDuplexHandler : public ChannelHandler {};

}  // namespace weft
