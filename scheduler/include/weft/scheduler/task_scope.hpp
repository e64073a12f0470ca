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
template <bool, class...>
class Contest;  // of race() and firstSuccess()
}

// How a function ended: with a value (detail::Unit for void) or with an exception.
template <class T>
struct Outcome {
    bool failed() const noexcept { return error != nullptr; }
    // The value, moved out, or throws the exception. Once.
    T get() {
        if (error) std::rethrow_exception(std::move(error));
        if constexpr (!std::is_void_v<T>) return *std::move(value);
    }

    std::optional<detail::ValueOf<T>> value;
    std::exception_ptr error;
};

namespace detail {

// The caller's home carrier; on a plain thread, one of CarrierGroup::instance().
Carrier& carrierForChild();

// Logs an exception that the caller of `call` will not get; not an operation_aborted. None: null.
void reportDiscarded(const char* call, const std::exception_ptr& error) noexcept;

// The outcome of fn().
template <class F>
auto outcomeOf(F& fn) {
    using Result = std::invoke_result_t<F&>;
    Outcome<Result> outcome;
    try {
        if constexpr (std::is_void_v<Result>) {
            std::invoke(fn);
            outcome.value.emplace();
        } else {
            outcome.value.emplace(std::invoke(fn));
        }
    } catch (...) {
        outcome.error = std::current_exception();
    }
    return outcome;
}

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
    // Waits until the child has ended, as JoinHandle::join(), then returns its result or rethrows its exception. A
    // child that ended with operation_aborted because the failure of another one cancelled it (Policy::allOrThrow)
    // rethrows that failure. Call it once.
    T get() { return outcome().get(); }
    // As get(), but hands out the child's exception instead of throwing it.
    Outcome<T> outcome() { return handle_.join(); }

  private:
    friend class TaskScope;
    explicit ScopedTask(JoinHandle<Outcome<T>> handle) noexcept : handle_(std::move(handle)) {}

    JoinHandle<Outcome<T>> handle_;
};

// Example:
//     Buffer left, right;
//     TaskScope scope;
//     scope.spawn([&] { left = http::get(a, "/"); });  // throws unless the status is 2xx: it becomes a Buffer
//     scope.spawn([&] { right = http::get(b, "/"); });
//     scope.join();
// No child outlives the scope. The destructor cancels the children that still run, then waits until all have ended and
// their closures and discarded results have been destroyed. This wait is uninterruptible, so children may use variables
// declared before the scope even if an exception, a cancellation (such as the close of the channel that spawned the
// parent) or a shutdown ends the parent. A child that ignores its cancellation delays the parent; if a shutdown times
// out, its log names both. A child has the deadline of the DeadlineScopes in which its TaskScope was constructed, and
// is cancelled when a CancelScope around the TaskScope is. Context: a fiber or a plain thread, where blocking is
// allowed (elsewhere the constructor throws BlockingOperationException). Only the fiber or thread that created the
// scope may use it, except that its children may call spawn(), spawnOn() and cancel(). Not movable.
class TaskScope {
  public:
    // What the end of a child means for the others, and which exception join() rethrows.
    enum class Policy : std::uint8_t {
        allOrThrow,    // the first exception cancels the others, and is rethrown
        runAll,        // all run; the first exception is rethrown
        firstSuccess,  // the first result cancels the others; the first exception is rethrown if there is no result
        collect,       // all run; exceptions are only in the children's outcomes; those not taken are not logged
    };

    explicit TaskScope(Policy policy = Policy::allOrThrow);
    // Cancels the children and waits for them. Logs a child's error that join() has not thrown: as an error, or as a
    // warning while an exception unwinds the scope, which may be the same one.
    ~TaskScope();
    TaskScope(const TaskScope&) = delete;
    TaskScope& operator=(const TaskScope&) = delete;

    // Starts a child on the caller's home carrier; from a plain thread, on CarrierGroup::instance().next(). Throws as
    // Carrier::spawn(), without starting a child. If the scope has been cancelled, the child starts cancelled.
    template <class F>
    auto spawn(F&& fn, SpawnOptions options = {}) {
        return spawnOn(detail::carrierForChild(), std::forward<F>(fn), options);
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

    // Waits until all children have ended. If a child failed, rethrows the first failure, once, as the policy says. A
    // child that ends with operation_aborted after it was cancelled has not failed; if a deadline or CancelScope around
    // the TaskScope has ended a child so, join() throws SystemError(operation_aborted). If the caller is cancelled or
    // its carrier shuts down during the wait, join() cancels the children, waits for them uninterruptibly, and throws
    // the first failure or else SystemError(operation_aborted). May be called again after more spawns.
    void join();
    // As join(), but returns false if children still run at `deadline`; they continue to run.
    bool joinUntil(Deadline deadline);

    // Number of children that have not ended.
    std::size_t running() const { return children_.size(); }

  private:
    template <class F>
    struct ChildBody {
        using Result = std::invoke_result_t<F&>;

        Outcome<Result> operator()() {
            Outcome<Result> outcome = detail::outcomeOf(fn);
            if (outcome.failed()) {
                outcome.error = scope.childFailed(std::move(outcome.error));
            } else if (scope.policy_ == Policy::firstSuccess) {
                scope.childSucceeded();
            }
            return outcome;
        }

        TaskScope& scope;
        F fn;
    };

    // Returns the exception that the child's outcome is to have.
    std::exception_ptr childFailed(std::exception_ptr error) noexcept;
    void childSucceeded() noexcept;
    void noteFailure(const std::exception_ptr& error) noexcept;
    ErrorCode await(Deadline deadline);
    void rethrowFirstError();
    template <bool, class...>
    friend class detail::Contest;

    detail::ScopeChildren children_;
    const Policy policy_;
    const int exceptions_;  // std::uncaught_exceptions() when the scope began
    std::mutex endLock_;    // guards the next three while children run
    std::exception_ptr error_;
    bool succeeded_ = false;    // firstSuccess: a child has a result
    bool interrupted_ = false;  // a deadline or CancelScope around the scope has ended a child
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
