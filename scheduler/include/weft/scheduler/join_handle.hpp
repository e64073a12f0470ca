// JoinHandle: the right to wait for a fiber and to take its result.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include <weft/scheduler/assert.hpp>
#include <weft/scheduler/deadline.hpp>
#include <weft/scheduler/detail/fiber.hpp>
#include <weft/scheduler/errors.hpp>

namespace weft {

namespace detail {

// The untyped half. Owns one reference of the fiber.
class JoinHandleBase {
  public:
    bool valid() const noexcept { return fiber_ != nullptr; }
    // True when the fiber has ended. Any thread.
    bool done() const noexcept { return fiber_->state.isComplete(); }
    std::uint64_t id() const noexcept { return fiber_->id; }
    std::string name() const { return std::string(FiberName(*fiber_)); }

    // Asks the fiber to end: the blocking call that it is in, and every one that it makes from now on, ends with
    // operation_aborted, unless the result is there already or a CancellationShield is alive. It unwinds as by any
    // other error; nothing is forced. Does nothing to one that has ended. Any thread; never blocks, allocates or
    // throws.
    void cancel() noexcept { cancelFiber(*fiber_); }

    // Lets go of the fiber, which runs on; an exception that it ends with is logged. The destructor does the same.
    void detach() noexcept;

  protected:
    JoinHandleBase() = default;
    explicit JoinHandleBase(Fiber& fiber) noexcept : fiber_(&fiber) {}
    JoinHandleBase(JoinHandleBase&& other) noexcept : fiber_(std::exchange(other.fiber_, nullptr)) {}
    ~JoinHandleBase() { detach(); }

    ErrorCode wait(Deadline deadline);

    Fiber* fiber_ = nullptr;
};

}  // namespace detail

// Move-only. Dropping it detaches the fiber. A kept handle keeps the fiber's stack, even when the
// group is gone. The handle itself belongs to one
// thread or fiber at a time.
template <class T>
class [[nodiscard]] JoinHandle final : public detail::JoinHandleBase {
  public:
    JoinHandle() = default;
    explicit JoinHandle(detail::ResultFiber<T>& fiber) noexcept : JoinHandleBase(fiber) {}
    JoinHandle(JoinHandle&&) noexcept = default;
    JoinHandle& operator=(JoinHandle&& other) noexcept {
        detach();
        fiber_ = std::exchange(other.fiber_, nullptr);
        return *this;
    }

    // Waits for the end, then returns the result or rethrows the fiber's exception; once. A fiber parks, a plain thread
    // blocks. Throws BlockingOperationException where nothing may block, SystemError(operation_aborted) when the
    // caller is cancelled or its own carrier shuts down first (the handle stays valid).
    // It does not promise that the fiber has ended when it throws: after operation_aborted the fiber still runs, and
    // goes on after the caller's variables are gone. A fiber that uses them belongs in a TaskScope.
    T join() {
        if (ErrorCode error = wait(never)) throw SystemError(error, "JoinHandle::join");
        JoinHandle ended = std::move(*this);  // the reference goes with this call, whatever it throws
        return static_cast<detail::ResultFiber<T>*>(ended.fiber_)->takeResult();
    }
    // Waits until `deadline`; true when the fiber has ended.
    bool waitUntil(Deadline deadline) {
        const ErrorCode error = wait(deadline);
        if (error && error != timedOut()) throw SystemError(error, "JoinHandle::waitUntil");
        return !error;
    }
};

}  // namespace weft
