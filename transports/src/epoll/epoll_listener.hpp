// EpollListener: the ChannelSink of a listening socket on edge-triggered epoll. It makes a channel and a stream sink
// for each connection and hands the channel up; registering it is the acceptor handler's work.
#pragma once

#include <weft/pipeline/channel_sink.hpp>
#include <weft/scheduler/scheduled_task.hpp>
#include <weft/transports/epoll/epoll_handle.hpp>
#include <weft/transports/socket_io_handler.hpp>

namespace weft {

class EpollListener final : public EpollHandle, public ChannelSink {
  public:
    // How long accepting pauses when descriptors or memory have run out (E-7).
    static constexpr Duration shortagePause = std::chrono::milliseconds(500);

    EpollListener(EpollIoHandler& handler, Fd fd, Channel& channel, ChildLoopChooser chooser) noexcept;
    ~EpollListener() override;

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

    void onEvents(std::uint32_t events);
    void closeChannel() noexcept;

  private:
    enum class AcceptStep : unsigned char { next, pause, failed, closed };

    ErrorCode bindAndListen(const SocketAddress& local) noexcept;
    void acceptConnections();
    AcceptStep acceptOne(bool& delivered);
    void deliver(Fd connection);
    void pauseAccepting();

    Channel& channel_;
    ChildLoopChooser chooser_;  // empty: the listener's own loop
    int backlog_;
    ErrorCode acceptError_;
    ScheduledTask resume_;
    bool listening_ = false;
    bool wantsRead_ = false;
    bool acceptable_ = false;  // an edge has come and was not used up
    bool paused_ = false;
};

}  // namespace weft
