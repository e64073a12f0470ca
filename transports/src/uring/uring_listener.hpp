// UringListener: the ChannelSink of a listening socket on io_uring. It makes a channel and a stream sink for each
// connection and hands the channel up; registering it is the acceptor handler's work.
#pragma once

#include <weft/pipeline/channel_promise.hpp>
#include <weft/pipeline/channel_sink.hpp>
#include <weft/pipeline/detail/ring.hpp>
#include <weft/scheduler/scheduled_task.hpp>
#include <weft/transports/socket_io_handler.hpp>

#include "uring/uring_handle.hpp"

namespace weft {

class UringListener final : public UringHandle, public ChannelSink {
  public:
    // How long accepting pauses when descriptors or memory have run out (E-7).
    static constexpr Duration shortagePause = std::chrono::milliseconds(500);

    UringListener(UringIoHandler& handler, Fd fd, Channel& channel, ChildLoopChooser chooser) noexcept;
    ~UringListener() override;

    void registered() override;
    bool listens() const noexcept override { return true; }
    void bind(const SocketAddress& local, ChannelPromise promise) override;
    void connect(const SocketAddress& remote, const SocketAddress* local, ChannelPromise promise) override;
    void wantRead(bool on) override;
    void acceptWaiting() override;
    void flush(OutboundBuffer& outbound) override;
    void shutdownOutput(ChannelPromise promise) override;
    void deregister(ChannelPromise promise) override;
    void close(ChannelPromise promise) override;
    ErrorCode setOption(SocketOption option, int value) override;
    ErrorCode getOption(SocketOption option, int& value) const override;
    SocketAddress localAddress() const override;
    SocketAddress remoteAddress() const override;

  protected:
    void dispatch() override;
    void abort() noexcept override;

  private:
    struct Accept : UringOperation {
        explicit Accept(UringListener& its) noexcept : UringOperation(kind, its.inFlight()), listener(its) {}
        static const Kind kind;
        UringListener& listener;
    };
    enum class Leaving : unsigned char { no, deregistering, closing };

    bool leaving() const noexcept { return leaving_ != Leaving::no; }
    void completed(int result);
    void noteError(int error) noexcept;
    void adjust();
    bool deliverWaiting();
    void deliver(Fd connection);
    void pauseAccepting();
    void leave(Leaving how, ChannelPromise promise);
    void operationEnded();

    Channel& channel_;
    ChildLoopChooser chooser_;  // empty: the listener's own loop
    int backlog_;
    Accept accept_;
    detail::Ring<Fd> accepted_;
    ErrorCode acceptError_;  // of which the channel is to be told
    ScheduledTask resume_;
    ChannelPromise left_;
    Leaving leaving_ = Leaving::no;
    bool listening_ = false;
    bool wantsRead_ = false;
    bool paused_ = false;
};

}  // namespace weft
