// Checks for blocking socket calls: they need a fiber of the socket's carrier, whose poller must have sockets. A fiber
// that runs elsewhere returns to its home carrier first. A violation is a program bug; its message says what to do.
#pragma once

#include <weft/scheduler/detail/current_home.hpp>
#include <weft/scheduler/errors.hpp>

namespace weft {

class Carrier;
struct SocketIoHandler;

namespace detail {

// Returns the running fiber's home carrier, on which the fiber then runs. Throws std::logic_error naming `call` on a
// plain thread.
Carrier& requireFiberCarrier(const char* call);
// Returns the carrier's socket handler. Returns null and sets operation_aborted when the carrier is shutting down or
// its event loop has ended; throws std::logic_error naming `call` when the poller has no sockets.
SocketIoHandler* requireSockets(Carrier& carrier, const char* call, ErrorCode& error);
// The rest of requireHome(), for a caller that does not run on `home`.
void requireHomeSlow(Carrier& home, const char* call);
// Brings the running fiber to `home` if that is its home carrier. Otherwise throws std::logic_error naming `call`,
// unless the caller already runs on `home`.
inline void requireHome(Carrier& home, const char* call) {
    if (currentHome() != &home) [[unlikely]]
        requireHomeSlow(home, call);
}
// As requireHome(), for calls that cannot fail, such as a close.
void comeHomeTo(Carrier& home) noexcept;

}  // namespace detail
}  // namespace weft
