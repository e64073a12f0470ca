// Bootstrap: describes a client connection, then connects it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include <weft/framework/event_loop_group.hpp>
#include <weft/framework/pipeline_setup.hpp>
#include <weft/pipeline/channel_future.hpp>
#include <weft/pipeline/socket_address.hpp>

namespace weft {

// Context: one thread at a time; may connect any number of times.
class Bootstrap {
  public:
    explicit Bootstrap(EventLoopGroup& group) : group_(&group) {}

    // Fills the pipeline of each connection: a callable void(Channel&), called on the connection's loop, or a
    // std::shared_ptr of a sharable handler.
    template <class H>
    Bootstrap& handler(H&& handler) {
        setup_.setHandler(std::forward<H>(handler));
        return *this;
    }
    // Set before the channel is registered.
    template <class T>
    Bootstrap& option(const TypedChannelOption<T>& option, const std::type_identity_t<T>& value) {
        setup_.addOption(option, value);
        return *this;
    }
    // How long an attempt may take: default 30 s, 0 for ever. Then it fails with ETIMEDOUT.
    Bootstrap& connectTimeout(std::chrono::milliseconds time) { return option(ChannelOption::CONNECT_TIMEOUT, time); }

    // Registers a channel with group.next() (on a carrier: that carrier's own loop), then connects it. The future's
    // channel() is the connection, or null when there was not even a socket; a failure (SystemError with the address)
    // leaves it closed; cancelling the future does, too. Never blocks.
    ChannelFuture connect(const SocketAddress& remote) const;
    // On a loop of the caller's choice, which must have sockets.
    ChannelFuture connect(const SocketAddress& remote, EventLoop& loop) const;
    // `host` is numeric; throws std::invalid_argument quoting it when it is not.
    ChannelFuture connect(std::string_view host, std::uint16_t port) const { return connect(SocketAddress(host, port)); }

  private:
    EventLoopGroup* group_;
    detail::PipelineSetup setup_;
};

}  // namespace weft
