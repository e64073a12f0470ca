// UringConnector: a fresh socket that connects; once connected, the same object is the UringStream.
#pragma once

#include "connector_sink.hpp"
#include "uring/uring_stream.hpp"

namespace weft {

class UringConnector final : public ConnectorSink<UringStream> {
  public:
    UringConnector(UringIoHandler& handler, Fd fd, Channel& channel) noexcept
        : ConnectorSink(handler, std::move(fd), channel), connect_(*this) {}

  protected:
    void cancelAll() noexcept override;

  private:
    struct Connect : UringOperation {
        explicit Connect(UringConnector& owner) noexcept : UringOperation(kind, owner.inFlight()), connector(owner) {}
        static const Kind kind;
        UringConnector& connector;
    };

    bool mayConnect() const noexcept override { return isOpen() && !connect_.inFlight() && !leaving(); }
    void begin() override { start(connect_); }
    void completed(int result);

    Connect connect_;
};

}  // namespace weft
