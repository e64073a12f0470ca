// EpollConnector: a fresh socket that connects; once connected, the same object is the EpollStream.
#pragma once

#include <exception>

#include <weft/pipeline/channel_promise.hpp>

#include "epoll/epoll_stream.hpp"

namespace weft {

class EpollConnector final : public EpollStream {
  public:
    EpollConnector(EpollIoHandler& handler, Fd fd, Channel& channel) noexcept
        : EpollStream(handler, EpollHandleKind::connector, std::move(fd), channel) {}

    void bind(const SocketAddress& local, ChannelPromise promise) override;
    void connect(const SocketAddress& remote, const SocketAddress* local, ChannelPromise promise) override;
    void close(ChannelPromise promise) override;

    // Called until the connection is established; later events go to EpollStream::onEvents().
    void onEvents(std::uint32_t events);

  private:
    ErrorCode outcome(const ErrorCode& error) noexcept;
    void becomeStream();
    void failConnecting(std::exception_ptr cause);

    ChannelPromise connecting_;
    SocketAddress remote_;
    bool inProgress_ = false;
};

}  // namespace weft
