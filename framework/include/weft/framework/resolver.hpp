// Resolver: host names to addresses, without blocking the caller.
#pragma once

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

    // Never blocks. The future completes on a thread of the resolver's choice (or inside this call), with at least one
    // address, each with this port and in the order in which they are to be tried; or fails with SystemError naming the
    // host. Throws std::bad_alloc when there is no memory for a future.
    virtual Future<Addresses> resolve(std::string_view host, std::uint16_t port) = 0;

    // The system's getaddrinfo() (hosts file, DNS), called by a ThreadPoolResolver with default ResolverOptions. Lives
    // for the whole process.
    static Resolver& system();
};

// Codes of getaddrinfo() (EAI_NONAME and its kind), as the system resolver reports them.
const boost::system::error_category& resolverCategory() noexcept;

namespace detail {

// Throws std::invalid_argument that quotes `host` when it is neither numeric nor can be a host name: letters, digits,
// '-', '_' and '.', up to 253 characters, not ending in a number. getaddrinfo() would take "127.1", "2130706433" and
// "0x7f.1" for 127.0.0.1, which a filter of host names does not expect.
void requireHostName(std::string_view host);
// Whether SocketAddress(host, port) reads it, or says best what is wrong with it. False for the empty text, which names
// no host.
bool isNumericHost(std::string_view host) noexcept;

}  // namespace detail
}  // namespace weft
