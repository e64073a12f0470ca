#include <weft/framework/bootstrap.hpp>

#include <stdexcept>

#include <weft/pipeline/channel_promise.hpp>
#include <weft/transports/socket_io_handler.hpp>
#include <weft/transports/tcp_socket.hpp>

namespace weft {

namespace {

// B-3: whatever throws, the descriptor has an owner.
ChannelRef makeConnection(const detail::PipelineSetup& setup, EventLoop& loop, int family) {
    SocketIoHandler* sockets = SocketIoHandler::of(loop);
    if (!sockets) throw std::logic_error("Bootstrap::connect() on an event loop without sockets");
    Fd fd = openTcpSocket(family, sockets->systemCalls());
    ChannelRef channel = Channel::create(loop);
    channel->attach(sockets->connector(std::move(fd), *channel));
    setup.applyOptions(*channel);
    if (setup.hasHandler()) channel->pipeline().addLast([setup](Channel& itself) { setup.fill(itself); });
    return channel;
}

}  // namespace

ChannelFuture Bootstrap::connect(const SocketAddress& remote) const { return connect(remote, group_->next()); }

ChannelFuture Bootstrap::connect(const SocketAddress& remote, EventLoop& loop) const {
    ChannelRef channel;
    try {
        channel = makeConnection(setup_, loop, remote.family());
    } catch (...) {
        const ChannelPromise failed = ChannelPromise::detached();
        failed.tryFailure(std::current_exception());
        return failed.future();
    }
    ChannelPromise connected = channel->newPromise();
    channel->registerWithLoop().addListener([channel, connected, remote](const ChannelFuture& registered) {
        if (registered.success()) {
            channel->connect(remote, nullptr, connected);
        } else {
            connected.tryFailure(registered.cause());
        }
    });
    return connected.future();
}

}  // namespace weft
