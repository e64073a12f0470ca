// DeadlineScope and timeout(): one deadline for every wait of a block.
#pragma once

#include <chrono>
#include <functional>
#include <utility>

#include <weft/scheduler/deadline.hpp>
#include <weft/scheduler/detail/wait_scopes.hpp>

namespace weft {

// Once the deadline has passed, the current wait of the scope's fiber or thread and each later one in the scope ends
// with operation_aborted, as after a cancellation: socket calls, the HTTP client, locks, queues, sleeps, joins,
// blocking(). A wait whose own deadline is not later times out as it does elsewhere. The children of a TaskScope
// that is constructed in the scope have the same deadline. Scopes nest; an inner one cannot extend an outer one. A
// CancellationShield defers the deadline; waits that nothing may interrupt ignore it.
//     DeadlineScope scope(5s);
//     auto answer = client.get(url);            // one deadline for both calls
//     store.write(answer.body());
// Context: constructed and destroyed by the same fiber or plain thread, the innermost first (asserted). Never blocks,
// allocates or throws. A wait ends at most one timer tick after the deadline, plus one run of fibers.
class DeadlineScope {
  public:
    explicit DeadlineScope(Deadline deadline) noexcept;
    template <class Rep, class Period>
    explicit DeadlineScope(std::chrono::duration<Rep, Period> time) noexcept
        : DeadlineScope(deadlineAfter(saturated(time))) {}
    ~DeadlineScope();
    DeadlineScope(const DeadlineScope&) = delete;
    DeadlineScope& operator=(const DeadlineScope&) = delete;

    // The earlier of its own deadline and that of the scope around it.
    Deadline deadline() const noexcept { return deadline_; }
    // True once deadline() has passed.
    bool expired() const noexcept;
    // True if an operation_aborted in this scope is to be taken for its timeout: its own deadline has passed, is
    // earlier than that of the scope around it, and neither the fiber nor a CancelScope around it has been cancelled,
    // nor does the carrier shut down.
    bool timedOut() const noexcept;

  private:
    detail::WaitScopes& scopes_;
    const Deadline outer_;
    const Deadline deadline_;
};

namespace detail {
// Rethrows the current exception, or throws SystemError(timed_out) in place of an operation_aborted of the scope.
[[noreturn]] void rethrowTimeout(const DeadlineScope& scope);
}  // namespace detail

// Calls fn() in a DeadlineScope and returns its result. If the scope's deadline ends fn() with operation_aborted,
// throws SystemError(timed_out). Every other exception passes unchanged, also an operation_aborted that a cancellation,
// an outer scope or a shutdown has caused. A result that comes late is returned. Runs in the calling fiber or thread;
// never allocates, and blocks only as fn() does.
template <class F>
decltype(auto) timeout(Deadline deadline, F&& fn) {
    const DeadlineScope scope(deadline);
    try {
        return std::invoke(std::forward<F>(fn));
    } catch (...) {
        detail::rethrowTimeout(scope);
    }
}
template <class Rep, class Period, class F>
decltype(auto) timeout(std::chrono::duration<Rep, Period> time, F&& fn) {
    return timeout(deadlineAfter(saturated(time)), std::forward<F>(fn));
}

}  // namespace weft
