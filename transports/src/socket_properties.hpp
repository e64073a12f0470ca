// SocketProperties: the options and addresses of a socket, which do not depend on the transport.
#pragma once

#include <weft/transports/tcp_socket.hpp>

namespace weft {

// Handle: EpollHandle or one of io_uring; it has isOpen(), calls(), fd() and submitStarted(). Interface: ChannelSink or
// FiberStream. Context: the handle's carrier. setOption() submits what was started before: those sends are older than
// the option (corking, for example), so the kernel gets them first.
template <class Handle, class Interface>
class SocketProperties : public Handle, public Interface {
  public:
    ErrorCode setOption(SocketOption option, int value) override {
        if (!Handle::isOpen()) return operationAborted();
        this->submitStarted();
        return detail::setSocketOption(this->calls(), this->fd(), option, value);
    }
    ErrorCode getOption(SocketOption option, int& value) const override {
        if (!Handle::isOpen()) return operationAborted();
        return detail::getSocketOption(this->calls(), this->fd(), option, value);
    }
    SocketAddress localAddress() const override { return detail::localAddressOf(this->calls(), this->fd()); }
    SocketAddress remoteAddress() const override { return detail::remoteAddressOf(this->calls(), this->fd()); }

  protected:
    using Handle::Handle;
};

}  // namespace weft
