// EpollListener: the ChannelSink of a listening socket on edge-triggered epoll.
#pragma once

#include <weft/transports/epoll/epoll_io_handler.hpp>

#include "listener_sink.hpp"

namespace weft {

class EpollListener final : public ListenerSink<EpollHandle> {
  public:
    EpollListener(EpollIoHandler& handler, Fd fd, Channel& channel, ChildSetup children) noexcept
        : ListenerSink(channel, std::move(children), handler, EpollHandleKind::listener, std::move(fd)) {}

    void wantRead(bool on) override;
    void acceptWaiting() override;
    void deregister(ChannelPromise promise) override;
    void close(ChannelPromise promise) override;

    void onEvents(std::uint32_t events);

  protected:
    void onListening() override { dropPendingEvents(); }    // a socket that does not listen yet reports a hang-up
    void onPauseEnded() override { wantRead(wantsRead_); }  // `acceptable_` remembers the edge

  private:
    enum class AcceptStep : unsigned char { next, stop, failed, closed };

    void acceptConnections();
    AcceptStep acceptOne(bool& delivered);

    ErrorCode acceptError_;
    bool wantsRead_ = false;
    bool acceptable_ = false;  // an edge has arrived and is not used up
};

}  // namespace weft
