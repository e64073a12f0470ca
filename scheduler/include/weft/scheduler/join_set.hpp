// JoinSet: any number of fibers whose results are taken in the order in which they end.
#pragma once

#include <cstddef>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

#include <weft/scheduler/carrier.hpp>
#include <weft/scheduler/deadline.hpp>
#include <weft/scheduler/detail/scope_children.hpp>
#include <weft/scheduler/spawn_options.hpp>
#include <weft/scheduler/task_scope.hpp>

namespace weft {

namespace detail {

// The part of JoinSet that does not depend on the result type.
class JoinSetBase {
  public:
    JoinSetBase(const JoinSetBase&) = delete;
    JoinSetBase& operator=(const JoinSetBase&) = delete;

    // Cancels every present and future child, as JoinHandle::cancel(). Does not wait. Any thread that keeps the set
    // alive; never blocks, allocates or throws.
    void cancelAll() noexcept { children_.cancel(); }
    // Number of children that have not ended.
    std::size_t running() const { return children_.size(); }

  protected:
    // `errorOf`: of the outcome of a child that has ended; null: it has none.
    explicit JoinSetBase(std::exception_ptr (*errorOf)(const Fiber&));
    ~JoinSetBase();

    // The next child that has ended; null: the set is empty.
    Fiber* next();
    void cancelAndDrop() noexcept;

    ScopeChildren children_{true};

  private:
    std::exception_ptr (*const errorOf_)(const Fiber&);
};

}  // namespace detail

// A child that has ended keeps its stack until its result is taken, so take the results of a set that lives long.
//     JoinSet<Page> pages;
//     for (const auto& url : urls) pages.spawn([&client, url] { return fetch(client, url); });
//     while (auto page = pages.joinNext()) store(*page);
// No child outlives the set: the destructor cancels the children that still run, waits uninterruptibly until all have
// ended, and discards the results that have not been taken; exceptions among them, other than operation_aborted, are
// logged as warnings. Children may use variables declared before the set.
// Deadlines and CancelScopes around the set apply to its children, as to those of a TaskScope. Context: a fiber or a
// plain thread, where blocking is allowed (elsewhere the constructor throws BlockingOperationException). Only the fiber
// or thread that created the set may use it, except that its children may call spawn(), spawnOn() and cancelAll(). Not
// movable. T: the result of the children, or void.
template <class T>
class JoinSet : public detail::JoinSetBase {
  public:
    JoinSet() : JoinSetBase(errorOf) {}

    // Starts a child on the caller's home carrier; from a plain thread, on CarrierGroup::instance().next(). Takes a
    // stack, allocates nothing else. Throws as Carrier::spawn(), without starting a child. If the set has been
    // cancelled, the child starts cancelled.
    template <class F>
    void spawn(F&& fn, SpawnOptions options = {}) {
        spawnOn(detail::carrierForChild(), std::forward<F>(fn), options);
    }
    // Starts a child on another carrier, of any group.
    template <class F>
    void spawnOn(Carrier& carrier, F&& fn, SpawnOptions options = {}) {
        static_assert(std::is_same_v<std::invoke_result_t<std::decay_t<F>&>, T>, "fn() must return T");
        carrier.spawnKept(
            children_, [fn = std::forward<F>(fn)]() mutable { return detail::outcomeOf(fn); }, options);
    }

    // Waits until a child has ended whose outcome has not been taken, and takes that: first ended, first taken. Empty
    // if there is no such child and none runs. Throws SystemError(operation_aborted) if the caller is cancelled during
    // the wait or its carrier shuts down; the children then continue to run. Never allocates.
    std::optional<Outcome<T>> nextOutcome() {
        detail::Fiber* const ended = next();
        if (ended == nullptr) return std::nullopt;
        return JoinHandle<Outcome<T>>(static_cast<detail::ResultFiber<Outcome<T>>&>(*ended)).join();
    }
    // As nextOutcome(): the child's value, or throws its exception. For void: false if the set is empty.
    auto joinNext() {
        auto outcome = nextOutcome();
        if constexpr (std::is_void_v<T>) {
            if (outcome) outcome->get();
            return outcome.has_value();
        } else {
            return outcome ? std::optional<T>(outcome->get()) : std::nullopt;
        }
    }

    // Cancels the children, waits until all have ended, and discards their outcomes. Uninterruptible. The set can be
    // used no more: later children start cancelled.
    void shutdown() noexcept { cancelAndDrop(); }

  private:
    static std::exception_ptr errorOf(const detail::Fiber& ended) {
        const auto& result = static_cast<const detail::ResultFiber<Outcome<T>>&>(ended).result;
        return result ? result->error : nullptr;
    }
};

}  // namespace weft
