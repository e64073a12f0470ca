// TaskScope: fibers that end before the block that started them. joinAll: runs several functions concurrently.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include <weft/scheduler/carrier.hpp>
#include <weft/scheduler/deadline.hpp>
#include <weft/scheduler/detail/scope_children.hpp>
#include <weft/scheduler/future.hpp>
#include <weft/scheduler/join_handle.hpp>
#include <weft/scheduler/spawn_options.hpp>

namespace weft {

namespace detail {

// The result of a child. The scope has a copy of the error; the child fiber's own error slot stays empty.
template <class T>
struct Outcome {
    std::optional<ValueOf<T>> value;
    std::exception_ptr error;
};

}  // namespace detail

// A handle to a scope's child and its result. Move-only; may outlive the scope. The destructor leaves the child
// running. The handle keeps the child's stack allocated. Only one thread or fiber may use it at a time.
template <class T>
class ScopedTask {
  public:
    ScopedTask() = default;

    bool valid() const noexcept { return handle_.valid(); }
    // True once the child has ended. Any thread.
    bool done() const noexcept { return handle_.done(); }
    // As JoinHandle::cancel(), for this child only.
    void cancel() noexcept { handle_.cancel(); }
    // Waits until the child has ended, as JoinHandle::join(), then returns its result or rethrows its exception. Call
    // it once.
    T get() {
        detail::Outcome<T> outcome = handle_.join();
        if (outcome.error) std::rethrow_exception(std::move(outcome.error));
        if constexpr (!std::is_void_v<T>) return *std::move(outcome.value);
    }

  private:
    friend class TaskScope;
    explicit ScopedTask(JoinHandle<detail::Outcome<T>> handle) noexcept : handle_(std::move(handle)) {}

    JoinHandle<detail::Outcome<T>> handle_;
};

// Example:
//     std::string left, right;
//     TaskScope scope;
//     scope.spawn([&] { left = http::get(a, "/"); });
//     scope.spawn([&] { right = http::get(b, "/"); });
//     scope.join();
// No child outlives the scope. The destructor cancels the children that still run, then waits until all have ended and
// their closures and discarded results have been destroyed. This wait is uninterruptible, so children may use variables
// declared before the scope even if an exception, a cancellation (such as the close of the channel that spawned the
// parent) or a shutdown ends the parent. A child that ignores its cancellation delays the parent; if a shutdown times
// out, its log names both.
// Context: a fiber or a plain thread, where blocking is allowed (elsewhere the constructor throws
// BlockingOperationException). Only the fiber or thread that created the scope may use it, except that its children may
// call spawn(), spawnOn() and cancel(). Not movable.
class TaskScope {
  public:
    // What happens to the other children when a child ends with an exception.
    enum class OnError : std::uint8_t {
        cancelOthers,
        keepOthers,
    };

    explicit TaskScope(OnError onError = OnError::cancelOthers);
    // Cancels the children and waits for them. Logs a child's error that join() has not thrown.
    ~TaskScope();
    TaskScope(const TaskScope&) = delete;
    TaskScope& operator=(const TaskScope&) = delete;

    // Starts a child on the caller's home carrier; from a plain thread, on CarrierGroup::instance().next(). Throws as
    // Carrier::spawn(), without starting a child. If the scope has been cancelled, the child starts cancelled.
    template <class F>
    auto spawn(F&& fn, SpawnOptions options = {}) {
        return spawnOn(carrierHere(), std::forward<F>(fn), options);
    }
    // Starts a child on another carrier, of any group.
    template <class F>
    auto spawnOn(Carrier& carrier, F&& fn, SpawnOptions options = {}) {
        using Body = ChildBody<std::decay_t<F>>;
        return ScopedTask<typename Body::Result>(
            carrier.spawnChild(children_, Body{*this, std::forward<F>(fn)}, options));
    }

    // Cancels every present and future child, as JoinHandle::cancel(). Does not wait. Any thread that keeps the scope
    // alive; never blocks, allocates or throws.
    void cancel() noexcept;

    // Waits until all children have ended. If a child failed, rethrows the first failure, once. A child that ends with
    // operation_aborted after it was cancelled has not failed. If the caller is cancelled or its carrier shuts down
    // during the wait, join() cancels the children, waits for them uninterruptibly, and throws the first failure or
    // else SystemError(operation_aborted). May be called again after more spawns.
    void join();
    // As join(), but returns false if children still run at `deadline`; they continue to run.
    bool joinUntil(Deadline deadline);

    // Number of children that have not ended.
    std::size_t running() const { return children_.size(); }

  private:
    template <class F>
    struct ChildBody {
        using Result = std::invoke_result_t<F&>;

        detail::Outcome<Result> operator()() {
            detail::Outcome<Result> outcome;
            try {
                if constexpr (std::is_void_v<Result>) {
                    std::invoke(fn);
                    outcome.value.emplace();
                } else {
                    outcome.value.emplace(std::invoke(fn));
                }
            } catch (...) {
                outcome.error = std::current_exception();
                scope.childFailed(outcome.error);
            }
            return outcome;
        }

        TaskScope& scope;
        F fn;
    };

    static Carrier& carrierHere();
    void childFailed(const std::exception_ptr& error) noexcept;
    void rethrowFirstError();

    detail::ScopeChildren children_;
    const OnError onError_;
    const int exceptions_;  // std::uncaught_exceptions() when the scope began
    std::mutex errorLock_;  // guards error_ while children run
    std::exception_ptr error_;
};

namespace detail {

template <class T>
ValueOf<T> resultOf(ScopedTask<T>& task) {
    if constexpr (std::is_void_v<T>) {
        task.get();
        return {};
    } else {
        return task.get();
    }
}

}  // namespace detail

// Runs each function in a fiber of its own and waits for all of them. Returns their results as a tuple, in the order of
// the arguments (detail::Unit for void), or void if all functions return void. The first function that throws cancels
// the others; its exception is rethrown after all have ended. The functions may use the caller's variables. Context,
// errors and cancellation: as TaskScope.
template <class... F>
auto joinAll(F&&... functions) {
    TaskScope scope;
    std::tuple<decltype(scope.spawn(std::forward<F>(functions)))...> tasks{scope.spawn(std::forward<F>(functions))...};
    scope.join();
    if constexpr (!(std::is_void_v<std::invoke_result_t<std::decay_t<F>&>> && ...)) {
        return std::apply([](auto&... task) { return std::tuple{detail::resultOf(task)...}; }, tasks);
    }
}

}  // namespace weft
