// EpollConnector: a fresh socket that connects; once connected, the same object is the EpollStream.
#pragma once

#include "connector_sink.hpp"
#include "epoll/epoll_stream.hpp"

namespace weft {

class EpollConnector final : public ConnectorSink<EpollStream> {
  public:
    EpollConnector(EpollIoHandler& handler, Fd fd, Channel& channel) noexcept
        : ConnectorSink(handler, EpollHandleKind::connector, std::move(fd), channel) {}

    // The socket is closed before the promise of the connect fails, so that a listener can bind its address again.
    void close(ChannelPromise promise) override {
        closeSocket();
        ConnectorSink::close(std::move(promise));
    }
    // Called until the connection is established; later events go to EpollStream::onEvents().
    void onEvents(std::uint32_t events);

  private:
    void begin() override;
    void becomeStream() noexcept override { becomeKind(EpollHandleKind::stream); }
};

}  // namespace weft
