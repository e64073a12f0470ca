// Bootstrap: configures client connections and connects them.
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

// Context: one thread at a time. May connect any number of times.
class Bootstrap {
  public:
    explicit Bootstrap(EventLoopGroup& group) : group_(&group) {}

    // Fills the pipeline of each connection: a callable void(Channel&), which runs on the connection's loop, or a
    // std::shared_ptr to a sharable handler.
    template <class H>
    Bootstrap& handler(H&& handler) {
        setup_.setHandler(std::forward<H>(handler));
        return *this;
    }
    // Applied before the channel is registered.
    template <class T>
    Bootstrap& option(const TypedChannelOption<T>& option, const std::type_identity_t<T>& value) {
        setup_.addOption(option, value);
        return *this;
    }
    // Limit for one attempt, excluding name resolution: default 30 s, 0 for none. A late attempt fails with ETIMEDOUT.
    Bootstrap& connectTimeout(std::chrono::milliseconds time) { return option(ChannelOption::CONNECT_TIMEOUT, time); }
    // Local address of the connections; port 0 lets the kernel choose the port. Default: the kernel chooses both.
    Bootstrap& localAddress(const SocketAddress& local) noexcept {
        local_ = local;
        return *this;
    }
    // Retries an attempt up to `times` times, each after `pause`, when it was refused, reset or timed out, or the host
    // was unreachable. A name is retried after all its addresses have failed, at least one of them in such a way.
    // Default: 0. Throws std::invalid_argument for more than mostRetries times or a negative pause.
    Bootstrap& retry(unsigned times, Duration pause = std::chrono::milliseconds(100));
    static constexpr unsigned mostRetries = 1'000'000;
    // The resolver for names; default Resolver::system(). It must outlive the connects.
    Bootstrap& resolver(Resolver& resolver) noexcept {
        resolver_ = &resolver;
        return *this;
    }

    // Registers a channel with group.next() (on a carrier: that carrier's own loop) and connects it. The future's
    // channel() is the connection, or null when no socket could be created. A failure (SystemError with the address) or
    // cancelling the future closes the channel. A connection of the socket to itself fails with ECONNREFUSED. With
    // retry(), each attempt has its own channel, and channel() is null until one is connected. Never blocks.
    ChannelFuture connect(const SocketAddress& remote) const { return connect(remote, group_->next()); }
    // As above, on the given loop, which must have sockets.
    ChannelFuture connect(const SocketAddress& remote, EventLoop& loop) const;
    // A numeric `host` is connected to as above. A name is resolved without blocking (Resolver), and its addresses are
    // tried until one connects (RFC 8305): families alternate, and the next attempt begins once one has failed, or
    // 250 ms after the one before, beside it. Each has its own channel; that of the first that connects is the future's
    // channel(), which is null until then, and the others are closed. A failure has the code of the attempt that failed
    // last, and lists the host and each address with its error. Throws std::invalid_argument, quoting `host`, when it
    // can be neither.
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
