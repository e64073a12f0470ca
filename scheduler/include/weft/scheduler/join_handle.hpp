// JoinHandle: the right to wait for a fiber and to take its result.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include <weft/scheduler/assert.hpp>
#include <weft/scheduler/deadline.hpp>
#include <weft/scheduler/detail/fiber.hpp>
#include <weft/scheduler/errors.hpp>

namespace weft {

namespace detail {

// The part of JoinHandle that does not depend on the result type. Owns one reference to the fiber.
class JoinHandleBase {
  public:
    bool valid() const noexcept { return fiber_ != nullptr; }
    // True once the fiber has ended. Any thread.
    bool done() const noexcept { return fiber_->state.isComplete(); }
    std::uint64_t id() const noexcept { return fiber_->id; }
    std::string name() const { return std::string(FiberName(*fiber_)); }

    // Requests that the fiber end: its current blocking call and every later one end with operation_aborted, unless
    // that call's own result is available already, or a CancellationShield is alive in the fiber. The fiber unwinds as
    // after any other error; nothing forces it to end. Has no effect on a fiber that has ended. Any thread; never
    // blocks, allocates or throws.
    void cancel() noexcept { cancelFiber(*fiber_); }

    // Releases the fiber, which continues to run. If it ends with an exception, that is logged: as an error, or at
    // debug level if it is operation_aborted after a cancellation or a shutdown. The destructor detaches.
    void detach() noexcept {
        if (fiber_ != nullptr) detachFiber(*std::exchange(fiber_, nullptr));
    }

  protected:
    JoinHandleBase() = default;
    explicit JoinHandleBase(Fiber& fiber) noexcept : fiber_(&fiber) {}
    JoinHandleBase(JoinHandleBase&& other) noexcept : fiber_(std::exchange(other.fiber_, nullptr)) {}
    ~JoinHandleBase() { detach(); }

    enum class Waited : std::uint8_t { ended, timedOut, aborted };

    Waited wait(Deadline deadline);
    [[noreturn]] static void throwAborted(const char* call);

    Fiber* fiber_ = nullptr;

  private:
    Waited waitAtHome(Deadline deadline);
};

}  // namespace detail

// Move-only; the destructor detaches the fiber. done(), id(), name(), cancel() and the waits require valid(). A handle
// keeps the fiber's stack allocated, even after the group has been destroyed. Any thread may use a handle, but only one
// thread or fiber at a time: for instance, no other thread may call cancel() on it during join().
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

    // Waits until the fiber has ended, then returns its result or rethrows its exception, and leaves the handle empty.
    // Parks a fiber, blocks a plain thread. Throws BlockingOperationException if the fiber has not ended and nothing
    // may block here, SystemError(operation_aborted) when the caller is cancelled or its own carrier shuts down first;
    // in both cases the handle stays valid, and join() may be called again. After such an operation_aborted the fiber
    // still runs and may outlive the caller's variables. If the fiber uses them, start it in a TaskScope.
    T join() {
        if (wait(never) != Waited::ended) throwAborted("JoinHandle::join");
        const Joined ended{static_cast<detail::ResultFiber<T>&>(*std::exchange(fiber_, nullptr))};
        return ended.fiber.takeResult();
    }
    // As join(), but waits until `deadline` at most and does not take the result. True if the fiber has ended.
    bool waitUntil(Deadline deadline) {
        const Waited waited = wait(deadline);
        if (waited == Waited::aborted) throwAborted("JoinHandle::waitUntil");
        return waited == Waited::ended;
    }

  private:
    // Releases the reference at the end of join(), even if that throws.
    struct Joined {
        ~Joined() {
            if constexpr (!std::is_void_v<T> && !std::is_trivially_destructible_v<T>) fiber.drop();
            detail::releaseFiber(fiber);
        }
        detail::ResultFiber<T>& fiber;
    };
};

}  // namespace weft
