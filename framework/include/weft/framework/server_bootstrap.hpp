// ServerBootstrap: describes a server, then binds it.
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include <weft/framework/event_loop_group.hpp>
#include <weft/framework/pipeline_setup.hpp>
#include <weft/framework/server.hpp>

namespace weft {

// Who accepts connections, and on which loop they then live.
enum class AcceptMode : unsigned char {
    automatic,  // perLoop when one group of several loops both accepts and serves, else single
    perLoop,    // SO_REUSEPORT: a listener on every loop; its connections stay on that loop, the kernel spreads them
    single,     // one listener; its connections go to the worker loops in turn, or past one that has more fibers waiting
};

// Context: one thread at a time; may bind any number of times, each bind taking a copy of what was said before.
class ServerBootstrap {
  public:
    explicit ServerBootstrap(EventLoopGroup& group) : ServerBootstrap(group, group) {}
    // Listeners on loops of `acceptors`, connections on those of `workers`.
    ServerBootstrap(EventLoopGroup& acceptors, EventLoopGroup& workers) : acceptors_(&acceptors), workers_(&workers) {}

    // Fills the pipeline of each listener: a callable void(Channel&) or a std::shared_ptr of a sharable handler.
    template <class H>
    ServerBootstrap& handler(H&& handler) {
        listener_.setHandler(std::forward<H>(handler));
        return *this;
    }
    // Fills the pipeline of each connection; called on the connection's loop, so on several loops at once.
    template <class H>
    ServerBootstrap& childHandler(H&& handler) {
        child_.setHandler(std::forward<H>(handler));
        return *this;
    }
    // Of the listeners, set before they bind. REUSE_PORT with true also allows to share the port with other processes.
    template <class T>
    ServerBootstrap& option(const TypedChannelOption<T>& option, const std::type_identity_t<T>& value) {
        if (!option.field && option.socket == SocketOption::reusePort) sharesPort_ = static_cast<bool>(value);
        listener_.addOption(option, value);
        return *this;
    }
    // Of each connection, set before it is registered.
    template <class T>
    ServerBootstrap& childOption(const TypedChannelOption<T>& option, const std::type_identity_t<T>& value) {
        child_.addOption(option, value);
        return *this;
    }
    ServerBootstrap& acceptMode(AcceptMode mode) noexcept {
        acceptMode_ = mode;
        return *this;
    }

    // Binds and listens. With port 0 the kernel chooses one for all listeners. Without sharing (REUSE_PORT) a port that
    // another process listens on is refused with EADDRINUSE, also in mode perLoop; of several binds to one port at the
    // same time, in one process or in several, exactly one succeeds. A drain of either group that begins before the
    // bind has ended fails it with operation_aborted. A failure closes everything that this bind has made. Never
    // blocks. Throws std::logic_error without a childHandler and for perLoop with two groups.
    BindFuture bind(const SocketAddress& local);
    // `host` is numeric, "" for any IPv4 address; throws std::invalid_argument quoting it when it is not.
    BindFuture bind(std::string_view host, std::uint16_t port) { return bind(SocketAddress(host, port)); }

  private:
    AcceptMode resolvedMode() const;

    EventLoopGroup* acceptors_;
    EventLoopGroup* workers_;
    AcceptMode acceptMode_ = AcceptMode::automatic;
    bool sharesPort_ = false;
    detail::PipelineSetup listener_;
    detail::PipelineSetup child_;
};

}  // namespace weft
