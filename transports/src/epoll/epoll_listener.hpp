// EpollListener: the ChannelSink of a listening socket on edge-triggered epoll.
#pragma once

#include <weft/transports/epoll/epoll_handle.hpp>
#include <weft/transports/epoll/epoll_io_handler.hpp>

#include "listener_sink.hpp"

namespace weft {

class EpollListener final : public EpollHandle, public ListenerSink {
  public:
    EpollListener(EpollIoHandler& handler, Fd fd, Channel& channel, ChildLoopChooser chooser) noexcept;

    void registered() override;
    void wantRead(bool on) override;
    void acceptWaiting() override;
    void deregister(ChannelPromise promise) override;
    void close(ChannelPromise promise) override;

    void onEvents(std::uint32_t events);
    void closeChannel() noexcept;

  protected:
    int socket() const noexcept override { return isOpen() ? fd() : -1; }
    SocketIoHandler& sockets() const noexcept override { return handler(); }
    void onListening() override;
    void onPauseEnded() override;

  private:
    enum class AcceptStep : unsigned char { next, pause, failed, closed };

    void acceptConnections();
    AcceptStep acceptOne(bool& delivered);

    ErrorCode acceptError_;
    bool wantsRead_ = false;
    bool acceptable_ = false;  // an edge has arrived and is not used up
};

}  // namespace weft
