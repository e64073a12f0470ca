// The part of EpollHandle that needs the handler: joining and leaving its epoll set. A handle that has left never
// touches the handler again, which may no longer exist.
#include <weft/transports/epoll/epoll_handle.hpp>

#include <weft/transports/epoll/epoll_io_handler.hpp>

namespace weft {

EpollHandle::EpollHandle(EpollIoHandler& handler, EpollHandleKind kind, Fd fd) noexcept
    : handler_(&handler), calls_(&handler.systemCalls()), fd_(std::move(fd)), kind_(kind) {}

EpollHandle::~EpollHandle() {
    closeHandle();
}

ErrorCode EpollHandle::tryAttach() {
    return isRegistered() ? ErrorCode() : handler_->add(*this);
}

void EpollHandle::attach() {
    if (ErrorCode error = tryAttach()) throw SystemError(error, "epoll_ctl");
}

void EpollHandle::detach(bool keepOpen) noexcept {
    if (isRegistered()) handler_->remove(*this, keepOpen);
}

void EpollHandle::closeHandle() noexcept {
    detach(false);
    fd_.close();
}

Fd EpollHandle::releaseHandle() noexcept {
    detach(true);
    return std::move(fd_);
}

void EpollHandle::dropPendingEvents() noexcept {
    if (isRegistered()) handler_->dropEvents(*this);
}

void EpollHandle::requeue() noexcept {
    if (isRegistered()) handler_->requeue(*this);
}

}  // namespace weft
