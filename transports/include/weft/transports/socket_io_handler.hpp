// SocketIoHandler: the interface of every transport with sockets. Bootstraps and the fibers' TcpStream use it.
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

// Returns the loop that will own the next accepted connection. Context: the listener's loop. Must not throw. The loop
// must be hosted with a SocketIoHandler and outlive the listener.
using ChildLoopChooser = UniqueFunction<EventLoop&()>;

// The factories create the object and set default options on its socket. The handle joins the poller later: when the
// channel is registered, or in the fiber's first call. Context of the factories: any thread. They allocate, never
// block, and close `fd` if they throw (bad_alloc).
struct SocketIoHandler : IoHandler {
    // A connected non-blocking socket.
    virtual std::unique_ptr<ChannelSink> stream(Fd fd, Channel& channel) = 0;
    // A fresh non-blocking socket, which the sink binds and listens on. Without a chooser, connections live on the
    // listener's own loop.
    virtual std::unique_ptr<ChannelSink> listener(Fd fd, Channel& channel, ChildLoopChooser chooser) = 0;
    std::unique_ptr<ChannelSink> listener(Fd fd, Channel& channel) { return listener(std::move(fd), channel, {}); }
    // A fresh non-blocking socket, which the sink connects; after that it is a stream.
    virtual std::unique_ptr<ChannelSink> connector(Fd fd, Channel& channel) = 0;
    // A fresh or connected non-blocking socket, for a TcpStream.
    virtual std::unique_ptr<FiberStream> fiberStream(Fd fd) = 0;
    // A fresh non-blocking socket, for a TcpListener.
    virtual std::unique_ptr<FiberListener> fiberListener(Fd fd) = 0;
    // Any descriptor that the kernel can poll; fibers wait for it. See FdWatch.
    virtual std::unique_ptr<FdWatch> watch(Fd fd) = 0;
    // The system-call layer that this handler's sockets must be created through.
    virtual SystemCalls& systemCalls() noexcept = 0;

    const void* family() const noexcept final { return familyTag(); }
    static const void* familyTag() noexcept;

    // Returns `handler` itself, or the first handler inside a wrapper that has sockets, or null when none has. Context:
    // any thread.
    static SocketIoHandler* in(IoHandler& handler) noexcept;
    // Null when this carrier's poller has no sockets. Context: the carrier.
    static SocketIoHandler* of(Carrier& carrier) noexcept;
    // Null when the loop has no sockets. Context: any thread.
    static SocketIoHandler* of(EventLoop& loop) noexcept;
};

}  // namespace weft
