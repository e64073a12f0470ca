// Resolver: host names to addresses, without blocking who asks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <weft/pipeline/socket_address.hpp>
#include <weft/scheduler/errors.hpp>
#include <weft/scheduler/future.hpp>

namespace weft {

// What a bootstrap or a client asks for names; numeric addresses never come here. Context: any thread.
class Resolver {
  public:
    using Addresses = std::vector<SocketAddress>;

    virtual ~Resolver() = default;

    // Never blocks. The future completes on a thread of the resolver's choice, with at least one address, each with
    // this port and in the order in which they are to be tried; or fails with SystemError naming the host.
    virtual Future<Addresses> resolve(std::string_view host, std::uint16_t port) = 0;

    // The system's getaddrinfo() (hosts file, DNS), which blocks whoever calls it: so one helper thread of the process
    // calls it, for one name after the other. It starts with a name, ends when none is left, and blocks all signals.
    // How long a name may take is for /etc/resolv.conf to say. At most maxWaiting names wait, another fails with
    // EAGAIN. Lives for the whole process.
    static Resolver& system();
    static constexpr std::size_t maxWaiting = 1024;
};

// Codes of getaddrinfo() (EAI_NONAME and its kind), as the system resolver reports them.
const boost::system::error_category& resolverCategory() noexcept;

namespace detail {

// Throws std::invalid_argument that quotes `host` when it is neither numeric nor can be a host name: letters, digits,
// '-', '_' and '.', up to 253 characters.
void requireHostName(std::string_view host);
// Whether SocketAddress(host, port) takes it.
bool isNumericHost(std::string_view host) noexcept;

}  // namespace detail
}  // namespace weft
