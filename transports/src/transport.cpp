// The choice of a transport. io_uring joins here: a probe, and one log line that says why it was or was not taken
// (architecture D10).
#include <weft/transports/transport.hpp>

#include <mutex>
#include <string>

#include <weft/scheduler/errors.hpp>
#include <weft/scheduler/log.hpp>
#include <weft/transports/epoll/epoll_io_handler.hpp>

namespace weft {

Transport::Kind Transport::parse(std::string_view text, std::string_view source) {
    if (text == "auto") return Kind::automatic;
    if (text == "epoll") return Kind::epoll;
    throw ConfigurationError(std::string(source) + ": unknown transport '" + std::string(text) +
                             "'; accepted: auto, epoll");
}

std::string_view Transport::name(Kind kind) noexcept {
    switch (kind) {
        case Kind::automatic:
            return "auto";
        case Kind::epoll:
            return "epoll";
    }
    return "unknown";
}

std::unique_ptr<SocketIoHandler> Transport::makeIoHandler(Kind kind) {
    if (kind == Kind::automatic) {
        static std::once_flag said;
        std::call_once(said, [] { log(LogLevel::debug, "transport: auto chose epoll, the only one of this build"); });
    }
    return std::make_unique<EpollIoHandler>();
}

}  // namespace weft
