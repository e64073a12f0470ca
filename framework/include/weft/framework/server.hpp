// Server: the listeners and live connections made by a bind, and how both end. BindFuture: the outcome of the bind.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include <weft/framework/event_loop_group.hpp>
#include <weft/pipeline/channel_ref.hpp>
#include <weft/pipeline/socket_address.hpp>
#include <weft/scheduler/future.hpp>

namespace weft {

namespace detail {
class ServerState;
}

// A copyable handle; dropping it closes nothing. Context: any thread. It may outlive its groups, whose ends close the
// listeners and connections.
class Server {
  public:
    Server() noexcept = default;  // empty: only valid() may be called
    explicit Server(std::shared_ptr<detail::ServerState> state) noexcept : state_(std::move(state)) {}

    bool valid() const noexcept { return state_ != nullptr; }
    // The address that the listeners are bound to, with the port that the kernel chose for port 0.
    const SocketAddress& localAddress() const noexcept;
    // One listener, or one per loop. Each is an ordinary channel.
    const std::vector<ChannelRef>& listeners() const noexcept;
    // Number of open connections; it may have changed by the time this returns.
    std::size_t liveChildren() const noexcept;

    // Stops accepting; connections stay open. Never blocks; the future completes when every listener is closed.
    Future<void> close();
    // Stops accepting, fires DrainStarted on every connection, and waits up to `timeout` until they are closed. Then it
    // closes the rest, and logs and returns their number. Connections of a loop whose handler does not return count
    // too, but stay open. Blocks the fiber or thread for at most about `timeout` plus a second; throws
    // BlockingOperationException where nothing may block.
    std::size_t drain(Duration timeout = EventLoopGroup::defaultDrainTime);

  private:
    std::shared_ptr<detail::ServerState> state_;
};

// The outcome of ServerBootstrap::bind(). Copyable. Context: any thread.
class BindFuture {
  public:
    explicit BindFuture(Future<Server> future) noexcept : future_(std::move(future)) {}

    bool done() const { return future_.done(); }
    // Waits; throws the failure (SystemError, with the address). Blocks the fiber or thread; throws
    // BlockingOperationException where nothing may block.
    const BindFuture& sync() const {
        future_.get();
        return *this;
    }
    // Waits, but does not throw the failure.
    const BindFuture& await() const {
        future_.await();
        return *this;
    }
    // After done(): the failure, or null.
    std::exception_ptr cause() const { return future_.error(); }
    // The server; waits and throws as sync() does.
    Server channel() const { return future_.get(); }
    const Future<Server>& future() const noexcept { return future_; }

  private:
    Future<Server> future_;
};

}  // namespace weft
