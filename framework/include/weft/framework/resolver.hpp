// Resolver: resolves host names to addresses without blocking the caller.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <weft/pipeline/socket_address.hpp>
#include <weft/scheduler/errors.hpp>
#include <weft/scheduler/future.hpp>

namespace weft {

// Bootstraps and clients call it for names, never for numeric addresses. Context: any thread.
class Resolver {
  public:
    using Addresses = std::vector<SocketAddress>;

    virtual ~Resolver() = default;

    // Never blocks. The future completes on a thread of the resolver's choice, possibly inside this call. It yields at
    // least one address, each with this port, in the order in which to try them, or fails with a SystemError that names
    // the host. Throws std::bad_alloc when there is no memory for a future.
    virtual Future<Addresses> resolve(std::string_view host, std::uint16_t port) = 0;

    // The system's getaddrinfo() (hosts file, DNS), called by a ThreadPoolResolver with default ResolverOptions. Lives
    // for the whole process. A forked process has one of its own: call system() again there. Its lookups fail with
    // ETIMEDOUT if fork() came while a thread of the parent was in getaddrinfo(), or was ending after that: the lock of
    // the C library stays locked there. Context: any thread.
    static Resolver& system();
};

// The category of getaddrinfo() errors (such as EAI_NONAME), as the system resolver reports them.
const boost::system::error_category& resolverCategory() noexcept;

namespace detail {

// Throws std::invalid_argument that quotes `host` when it is neither numeric nor a valid host name: letters, digits,
// '-', '_' and '.', up to 253 characters, not ending in a number. getaddrinfo() would accept "127.1", "2130706433" and
// "0x7f.1" as 127.0.0.1, which a filter of host names does not expect.
void requireHostName(std::string_view host);
// True when SocketAddress(host, port) can parse it, or when that constructor gives the best error message for it. False
// for the empty text, which names no host.
bool isNumericHost(std::string_view host) noexcept;

}  // namespace detail
}  // namespace weft
