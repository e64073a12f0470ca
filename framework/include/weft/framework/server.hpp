// Server: what a bind made: its listeners, its live connections, and how both come to an end. BindFuture: the way there.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include <weft/framework/event_loop_group.hpp>
#include <weft/pipeline/channel_ref.hpp>
#include <weft/pipeline/http/server_codec.hpp>
#include <weft/pipeline/socket_address.hpp>
#include <weft/scheduler/future.hpp>

namespace weft {

namespace detail {
class ServerState;
}

// The user event with which a drain begins on every connection: finish what has begun, take nothing new, close. The HTTP
// codec obeys it; a handler of another protocol reacts to it in userEventTriggered(). A connection whose handlers ignore
// it lives until the drain's timeout.
using DrainStarted = http::DrainStarted;

// Copyable handle; dropping it closes nothing. Context: any thread. Lifetime: to be dropped before the group's end.
class Server {
  public:
    Server() noexcept = default;  // empty: only valid() may be called
    explicit Server(std::shared_ptr<detail::ServerState> state) noexcept : state_(std::move(state)) {}

    bool valid() const noexcept { return state_ != nullptr; }
    // The address that the listeners are bound to, with the port that the kernel chose for port 0.
    const SocketAddress& localAddress() const noexcept;
    // One listener, or one per loop. Each is an ordinary channel.
    const std::vector<ChannelRef>& listeners() const noexcept;
    // Connections that are open now; a figure, which may have changed already.
    std::size_t liveChildren() const noexcept;

    // Stops accepting; connections live on. Never blocks; the future completes when every listener is closed.
    Future<void> close();
    // Stops accepting, fires DrainStarted on every connection, waits until they are closed, at most for `timeout`, then
    // closes the rest and logs how many they were. Returns that number. Those of a loop whose handler does not return
    // count, too, and stay open. Blocks the fiber or thread, never longer than about `timeout` plus a second; throws
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
    // Waits, then throws why it failed (SystemError, with the address). Blocks the fiber or thread; throws
    // BlockingOperationException where nothing may block.
    const BindFuture& sync() const {
        future_.get();
        return *this;
    }
    // Waits without throwing the failure.
    const BindFuture& await() const {
        future_.await();
        return *this;
    }
    // After done(): why it failed, or null.
    std::exception_ptr cause() const { return future_.error(); }
    // The server; as sync() when it is not there yet.
    Server channel() const { return future_.get(); }
    const Future<Server>& future() const noexcept { return future_; }

  private:
    Future<Server> future_;
};

}  // namespace weft
