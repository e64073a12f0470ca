// The checked downcast from door 1 (IoHandler) to SocketIoHandler. It compares the address of a tag instead of using
// RTTI, so that detecting a user's own poller costs one comparison.
#include <weft/transports/socket_io_handler.hpp>

#include <weft/pipeline/detail/deregistered_channels.hpp>
#include <weft/pipeline/detail/unpolled_channels.hpp>
#include <weft/scheduler/event_loop.hpp>
#include <weft/scheduler/io_handler_decorator.hpp>

namespace weft {

const void* SocketIoHandler::familyTag() noexcept {
    static const char tag = 0;
    return &tag;
}

SocketIoHandler* SocketIoHandler::of(EventLoop& loop) noexcept {
    IoHandler* io = loop.io();
    return io ? in(*io) : nullptr;
}

SocketIoHandler* SocketIoHandler::in(IoHandler& handler) noexcept {
    for (IoHandler* io = &handler;; io = &static_cast<IoHandlerDecorator*>(io)->wrapped()) {
        const void* const family = io->family();
        if (family == familyTag()) return static_cast<SocketIoHandler*>(io);
        if (family != IoHandlerDecorator::familyTag()) return nullptr;
    }
}

SocketIoHandler* SocketIoHandler::of(Carrier& carrier) noexcept {
    EventLoop* loop = EventLoop::of(carrier);
    return loop ? of(*loop) : nullptr;
}

void SocketIoHandler::closeUnpolled(Carrier* carrier) noexcept {
    EventLoop* const loop = carrier ? EventLoop::of(*carrier) : nullptr;
    if (loop == nullptr) return;
    detail::DeregisteredChannels::closeAllOf(*loop);
    detail::UnpolledChannels::closeAllOf(*loop);
}

}  // namespace weft
