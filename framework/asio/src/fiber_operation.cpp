#include <weft/asio_io/detail/fiber_operation.hpp>

#include <new>
#include <utility>

#include <weft/scheduler/non_migrating_scope.hpp>
#include <weft/scheduler/suspension.hpp>
#include <weft/scheduler/this_fiber.hpp>

#include "service.hpp"

namespace weft::asio_io::detail {

FiberOperation::~FiberOperation() {
    if (thread_ != nullptr) {
        const AsioThread::Use thread(*thread_);
        slot().clear();
    }
    if (remoteOperations_ != nullptr) remoteOperations_->remove(*this);
    if (service_ == nullptr) return;
    if (thread_ != nullptr) service_->giveThread(std::move(thread_));
    service_->operationEnded(*this);
}

bool FiberOperation::begin(boost::asio::execution_context* place) {
    if (place == nullptr && Service::loopHasEndedHere()) return false;
    Service* const service = place != nullptr ? Service::of(*place) : Service::here();
    if (!Suspension::allowed()) throw BlockingOperationException("use_fiber");
    if (service == nullptr) return true;
    here_ = service->isHere();
    if (here_) {
        if (!service->operationBegan(*this)) return false;
        service_ = service;
    } else {
        if (!service->remoteOperations()->add(*this)) return false;
        remoteOperations_ = service->remoteOperations();
    }
    return true;
}

void FiberOperation::yieldHere() {
    const NonMigratingScope here;
    thisFiber::yield();
}

bool FiberOperation::outlivedItsContext() const noexcept {
    return service_ != nullptr && service_->hasLeft();
}

std::exception_ptr FiberOperation::asSeen(std::exception_ptr error) const {
    if (!why_) return error;
    try {
        std::rethrow_exception(error);
    } catch (const SystemError& cancelled) {
        if (isCancellation(cancelled.code())) return std::make_exception_ptr(SystemError(why_, "use_fiber"));
    } catch (...) {
    }
    return error;
}

bool FiberOperation::missesTheEnd() noexcept {
    return !remoteOperations_->started(*this);
}

void FiberOperation::startHere() {
    if (here_) thread_ = service_->takeThread();
}

void FiberOperation::completeReady() noexcept {
    service_->completeReady(*this, *thread_);
}

void FiberOperation::started() noexcept {
    service_->releaseRunners();
}

// Must not touch this object after the wake, because the woken waiter destroys it.
void FiberOperation::complete() noexcept {
    if (thread_ != nullptr && thread_->isCurrent()) {  // its fiber is not waiting yet
        wasReady_ = true;
        return;
    }
    waiters_.changeAndWakeAll(lock_, [this] { completed_ = true; });
}

// An operation that has completed leaves its handler in the slot, and that a pointer to the I/O object, which may be
// gone.
void FiberOperation::emitCancellation() noexcept {
    {
        const std::lock_guard held(lock_);
        if (completed_ || wasReady_) return;
    }
    signal_.emit(boost::asio::cancellation_type::terminal);
}

void FiberOperation::emitted() noexcept {
    waiters_.changeAndWakeAll(lock_, [this] { emitting_ = false; });
}

void* FiberOperation::allocate(std::size_t size) {
    if (size <= memorySize && !std::exchange(memoryTaken_, true)) return memory_;
    return ::operator new(size);
}

void FiberOperation::deallocate(void* block, std::size_t size) noexcept {
    if (block == memory_) {
        memoryTaken_ = false;
    } else {
        ::operator delete(block, size);
    }
}

}  // namespace weft::asio_io::detail
