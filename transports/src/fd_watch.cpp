// The part of FdWatch that all transports share: checks that the caller may create one.
#include <weft/transports/fd_watch.hpp>

#include <weft/scheduler/carrier.hpp>
#include <weft/transports/socket_io_handler.hpp>

#include "fiber_home.hpp"

namespace weft {

std::unique_ptr<FdWatch> FdWatch::of(Fd fd) {
    Carrier& carrier = detail::requireFiberCarrier("FdWatch::of");
    ErrorCode error;
    SocketIoHandler* handler = detail::requireSockets(carrier, "FdWatch::of", error);
    if (!handler) throw SystemError(error, "FdWatch::of");
    return handler->watch(std::move(fd));
}

}  // namespace weft
