// UringConnector: a fresh socket that connects; once connected, the same object is the UringStream.
#pragma once

#include <exception>

#include "uring/uring_stream.hpp"

namespace weft {

class UringConnector final : public UringStream {
  public:
    UringConnector(UringIoHandler& handler, Fd fd, Channel& channel) noexcept
        : UringStream(handler, std::move(fd), channel), connect_(*this) {}

    void bind(const SocketAddress& local, ChannelPromise promise) override;
    void connect(const SocketAddress& remote, const SocketAddress* local, ChannelPromise promise) override;
    void close(ChannelPromise promise) override;

  protected:
    void cancelAll() noexcept override;

  private:
    struct Connect : UringOperation {
        explicit Connect(UringConnector& its) noexcept : UringOperation(kind, its.inFlight()), connector(its) {}
        static const Kind kind;
        UringConnector& connector;
    };

    void completed(int result);
    void failConnecting(std::exception_ptr cause);

    Connect connect_;
    ChannelPromise connecting_;
    SocketAddress remote_;
    bool inProgress_ = false;
};

}  // namespace weft
