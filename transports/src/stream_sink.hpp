// StreamSink: the part of a connected socket's ChannelSink that does not depend on the transport. How it reads and
// writes is the transport's.
#pragma once

#include <cerrno>
#include <utility>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_promise.hpp>
#include <weft/pipeline/channel_sink.hpp>

#include "socket_properties.hpp"

namespace weft {

// Handle: EpollHandle or UringDepartingHandle; it has attach(), too. Context: the channel's carrier.
template <class Handle>
class StreamSink : public SocketProperties<Handle, ChannelSink> {
  public:
    void registered() override { this->attach(); }
    // A connected socket already has both addresses.
    void bind(const SocketAddress&, ChannelPromise promise) override { promise.tryFailure(fromErrno(EISCONN)); }
    void connect(const SocketAddress&, const SocketAddress*, ChannelPromise promise) override {
        promise.tryFailure(fromErrno(EISCONN));
    }
    // Called when the poller shuts down.
    void closeChannel() noexcept { channel_.close(ChannelPromise()); }

  protected:
    template <class... Arguments>
    explicit StreamSink(Channel& channel, Arguments&&... arguments) noexcept
        : SocketProperties<Handle, ChannelSink>(std::forward<Arguments>(arguments)...), channel_(channel) {}

    Channel& channel_;
};

}  // namespace weft
