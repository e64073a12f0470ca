// Promise and Future: a value, or an error, that one side sets once and any number of others wait for or listen to.
#pragma once

#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <weft/scheduler/assert.hpp>
#include <weft/scheduler/deadline.hpp>
#include <weft/scheduler/errors.hpp>
#include <weft/scheduler/unique_function.hpp>
#include <weft/scheduler/wait_list.hpp>

namespace weft {

namespace detail {

struct Unit {};
template <class T>
using ValueOf = std::conditional_t<std::is_void_v<T>, Unit, T>;

// What Promise and Future share. `lock_` guards everything; nothing suspends while it is held.
template <class T>
class FutureState {
  public:
    using Listener = UniqueFunction<void(FutureState&)>;

    bool complete(std::optional<ValueOf<T>> value, std::exception_ptr error) {
        std::vector<Listener> listeners;
        {
            std::lock_guard held(lock_);
            if (done_) return false;
            done_ = true;
            value_ = std::move(value);
            error_ = std::move(error);
            listeners.swap(listeners_);
            waiters_.wakeAll();
        }
        for (auto& listener : listeners) listener(*this);
        return true;
    }

    void listen(Listener listener) {
        {
            std::lock_guard held(lock_);
            if (!done_) {
                listeners_.push_back(std::move(listener));
                return;
            }
        }
        listener(*this);
    }

    bool done() const {
        std::lock_guard held(lock_);
        return done_;
    }

    ErrorCode await(Deadline deadline, const char* call) {
        return waiters_.waitUntil(lock_, deadline, call, [this] { return done_; });
    }

    const std::exception_ptr& error() const { return error_; }  // after done()
    ValueOf<T>& value() { return *value_; }                     // after done() without error()

  private:
    mutable std::mutex lock_;
    bool done_ = false;
    std::optional<ValueOf<T>> value_;
    std::exception_ptr error_;
    std::vector<Listener> listeners_;
    WaitList waiters_;
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
    // block and the result is not there yet, SystemError(operation_aborted) when the fiber's carrier shuts down.
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
        return awaitUntil(std::chrono::steady_clock::now() + time);
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

    // Calls `listener(*this)` once: by the completing thread, or at once when already done. It must not throw.
    template <class F>
    void addListener(F listener) const {
        state_->listen([self = *this, listener = std::move(listener)](auto&) mutable { listener(self); });
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
        if (!state_->done()) setError(abandonment());
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
