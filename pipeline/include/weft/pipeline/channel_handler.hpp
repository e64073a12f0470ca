// ChannelHandler: what an application writes: reacts to the events of a channel and intercepts its operations. Every
// method forwards by default; not calling ctx.fireX() or ctx.op() in an override swallows the event. (P-3)
#pragma once

#include <exception>

#include <weft/pipeline/channel_promise.hpp>
#include <weft/pipeline/message.hpp>
#include <weft/pipeline/socket_address.hpp>

namespace weft {

class ChannelHandlerContext;

// Context: the channel's loop, never two at once, and nothing may block: spawn a fiber for that (ctx.spawn()). A throw
// from an inbound method or from read() and flush() comes to this handler's exceptionCaught(); a throw from another
// outbound method fails its promise (E-1..E-3).
// Derive from ChannelInboundHandler, ChannelOutboundHandler or ChannelDuplexHandler. A type with
// `static constexpr bool sharable = true;` may be in several pipelines at once, held by std::shared_ptr.
class ChannelHandler {
  public:
    ChannelHandler() = default;
    ChannelHandler(const ChannelHandler&) = delete;
    ChannelHandler& operator=(const ChannelHandler&) = delete;
    virtual ~ChannelHandler() = default;

    // Once, before any other callback; events fired from inside reach this handler. (H-3)
    virtual void handlerAdded(ChannelHandlerContext&) {}
    // Once, after every other callback, if handlerAdded() ran. The context still forwards. (H-6)
    virtual void handlerRemoved(ChannelHandlerContext&) {}
    // What this handler threw, or what one before it passed on. A throw from here is logged and goes no further. (E-4)
    virtual void exceptionCaught(ChannelHandlerContext& ctx, std::exception_ptr cause);

    // Inbound: from the transport towards the tail.
    virtual void channelRegistered(ChannelHandlerContext& ctx);
    virtual void channelUnregistered(ChannelHandlerContext& ctx);
    virtual void channelActive(ChannelHandlerContext& ctx);
    virtual void channelInactive(ChannelHandlerContext& ctx);
    // A message that is not moved on is released when this returns. (RC-2)
    virtual void channelRead(ChannelHandlerContext& ctx, Message&& message);
    virtual void channelReadComplete(ChannelHandlerContext& ctx);
    virtual void userEventTriggered(ChannelHandlerContext& ctx, Message&& event);
    virtual void channelWritabilityChanged(ChannelHandlerContext& ctx);

    // Outbound: from the application towards the transport. Who does not pass an operation on completes its promise.
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
