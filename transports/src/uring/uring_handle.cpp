#include "uring/uring_handle.hpp"

#include <weft/transports/uring/uring_io_handler.hpp>

#include "uring/uring_ring.hpp"

namespace weft {

UringHandle::UringHandle(UringIoHandler& handler, Fd fd) noexcept
    : handler_(&handler), calls_(&handler.systemCalls()), fd_(std::move(fd)) {}

UringHandle::~UringHandle() {
    WEFT_ASSERT(inFlight_ == 0, "an io_uring socket was destroyed while the kernel uses its memory");
    closeHandle();
}

ErrorCode UringHandle::tryAttach() {
    return isRegistered() ? ErrorCode() : handler_->add(*this);
}

void UringHandle::attach() {
    if (ErrorCode error = tryAttach()) throw SystemError(error, "io_uring");
}

void UringHandle::detach() noexcept {
    unlink();
    registration_.unlink();
}

void UringHandle::closeHandle() noexcept {
    detach();
    fd_.close();
}

void UringHandle::requeue() noexcept {
    if (isRegistered() && !linked()) handler_->ready_.append(*this);
}

void UringHandle::start(UringOperation& operation) noexcept {
    handler_->ring().start(operation);
}

void UringHandle::cancel(UringOperation& operation) noexcept {
    if (operation.inFlight()) handler_->ring().cancel(operation);
}

UringRing& UringHandle::ring() noexcept {
    return handler_->ring();
}

int UringHandle::reportedError(const UringOperation& operation) const noexcept {
    return operation.inFlight() ? handler_->ring().reportedError(operation) : 0;
}

void UringHandle::submitAndFetch() noexcept {
    handler_->ring().submitAndFetch();
}

}  // namespace weft
