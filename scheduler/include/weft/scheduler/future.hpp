// Promise and Future: a Promise sets a value or an error once; any number of threads and fibers wait for it or add
// listeners through copies of the Future.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include <weft/scheduler/assert.hpp>
#include <weft/scheduler/deadline.hpp>
#include <weft/scheduler/detail/completion.hpp>
#include <weft/scheduler/detail/listener_delivery.hpp>
#include <weft/scheduler/errors.hpp>
#include <weft/scheduler/wait_list.hpp>

namespace weft {

namespace detail {

struct Unit {};
template <class T>
using ValueOf = std::conditional_t<std::is_void_v<T>, Unit, T>;

enum class FutureStatus : std::uint8_t { pending, done };

// The state that a Promise and its Futures share.
template <class T>
class FutureState {
  public:
    using Listener = FutureListener;

    bool complete(std::optional<ValueOf<T>> value, std::exception_ptr error) {
        typename Completion::Listeners listeners;
        const EndDuty duty = completion_.end(
            FutureStatus::done, [](FutureStatus) { return true; },
            [&] {
                value_ = std::move(value);
                error_ = std::move(error);
            },
            [&](auto& those) { listeners.takeFrom(those); });
        // A waiter may have released the last reference: do not touch this object from here on. [C3]
        callListeners(listeners);
        return duty != EndDuty::refused;
    }

    void listen(Listener listener) {
        if (completion_.listen(listener)) return;
        typename Completion::Listeners late;
        late.append(std::move(listener));
        callListeners(late);
    }

    bool done() const { return completion_.settled(); }
    // As done(), but without the lock, so the completing thread may still be using this object. Context: the promise's
    // owner.
    bool completed() const noexcept { return completion_.isFinal(completion_.status()); }

    ErrorCode await(Deadline deadline, const char* call) { return completion_.wait(deadline, call); }
    bool enlist(WaitList::Waiter& waiter) { return completion_.enlist(waiter); }
    void withdraw(WaitList::Waiter& waiter) { completion_.withdraw(waiter); }

    const std::exception_ptr& error() const { return error_; }  // after done()
    ValueOf<T>& value() { return *value_; }                     // after done() without error()

  private:
    using Completion = BasicCompletion<NativeAtomics, FutureStatus::done, Listener, WaitList>;

    Completion completion_;
    std::optional<ValueOf<T>> value_;  // complete() writes value_ or error_ before it publishes the status
    std::exception_ptr error_;
};

}  // namespace detail

namespace detail {
template <class, class>
class DoneBranch;  // of sync::select()
}

// The reading side. Copyable; any thread may call any member.
template <class T>
class Future {
  public:
    Future() = default;
    explicit Future(std::shared_ptr<detail::FutureState<T>> state) noexcept : state_(std::move(state)) {}

    bool valid() const noexcept { return state_ != nullptr; }
    bool done() const { return state_->done(); }

    // Waits until the future is complete: parks a fiber, blocks a plain thread. Does not throw the future's own error;
    // get() does. Throws BlockingOperationException if the future is not complete yet and nothing may block here,
    // SystemError(operation_aborted) when the calling fiber is cancelled or its carrier shuts down.
    void await() const {
        if (ErrorCode error = state_->await(never, "Future::await")) throw SystemError(error, "Future::await");
    }
    // As await(), but returns false if the future is not complete at `deadline`.
    bool awaitUntil(Deadline deadline) const {
        ErrorCode error = state_->await(deadline, "Future::awaitUntil");
        if (error && error != timedOut()) throw SystemError(error, "Future::awaitUntil");
        return !error;
    }
    template <class Rep, class Period>
    bool awaitFor(std::chrono::duration<Rep, Period> time) const {
        return awaitUntil(deadlineAfter(saturated(time)));
    }

    // As await(), then returns a copy of the value (a move-only T is moved out, so call it once) or throws the future's
    // error. The error of a promise that was destroyed is operation_aborted, too; then done() is true and error() is
    // not null.
    T get() const {
        await();
        if (state_->error()) std::rethrow_exception(state_->error());
        if constexpr (!std::is_void_v<T>) {
            if constexpr (std::is_copy_constructible_v<T>) return state_->value();
            else return std::move(state_->value());
        }
    }
    // The future's error, or null if it has a value. Precondition: done() is true.
    std::exception_ptr error() const { return state_->error(); }

    // Calls `listener(*this)` once: on the completing thread, or in this call if the future is complete. On a carrier,
    // blocking calls in a listener throw BlockingOperationException; an exception of the listener is logged. A listener
    // may complete other futures, whose listeners may do the same. Beyond eight nested levels on a thread, in both
    // cases, the call is queued, and the outermost level makes it before it returns: the stack does not grow with the
    // chain.
    template <class F>
    void addListener(F listener) const {
        state_->listen([self = *this, listener = std::move(listener)]() mutable { listener(self); });
    }

  private:
    template <class, class>
    friend class detail::DoneBranch;

    std::shared_ptr<detail::FutureState<T>> state_;
};

// The writing side; move-only. Destroying an incomplete promise completes the future with operation_aborted, so that no
// waiter waits forever.
template <class T>
class Promise {
  public:
    Promise() : state_(std::make_shared<detail::FutureState<T>>()) {}
    Promise(Promise&&) noexcept = default;
    Promise& operator=(Promise&& other) noexcept {
        abandon();
        state_ = std::move(other.state_);
        return *this;
    }
    ~Promise() { abandon(); }

    Future<T> future() const { return Future<T>(state_); }

    // Complete the future. Return false if it was complete already.
    bool setValue(detail::ValueOf<T> value = {}) { return state_->complete(std::move(value), nullptr); }
    bool setError(std::exception_ptr error) { return state_->complete(std::nullopt, std::move(error)); }

  private:
    void abandon() noexcept {
        if (!state_) return;
        if (!state_->completed()) setError(abandonment());
        state_.reset();
    }
    // If there is no memory for the error's text, the error is std::bad_alloc.
    static std::exception_ptr abandonment() noexcept {
        try {
            throw SystemError(operationAborted(), "Promise abandoned");
        } catch (...) {
            return std::current_exception();
        }
    }
    std::shared_ptr<detail::FutureState<T>> state_;
};

}  // namespace weft
