// The operations of a context that bind, connect and close. Each has a promise, which must be usable (W-8), and which
// an exception fails (E-2).
#include <weft/pipeline/channel_handler_context.hpp>

#include <stdexcept>

#include <weft/pipeline/channel.hpp>

#include "context_calls.hpp"

namespace weft {

using detail::Event;

// True when the operation must be dropped silently because its promise has been cancelled (W-8).
[[gnu::cold]] bool ChannelHandlerContext::promiseRefused(const ChannelPromise& promise) const {
    if (promise.isCloseFuture()) throw std::invalid_argument("the close future may not be used as a promise");
    if (!promise.belongsTo(channel_)) throw std::invalid_argument("the promise belongs to another channel");
    if (promise.cancelled()) return true;
    if (promise.done()) throw std::invalid_argument("the promise is already complete");
    return false;
}

// As enter(); once the loop has ended, the close of a closed channel succeeds as it did before (C-1).
template <class F>
[[gnu::noinline]] void ChannelHandlerContext::enterClose(const ChannelPromise& promise, F call) {
    if (detail::entersLoop(channel_.loop())) return enter(promise, std::move(call));
    detail::postOr(channel_, std::move(call),
                   [&](std::exception_ptr cause) { channel_.refuseClose(promise, std::move(cause)); });
}

ChannelFuture ChannelHandlerContext::bind(const SocketAddress& local) {
    ChannelPromise promise = newPromise();
    bind(local, promise);
    return promise.future();
}
ChannelFuture ChannelHandlerContext::connect(const SocketAddress& remote) {
    ChannelPromise promise = newPromise();
    connect(remote, nullptr, promise);
    return promise.future();
}
ChannelFuture ChannelHandlerContext::disconnect() {
    ChannelPromise promise = newPromise();
    disconnect(promise);
    return promise.future();
}
ChannelFuture ChannelHandlerContext::close() {
    ChannelPromise promise = newPromise();
    close(promise);
    return promise.future();
}
ChannelFuture ChannelHandlerContext::deregister() {
    ChannelPromise promise = newPromise();
    deregister(promise);
    return promise.future();
}

void ChannelHandlerContext::bind(const SocketAddress& local, ChannelPromise promise) {
    if (refused(promise)) return;
    if (!entered()) return enter(promise, [this, local, promise] { bind(local, promise); });
    nextOutbound(Event::bind).invokeOutbound(promise, [&](ChannelHandler& handler, ChannelHandlerContext& next) {
        handler.bind(next, local, promise);
    });
}

void ChannelHandlerContext::connect(const SocketAddress& remote, const SocketAddress* local, ChannelPromise promise) {
    if (refused(promise)) return;
    if (!entered()) {
        return enter(promise, [this, remote, hasLocal = local != nullptr, from = local ? *local : SocketAddress(),
                               promise] { connect(remote, hasLocal ? &from : nullptr, promise); });
    }
    nextOutbound(Event::connect).invokeOutbound(promise, [&](ChannelHandler& handler, ChannelHandlerContext& next) {
        handler.connect(next, remote, local, promise);
    });
}

// Passes the handlers as disconnect; the head makes it a close, because a stream has no disconnect (P-6).
void ChannelHandlerContext::disconnect(ChannelPromise promise) {
    if (refused(promise)) return;
    if (!entered()) return enterClose(promise, [this, promise] { disconnect(promise); });
    nextOutbound(Event::disconnect).invokeOutbound(promise, [&](ChannelHandler& handler, ChannelHandlerContext& next) {
        handler.disconnect(next, promise);
    });
}

void ChannelHandlerContext::close(ChannelPromise promise) {
    if (refused(promise)) return;
    if (!entered()) return enterClose(promise, [this, promise] { close(promise); });
    nextOutbound(Event::close).invokeOutbound(promise, [&](ChannelHandler& handler, ChannelHandlerContext& next) {
        handler.close(next, promise);
    });
}

void ChannelHandlerContext::deregister(ChannelPromise promise) {
    if (refused(promise)) return;
    if (!entered()) return enter(promise, [this, promise] { deregister(promise); });
    nextOutbound(Event::deregister).invokeOutbound(promise, [&](ChannelHandler& handler, ChannelHandlerContext& next) {
        handler.deregister(next, promise);
    });
}

}  // namespace weft
