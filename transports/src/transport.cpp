// The choice of a transport.
#include <weft/transports/transport.hpp>

#include <string>

#include <weft/scheduler/errors.hpp>
#include <weft/transports/epoll/epoll_io_handler.hpp>
#include <weft/transports/uring/uring_io_handler.hpp>
#include <weft/transports/uring/uring_support.hpp>

namespace weft {

Transport::Kind Transport::parse(std::string_view text, std::string_view source) {
    if (text == "auto") return Kind::automatic;
    if (text == "epoll") return Kind::epoll;
    if (text == "io_uring") return Kind::ioUring;
    throw ConfigurationError(std::string(source) + ": unknown transport '" + std::string(text) +
                             "'; accepted: auto, epoll, io_uring");
}

std::string_view Transport::name(Kind kind) noexcept {
    switch (kind) {
        case Kind::automatic:
            return "auto";
        case Kind::epoll:
            return "epoll";
        case Kind::ioUring:
            return "io_uring";
    }
    return "unknown";
}

std::string Transport::explain() {
    return UringSupport::ofThisProcess().report() + "\nepoll: available\nauto: epoll";
}

std::unique_ptr<SocketIoHandler> Transport::makeIoHandler(Kind kind) {
    if (kind != Kind::ioUring) return std::make_unique<EpollIoHandler>();
    const UringSupport& support = UringSupport::ofThisProcess();
    if (!support.available()) throw SystemError(support.error(), "the transport io_uring is not available: " + support.reason());
    return std::make_unique<UringIoHandler>();
}

}  // namespace weft
