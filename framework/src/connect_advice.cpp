#include <weft/framework/connect_advice.hpp>

#include <cerrno>

namespace weft {

std::string_view connectAdvice(const ErrorCode& error) noexcept {
    if (error.category() != boost::system::system_category()) return "check the name, or give a numeric address";
    switch (error.value()) {
        case ECONNREFUSED: return "check that the server is running and the port is right";
        case ETIMEDOUT: return "check the address and the firewalls on the way, or allow more time";
        case EHOSTUNREACH:
        case ENETUNREACH:
        case ENETDOWN: return "check the address and this machine's routes";
        case EADDRINUSE:
        case EADDRNOTAVAIL: return "check the local address, or let the kernel choose one";
        case EINVAL:
            return "a link-local IPv6 address needs its zone, as in fe80::1%eth0; check the local address, too";
        case EMFILE:
        case ENFILE: return "close connections, or raise the limit of open files";
        default: return "check the address";
    }
}

}  // namespace weft
