// Every message names the call, what is missing and what to do about it, because these are the first errors that a new
// user meets.
#include "fiber_home.hpp"

#include <stdexcept>
#include <string>

#include <weft/scheduler/carrier.hpp>
#include <weft/scheduler/event_loop.hpp>
#include <weft/scheduler/this_fiber.hpp>
#include <weft/transports/socket_io_handler.hpp>

namespace weft::detail {

namespace {

[[noreturn]] void refuse(const char* call, const std::string& why) {
    throw std::logic_error(std::string(call) + why);
}

}  // namespace

Carrier& requireFiberCarrier(const char* call) {
    Carrier* carrier = thisFiber::carrier();
    if (!carrier) refuse(call, " needs a fiber: spawn one on a carrier of an EventLoopGroup and call it there");
    thisFiber::goHome();
    return *carrier;
}

SocketIoHandler* requireSockets(Carrier& carrier, const char* call, ErrorCode& error) {
    SocketIoHandler* handler = SocketIoHandler::of(carrier);
    if (!handler && !carrier.stopRequested() && !EventLoop::hasEndedOn(carrier)) {
        refuse(call, ": the poller of carrier '" + carrier.name() +
                         "' has no sockets; start an EventLoopGroup, or an EventLoop with an EpollIoHandler, on it");
    }
    error = handler ? ErrorCode() : operationAborted();
    return handler;
}

void requireHomeSlow(Carrier& home, const char* call) {
    if (comeHome(home)) return;
    refuse(call,
           " on a socket of carrier '" + home.name() +
               "' from another thread: sockets belong to the carrier they were made on; call it from a fiber there");
}

void comeHomeTo(Carrier& home) noexcept {
    if (currentHome() != &home) comeHome(home);
}

}  // namespace weft::detail
