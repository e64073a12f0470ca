// Promise and Future: a value, or an error, that one side sets once and any number of others wait for or listen to.
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

// What Promise and Future share.
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
        // A waiter may have let go of the last reference: this object is not touched any more. [C3]
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
    // As done(), for the promise's own thread.
    bool completed() const noexcept { return completion_.isFinal(completion_.status()); }

    ErrorCode await(Deadline deadline, const char* call) { return completion_.wait(deadline, call); }

    const std::exception_ptr& error() const { return error_; }  // after done()
    ValueOf<T>& value() { return *value_; }                     // after done() without error()

  private:
    using Completion = BasicCompletion<NativeAtomics, FutureStatus::done, Listener, WaitList>;

    Completion completion_;
    std::optional<ValueOf<T>> value_;  // these two are written before the end
    std::exception_ptr error_;
};

}  // namespace detail

// The reading side; copyable. Every member may be called from any thread.
template <class T>
class Future {
  public:
    Future() = default;
    explicit Future(std::shared_ptr<detail::FutureState<T>> state) noexcept : state_(std::move(state)) {}

    bool valid() const noexcept { return state_ != nullptr; }
    bool done() const { return state_->done(); }

    // Waits: an ordinary fiber parks, a foreign thread blocks. Throws BlockingOperationException where nothing may
    // block and the result is not there yet, SystemError(operation_aborted) when the fiber is cancelled or its carrier
    // shuts down.
    void await() const {
        if (ErrorCode error = state_->await(never, "Future::await")) throw SystemError(error, "Future::await");
    }
    // As await(), but gives up at `deadline`; false means that the result is not there.
    bool awaitUntil(Deadline deadline) const {
        ErrorCode error = state_->await(deadline, "Future::awaitUntil");
        if (error && error != timedOut()) throw SystemError(error, "Future::awaitUntil");
        return !error;
    }
    template <class Rep, class Period>
    bool awaitFor(std::chrono::duration<Rep, Period> time) const {
        return awaitUntil(deadlineAfter(saturated(time)));
    }

    // Waits, then returns the value (moved out for a move-only T) or throws the error.
    T get() const {
        await();
        if (state_->error()) std::rethrow_exception(state_->error());
        if constexpr (!std::is_void_v<T>) {
            if constexpr (std::is_copy_constructible_v<T>)
                return state_->value();
            else
                return std::move(state_->value());
        }
    }
    // The error, or null; after done().
    std::exception_ptr error() const { return state_->error(); }

    // Calls `listener(*this)` once: by the completing thread, or at once when already done. Blocking calls in it throw
    // BlockingOperationException on a carrier; an exception that it ends with is logged. Listeners may complete other
    // futures, and so on: inside eight nested listeners of one thread, further ones are called by the outermost
    // completion, before it returns, so the stack does not grow with the chain.
    template <class F>
    void addListener(F listener) const {
        state_->listen([self = *this, listener = std::move(listener)]() mutable { listener(self); });
    }

  private:
    std::shared_ptr<detail::FutureState<T>> state_;
};

// The writing side; move-only. Destroying it unset completes the future with operation_aborted, so nobody waits for
// ever.
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

    // Complete the future; false when it was complete already.
    bool setValue(detail::ValueOf<T> value = {}) { return state_->complete(std::move(value), nullptr); }
    bool setError(std::exception_ptr error) { return state_->complete(std::nullopt, std::move(error)); }

  private:
    void abandon() noexcept {
        if (!state_) return;
        if (!state_->completed()) setError(abandonment());
        state_.reset();
    }
    // Without memory for its text, the lack of memory is the error.
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
