// How the transport of an event loop is chosen.
#include <weft/transports/transport.hpp>

#include <string>

#include <weft/scheduler/errors.hpp>
#include <weft/scheduler/log.hpp>
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
        case Kind::automatic: return "auto";
        case Kind::epoll: return "epoll";
        case Kind::ioUring: return "io_uring";
    }
    return "unknown";
}

Transport::Kind Transport::best() {
    static const Kind kind = [] {
        const UringSupport& support = UringSupport::ofThisProcess();
        if (support.available()) return Kind::ioUring;
        log(LogLevel::info, "event loops use epoll: io_uring is not available: " + support.reason());
        return Kind::epoll;
    }();
    return kind;
}

std::string Transport::explain() {
    const UringSupport& support = UringSupport::ofThisProcess();
    const Kind automatic = support.available() ? Kind::ioUring : Kind::epoll;
    return support.report() + "\nepoll: available\nauto: " + std::string(name(automatic));
}

std::unique_ptr<SocketIoHandler> Transport::makeIoHandler(Kind kind) {
    if (kind == Kind::automatic) kind = best();
    if (kind == Kind::epoll) return std::make_unique<EpollIoHandler>();
    const UringSupport& support = UringSupport::ofThisProcess();
    if (!support.available())
        throw SystemError(support.error(), "the transport io_uring is not available: " + support.reason());
    return std::make_unique<UringIoHandler>();
}

}  // namespace weft
