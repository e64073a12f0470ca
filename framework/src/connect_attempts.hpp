// ConnectAttempts: one Bootstrap::connect() that may take several attempts: the addresses of a name (RFC 8305) and,
// with retry(), the same again after a pause. Each attempt has its own channel; the first that connects is the result.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <weft/framework/pipeline_setup.hpp>
#include <weft/framework/resolver.hpp>
#include <weft/pipeline/channel_promise.hpp>
#include <weft/scheduler/event_loop.hpp>

namespace weft::detail {

// The bootstrap's settings for its connections.
struct ConnectPlan {
    PipelineSetup setup;
    SocketAddress local;  // empty: the kernel chooses
    unsigned rounds = 1;
    Duration pause{};  // between rounds
};

// Makes a channel on the loop and connects it. The future's channel() is null when no socket could be created.
ChannelFuture connectOnce(const ConnectPlan& plan, EventLoop& loop, const SocketAddress& remote);

// Context: the loop, unless stated otherwise. Owned by its pending callback: of a resolver, a connecting channel or a
// timer. If that is destroyed without having been called, because the loop has ended, the destructor fails the promise.
class ConnectAttempts final : public std::enable_shared_from_this<ConnectAttempts> {
  public:
    // `remote` is the name of the other side in error texts. Context: any thread.
    static std::shared_ptr<ConnectAttempts> create(EventLoop& loop, ConnectPlan plan, std::string remote);
    ~ConnectAttempts() { abort(); }

    ChannelFuture future() const noexcept { return promise_.future(); }  // any thread
    // Starts with the given addresses. Context: any thread, once, while the loop exists.
    void start(Resolver::Addresses addresses) noexcept;
    // Starts with the resolver's result. Returns false when the loop accepts no task (it has ended, or there is no
    // memory); the caller must then call abort(). Context: any thread, once, while the loop exists.
    [[nodiscard]] bool resolved(Future<Resolver::Addresses> addresses) noexcept;
    // Fails the promise unless it is already done. Context: any thread, while the loop exists.
    void abort() noexcept;

  private:
    ConnectAttempts(EventLoop& loop, ConnectPlan plan, std::string remote);

    void begin(Resolver::Addresses addresses);
    void tryNext();
    void follow(const SocketAddress& remote, const ChannelFuture& attempt);
    void attempted(const SocketAddress& remote, const ChannelFuture& attempt);
    void noteFailure(const SocketAddress& remote, const ChannelFuture& attempt);
    void endRound();
    void fail();
    void endAttempts();

    EventLoop& loop_;
    const ConnectPlan plan_;
    const std::string remote_;
    const ChannelPromise promise_;
    Resolver::Addresses addresses_;
    std::size_t next_ = 0;
    unsigned round_ = 0;
    bool retryMayHelp_ = false;  // an error of this round may be temporary
    ErrorCode error_;            // the latest
    std::string attemptErrors_;  // of this round, by address
    std::vector<ChannelFuture> running_;
    ScheduledTask pause_;  // until the next attempt
};

}  // namespace weft::detail
