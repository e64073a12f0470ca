// SocketIoHandler: the interface of every transport with sockets. Bootstraps and the fibers' TcpStream use it.
#pragma once

#include <memory>
#include <utility>

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

struct SocketIoHandler;

// How a listener sets up the channel of an accepted connection.
struct ChildSetup {
    ChildSetup() = default;
    ChildSetup(ChildLoopChooser chooser) noexcept : chooseLoop(std::move(chooser)) {}

    ChildLoopChooser chooseLoop = {};  // unset: connections live on the listener's own loop
    // Makes the sink of `channel` from a connected socket; context as of SocketIoHandler's factories. `sockets` is that
    // of the channel's loop. Null: SocketIoHandler::stream().
    std::unique_ptr<ChannelSink> (*makeSink)(SocketIoHandler& sockets, Fd fd, Channel& channel) = nullptr;
};

// Each factory creates an object that owns `fd`; listener() also sets the default options of a listening socket. `fd`
// is added to the poller later: when the channel is registered, or in the fiber's first call. Context of the factories:
// any thread. They allocate, never block, and close `fd` if they throw (bad_alloc).
struct SocketIoHandler : IoHandler {
    // `fd`: a connected non-blocking socket.
    virtual std::unique_ptr<ChannelSink> stream(Fd fd, Channel& channel) = 0;
    // `fd`: a fresh non-blocking socket, which the sink binds and listens on.
    virtual std::unique_ptr<ChannelSink> listener(Fd fd, Channel& channel, ChildSetup children) = 0;
    std::unique_ptr<ChannelSink> listener(Fd fd, Channel& channel) { return listener(std::move(fd), channel, {}); }
    // `fd`: a fresh non-blocking socket, which the sink connects; after that it is a stream.
    virtual std::unique_ptr<ChannelSink> connector(Fd fd, Channel& channel) = 0;
    // `fd`: a fresh or connected non-blocking socket, for a TcpStream.
    virtual std::unique_ptr<FiberStream> fiberStream(Fd fd) = 0;
    // `fd`: a fresh non-blocking socket, for a TcpListener.
    virtual std::unique_ptr<FiberListener> fiberListener(Fd fd) = 0;
    // `fd`: any descriptor that the kernel can poll; fibers wait for it. See FdWatch.
    virtual std::unique_ptr<FdWatch> watch(Fd fd) = 0;
    // The system-call layer that this handler's sockets must be created through.
    virtual SystemCalls& systemCalls() noexcept = 0;

    const void* family() const noexcept final { return familyTag(); }
    static const void* familyTag() noexcept;

    // Returns `handler`, or what it wraps if it is an IoHandlerDecorator (at any depth), if that is a SocketIoHandler;
    // otherwise null. Context: any thread.
    static SocketIoHandler* in(IoHandler& handler) noexcept;
    // Null when this carrier's poller has no sockets. Context: the carrier.
    static SocketIoHandler* of(Carrier& carrier) noexcept;
    // Null when the loop has no sockets. Context: any thread.
    static SocketIoHandler* of(EventLoop& loop) noexcept;

  protected:
    // Closes the channels of this carrier's event loop that are not in the poller. closeChannels() calls it, after the
    // handler has begun to refuse registrations. Null: no carrier. Context: the carrier.
    static void closeUnpolled(Carrier* carrier) noexcept;
};

}  // namespace weft
