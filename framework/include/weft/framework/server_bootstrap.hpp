// ServerBootstrap: configures a server and binds it.
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include <weft/framework/event_loop_group.hpp>
#include <weft/framework/pipeline_setup.hpp>
#include <weft/framework/server.hpp>
#include <weft/scheduler/spawn_options.hpp>
#include <weft/scheduler/unique_function.hpp>
#include <weft/transports/tcp_stream.hpp>

namespace weft {

// Which loops accept connections, and on which loop those connections then live.
enum class AcceptMode : unsigned char {
    automatic,  // perLoop when a single group of several loops both accepts and serves, else single
    perLoop,    // SO_REUSEPORT: a listener on every loop; the kernel spreads connections, which stay on that loop
    single,     // one listener; connections go to worker loops in turn, or to a random one with fewer queued fibers
};

// Context: one thread at a time. May bind any number of times; each bind copies the settings made so far.
class ServerBootstrap {
  public:
    explicit ServerBootstrap(EventLoopGroup& group) : ServerBootstrap(group, group) {}
    // Listeners use loops of `acceptors`, connections use loops of `workers`.
    ServerBootstrap(EventLoopGroup& acceptors, EventLoopGroup& workers) : acceptors_(&acceptors), workers_(&workers) {}

    // Fills the pipeline of each listener: a callable void(Channel&) or a std::shared_ptr to a sharable handler.
    template <class H>
    ServerBootstrap& handler(H&& handler) {
        listener_.setHandler(std::forward<H>(handler));
        return *this;
    }
    // Fills the pipeline of each connection. Runs on the connection's loop, so possibly on several loops at once.
    template <class H>
    ServerBootstrap& childHandler(H&& handler) {
        child_.setHandler(std::forward<H>(handler));
        childIsFiber_ = false;
        return *this;
    }
    // In place of a childHandler, the later call counts: `fn`, a callable void(TcpStream), runs in a fiber for each
    // connection, on the connection's carrier, so possibly on several at once. `options` are those of the fibers;
    // `stealable` has no effect. The connection is the server's until `fn` has returned and the stream is gone, which
    // must be destroyed on its carrier; what `fn` throws is a return for it, and is logged at level debug. When a drain
    // begins, a read that waits, or would have to, fails with operation_aborted; all other waits go on. At the drain's
    // time limit, and at the end of the loop, the fiber of `fn` is cancelled and the socket is closed; fibers that `fn`
    // has spawned are not cancelled. Of childOption(), those of the socket have an effect. A handler that writes to the
    // connection's channel closes it.
    template <class F>
    ServerBootstrap& childFiber(F&& fn, const SpawnOptions& options = {}) {
        static_assert(std::is_invocable_r_v<void, std::decay_t<F>&, TcpStream>,
                      "Weft: ServerBootstrap::childFiber() takes a callable void(TcpStream)");
        return setChildFiber(std::forward<F>(fn), options);
    }
    // An option of the listeners, set before they bind. REUSE_PORT = true also lets other processes share the port.
    template <class T>
    ServerBootstrap& option(const TypedChannelOption<T>& option, const std::type_identity_t<T>& value) {
        if (!option.field && option.socket == SocketOption::reusePort) sharesPort_ = static_cast<bool>(value);
        listener_.addOption(option, value);
        return *this;
    }
    // An option of each connection, set before it is registered.
    template <class T>
    ServerBootstrap& childOption(const TypedChannelOption<T>& option, const std::type_identity_t<T>& value) {
        child_.addOption(option, value);
        return *this;
    }
    ServerBootstrap& acceptMode(AcceptMode mode) noexcept {
        acceptMode_ = mode;
        return *this;
    }

    // Binds and listens. With port 0 the kernel chooses one port for all listeners. Without REUSE_PORT, a port that
    // another process listens on fails with EADDRINUSE, also in mode perLoop; of several simultaneous binds to one
    // port, in one process or several, exactly one succeeds. A drain of either group that begins before the bind has
    // ended fails it with operation_aborted. A failed bind closes everything that it made. Never blocks. Throws
    // std::logic_error without a childHandler or childFiber, and for perLoop with two groups.
    BindFuture bind(const SocketAddress& local);
    // `host` is numeric, or "" for any IPv4 address; otherwise throws std::invalid_argument quoting it.
    BindFuture bind(std::string_view host, std::uint16_t port) { return bind(SocketAddress(host, port)); }
    // "ADDR:PORT"; throws as SocketAddress::parse().
    BindFuture bind(std::string_view address) { return bind(SocketAddress::parse(address)); }

  private:
    ServerBootstrap& setChildFiber(UniqueFunction<void(TcpStream)> fn, const SpawnOptions& options);
    AcceptMode resolvedMode() const;

    EventLoopGroup* acceptors_;
    EventLoopGroup* workers_;
    AcceptMode acceptMode_ = AcceptMode::automatic;
    bool sharesPort_ = false;
    bool childIsFiber_ = false;
    detail::PipelineSetup listener_;
    detail::PipelineSetup child_;
};

}  // namespace weft
