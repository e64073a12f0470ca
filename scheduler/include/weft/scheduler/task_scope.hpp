// TaskScope: fibers that end before the block that started them does; joinAll: a few functions at once.
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

// What a child ended with; its error is in the scope, too, so a child's own error slot stays empty.
template <class T>
struct Outcome {
    std::optional<ValueOf<T>> value;
    std::exception_ptr error;
};

}  // namespace detail

// The result of a scope's child. Move-only; may be dropped at any time, which leaves the child running, and may outlive
// the scope. Keeps the child's stack. Belongs to one thread or fiber at a time.
template <class T>
class ScopedTask {
  public:
    ScopedTask() = default;

    bool valid() const noexcept { return handle_.valid(); }
    // True when the child has ended. Any thread.
    bool done() const noexcept { return handle_.done(); }
    // As JoinHandle::cancel(): this child only.
    void cancel() noexcept { handle_.cancel(); }
    // Returns the child's result or rethrows its exception; once. Waits until it has ended, as JoinHandle::join().
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

// A block with children:
//     std::string left, right;
//     TaskScope scope;
//     scope.spawn([&] { left = http::get(a, "/"); });
//     scope.spawn([&] { right = http::get(b, "/"); });
//     scope.join();
// No child outlives the scope: its destructor cancels the children that still run and waits until all of them have
// ended, their closures are destroyed and their dropped results, too. That wait is uninterruptible, so children may use
// what was declared before the scope, whatever ends the parent: an exception, a cancellation (the close of the channel
// that spawned it), a shutdown. A child that ignores its cancellation holds the parent up, and the shutdown's log names
// both.
// Context: a fiber or a plain thread, where blocking is allowed (the constructor throws BlockingOperationException
// elsewhere). The scope belongs to whoever made it; its children may spawn into it and cancel it, too. Not movable.
class TaskScope {
  public:
    // What the first child that ends with an exception does to the others.
    enum class OnError : std::uint8_t {
        cancelOthers,
        keepOthers,
    };

    explicit TaskScope(OnError onError = OnError::cancelOthers);
    // Cancels and awaits the children. An error that join() has not thrown is logged.
    ~TaskScope();
    TaskScope(const TaskScope&) = delete;
    TaskScope& operator=(const TaskScope&) = delete;

    // Starts a child on the caller's home carrier; from a plain thread, on the default group's next one. Throws as
    // Carrier::spawn(), and then there is no child. A child of a scope that has been cancelled starts cancelled.
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

    // Asks every child to end, as JoinHandle::cancel(), and those that are started later. Does not wait. Any thread
    // that keeps the scope alive; never blocks, allocates or throws.
    void cancel() noexcept;

    // Waits until all children have ended, then rethrows the exception of the first child that failed, if one did:
    // once. operation_aborted from a child that was asked to end is no failure. When the caller is cancelled or its
    // carrier shuts down meanwhile, cancels the children, awaits them uninterruptibly, and throws
    // SystemError(operation_aborted), or the first child's error if one had failed. May be repeated after more spawns.
    void join();
    // As join(), but gives up at `deadline`: false, and the children run on.
    bool joinUntil(Deadline deadline);

    // How many children have not ended.
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
    const int exceptions_;  // in flight when the scope began
    std::mutex errorLock_;  // guards the next
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

// Runs each function in a fiber of its own and waits for all of them; returns their results as a tuple, in the order of
// the arguments (detail::Unit for void; nothing when all are void). The first one that throws cancels the others, and
// its exception is rethrown after all have ended. The functions may use the caller's variables. Context, errors and
// cancellation: as TaskScope.
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
