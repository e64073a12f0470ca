#include <weft/asio_io/asio_io_handler.hpp>

#include <stdexcept>
#include <thread>
#include <utility>

#include <weft/scheduler/event_loop.hpp>

#include "service.hpp"

namespace weft::asio_io {

std::unique_ptr<IoHandler> AsioIoHandler::wrap(std::unique_ptr<SocketIoHandler> builtIn) {
    return std::make_unique<AsioIoHandler>(std::move(builtIn));
}

AsioIoHandler* AsioIoHandler::of(EventLoop& loop) noexcept {
    IoHandler* handler = loop.io();
    while (handler != nullptr && handler->family() == familyTag()) {
        auto* const decorator = static_cast<IoHandlerDecorator*>(handler);
        if (auto* const found = dynamic_cast<AsioIoHandler*>(decorator)) return found;
        handler = &decorator->wrapped();
    }
    return nullptr;
}

PollResult AsioIoHandler::poll(PollGuard* guard, Deadline deadline, Budget budget) {
    if (service_ == nullptr || !service_->serving()) return wrapped().poll(guard, deadline, budget);
    return service_->poll(guard, deadline, budget);
}

// The service stays valid until the waker has left: forget() clears the pointer first, then waits for the wakers.
void AsioIoHandler::wakeup() noexcept {
    wakers_.fetch_add(1, std::memory_order_seq_cst);                                   // [A2]
    if (detail::Service* const service = sleepsIn_.load(std::memory_order_seq_cst)) {  // [A2]
        service->wake();
    } else {
        wrapped().wakeup();
    }
    wakers_.fetch_sub(1, std::memory_order_release);  // [A2]
}

void AsioIoHandler::prepareToClose() {
    if (service_ != nullptr) service_->beginEnd();
    IoHandlerDecorator::prepareToClose();
}

bool AsioIoHandler::closable() const noexcept {
    return (service_ == nullptr || service_->closable()) && IoHandlerDecorator::closable();
}

void AsioIoHandler::attach(detail::Service& service) {
    if (service_ != nullptr) {
        throw std::logic_error(
            "asio_io::Context: this event loop already has a Context; an io_context needs a carrier of its own, so use "
            "that Context, or another loop of the group");
    }
    service_ = &service;
}

void AsioIoHandler::close() {
    if (service_ != nullptr) service_->loopHasEnded();
    IoHandlerDecorator::close();
}

void AsioIoHandler::forget(detail::Service& service) noexcept {
    if (service_ != &service) return;
    wakeInAsio(false);
    while (wakers_.load(std::memory_order_seq_cst) != 0) std::this_thread::yield();  // [A2]
    service_ = nullptr;
}

// Takes effect before the next sleep, which the wakers observe.
void AsioIoHandler::wakeInAsio(bool yes) noexcept {
    sleepsIn_.store(yes ? service_ : nullptr, std::memory_order_seq_cst);  // [A2]
}

}  // namespace weft::asio_io
