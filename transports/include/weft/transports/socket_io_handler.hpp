// SocketIoHandler: what the pipeline's bootstraps and the fibers' TcpStream ask of any transport that has sockets.
#pragma once

#include <memory>

#include <weft/pipeline/channel_sink.hpp>
#include <weft/scheduler/io_handler.hpp>
#include <weft/scheduler/unique_function.hpp>
#include <weft/transports/fd.hpp>
#include <weft/transports/fd_watch.hpp>
#include <weft/transports/fiber_stream.hpp>

namespace weft {

class Channel;

// Names the loop that is to own the next accepted connection. Called on the listener's loop; must not throw. The loop
// must be hosted with a SocketIoHandler and outlive the listener.
using ChildLoopChooser = UniqueFunction<EventLoop&()>;

// The factories may be called on any thread: they make the object and set default options of its socket; the poller is
// touched when the channel is registered, or by the fiber's first call. They allocate, never block, and close `fd` if
// they throw (bad_alloc).
struct SocketIoHandler : IoHandler {
    // A connected socket, non-blocking.
    virtual std::unique_ptr<ChannelSink> stream(Fd fd, Channel& channel) = 0;
    // A fresh non-blocking socket, to bind and to listen on. Without a chooser children live on the listener's own
    // loop.
    virtual std::unique_ptr<ChannelSink> listener(Fd fd, Channel& channel, ChildLoopChooser chooser) = 0;
    std::unique_ptr<ChannelSink> listener(Fd fd, Channel& channel) { return listener(std::move(fd), channel, {}); }
    // A fresh non-blocking socket, to connect; a stream afterwards.
    virtual std::unique_ptr<ChannelSink> connector(Fd fd, Channel& channel) = 0;
    // A fresh or connected non-blocking socket, under TcpStream.
    virtual std::unique_ptr<FiberStream> fiberStream(Fd fd) = 0;
    // A fresh non-blocking socket, under TcpListener.
    virtual std::unique_ptr<FiberListener> fiberListener(Fd fd) = 0;
    // Any descriptor that the kernel can poll, for fibers to wait for: see FdWatch.
    virtual std::unique_ptr<FdWatch> watch(Fd fd) = 0;
    // The layer that this handler's sockets are made through.
    virtual SystemCalls& systemCalls() noexcept = 0;

    const void* family() const noexcept final { return familyTag(); }
    static const void* familyTag() noexcept;

    // The handler itself or, of one that wraps another, the first one inside that has sockets; null: none has. Context:
    // any thread.
    static SocketIoHandler* in(IoHandler& handler) noexcept;
    // Null: the poller of this carrier has no sockets. Context: the carrier.
    static SocketIoHandler* of(Carrier& carrier) noexcept;
    // Null: the loop has no sockets. Context: any thread.
    static SocketIoHandler* of(EventLoop& loop) noexcept;
};

}  // namespace weft
