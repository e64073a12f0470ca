// ConnectAttempts: one Bootstrap::connect() that may take several attempts: the addresses of a name in turn, then, if
// the bootstrap says so, the same again after a pause. Each attempt has a channel of its own; the first that connects
// counts.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <weft/framework/pipeline_setup.hpp>
#include <weft/framework/resolver.hpp>
#include <weft/pipeline/channel_promise.hpp>
#include <weft/scheduler/event_loop.hpp>

namespace weft::detail {

// What a bootstrap says of its connections.
struct ConnectPlan {
    PipelineSetup setup;
    SocketAddress local;  // empty: the kernel's choice
    unsigned rounds = 1;
    Duration pause{};  // between rounds
};

// Makes a channel on the loop and connects it. The future's channel() is null when there was not even a socket.
ChannelFuture connectOnce(const ConnectPlan& plan, EventLoop& loop, const SocketAddress& remote);

// Context: the loop, but where said. It lives as long as somebody has something to tell it: a resolver, a channel that
// connects, a timer. When the last of them goes without a word (the loop has ended), the promise fails.
class ConnectAttempts final : public std::enable_shared_from_this<ConnectAttempts> {
  public:
    // `remote`: what error texts call the other side.
    static std::shared_ptr<ConnectAttempts> create(EventLoop& loop, ConnectPlan plan, std::string remote);
    ~ConnectAttempts();

    ChannelFuture future() const noexcept { return promise_.future(); }  // any thread
    // Begins, with addresses or with the failure to get any. Any thread, while the loop exists; once.
    void start(Resolver::Addresses addresses) noexcept;
    // False: the loop takes no task (it has ended, or there is no memory); the caller must abort().
    [[nodiscard]] bool resolved(Future<Resolver::Addresses> addresses) noexcept;
    // Any thread, while the loop exists.
    void abort() noexcept;

  private:
    ConnectAttempts(EventLoop& loop, ConnectPlan plan, std::string remote);

    void begin(Resolver::Addresses addresses);
    void tryNext();
    void attempted(const SocketAddress& remote, const ChannelFuture& attempt);
    bool noteFailure(const SocketAddress& remote, const ChannelFuture& attempt);
    void endRound();
    void fail();
    void cancelled();

    EventLoop& loop_;
    const ConnectPlan plan_;
    const std::string remote_;
    const ChannelPromise promise_;
    Resolver::Addresses addresses_;
    std::size_t next_ = 0;
    unsigned round_ = 0;
    bool mayHelp_ = false;  // to try again: an error of this round may pass
    ErrorCode error_;       // the latest
    std::string story_;     // of this round, address by address
    ChannelFuture current_;
    ScheduledTask pause_;
};

}  // namespace weft::detail
