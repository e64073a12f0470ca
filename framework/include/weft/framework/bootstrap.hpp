// Bootstrap: describes a client connection, then connects it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include <weft/framework/event_loop_group.hpp>
#include <weft/framework/pipeline_setup.hpp>
#include <weft/framework/resolver.hpp>
#include <weft/pipeline/channel_future.hpp>
#include <weft/pipeline/socket_address.hpp>

namespace weft {

namespace detail {
struct ConnectPlan;
}

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
    // How long an attempt may take, the resolution of a name not counted: default 30 s, 0 for ever. Then it fails with
    // ETIMEDOUT.
    Bootstrap& connectTimeout(std::chrono::milliseconds time) { return option(ChannelOption::CONNECT_TIMEOUT, time); }
    // Where connections come from; port 0 lets the kernel choose one. Default: the kernel chooses both.
    Bootstrap& localAddress(const SocketAddress& local) noexcept {
        local_ = local;
        return *this;
    }
    // When an attempt is refused, reset or timed out, or its host unreachable (for a name: at the last of its
    // addresses): tries up to `times` times more, each after `pause`. Default: 0. Throws std::invalid_argument for more
    // than mostRetries times, or a negative pause.
    Bootstrap& retry(unsigned times, Duration pause = std::chrono::milliseconds(100));
    static constexpr unsigned mostRetries = 1'000'000;
    // Who resolves names; default Resolver::system(). It must outlive the connects.
    Bootstrap& resolver(Resolver& resolver) noexcept {
        resolver_ = &resolver;
        return *this;
    }

    // Registers a channel with group.next() (on a carrier: that carrier's own loop), then connects it. The future's
    // channel() is the connection, or null when there was not even a socket; a failure (SystemError with the address)
    // leaves it closed; cancelling the future does, too. A connection of the socket to itself fails with ECONNREFUSED.
    // With retry(), each attempt has a channel of its own, and channel() is null until one is connected. Never blocks.
    ChannelFuture connect(const SocketAddress& remote) const;
    // On a loop of the caller's choice, which must have sockets.
    ChannelFuture connect(const SocketAddress& remote, EventLoop& loop) const;
    // `host` is numeric (as above), or a name: that is resolved without blocking (Resolver), and its addresses are
    // tried in turn until one connects. The future's channel() is null until then; a failure names the host, and each
    // address with its error. Throws std::invalid_argument quoting what can be neither.
    ChannelFuture connect(std::string_view host, std::uint16_t port) const;

  private:
    detail::ConnectPlan plan() const;

    EventLoopGroup* group_;
    detail::PipelineSetup setup_;
    SocketAddress local_;
    unsigned retries_ = 0;
    Duration pause_{};
    Resolver* resolver_ = &Resolver::system();
};

}  // namespace weft
