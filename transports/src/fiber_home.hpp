// Where a blocking socket call may be made: in a fiber of the socket's carrier, under a poller that has sockets. A fiber that
// runs elsewhere comes home first. The refusals are program bugs and say what to do.
#pragma once

#include <weft/scheduler/errors.hpp>

namespace weft {

class Carrier;
struct SocketIoHandler;

namespace detail {

// The running fiber's carrier, on which it runs then. Throws std::logic_error naming `call` on a plain thread.
Carrier& requireFiberCarrier(const char* call);
// The carrier's socket handler. Null and operation_aborted when the carrier is shutting down or its event loop has ended;
// throws std::logic_error naming `call` when the poller has no sockets.
SocketIoHandler* requireSockets(Carrier& carrier, const char* call, ErrorCode& error);
// Throws std::logic_error naming `call` unless the caller runs on `home` then.
void requireHome(Carrier& home, const char* call);
// For calls that cannot refuse, such as a close.
void comeHomeTo(Carrier& home) noexcept;

}  // namespace detail
}  // namespace weft
