// sync::Notify: wakes fibers and threads that wait for an event, without data.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/scheduler/deadline.hpp>
#include <weft/scheduler/detail/basic_notify.hpp>
#include <weft/scheduler/detail/sync_policy.hpp>
#include <weft/scheduler/errors.hpp>

namespace weft::detail {

template <class>
class NotifyBranch;  // of sync::select()

extern template class BasicNotify<NativeSync>;

}  // namespace weft::detail

namespace weft::sync {

// notifyOne() ends one wait, the first that waits; without a waiter it is stored and ends the next wait. At most one is
// stored. notifyAll() ends the waits that have begun before it, and is not stored. No notification is lost to a wait
// that a cancellation or its deadline ends: the next waiter gets it, or it is stored. Source of the interface: Tokio's
// Notify.
class Notify {
  public:
    // A point in time of one Notify. A wait with a ticket also ends if notifyAll() was called after ticket(), so that
    // no event is missed between a check and the wait:
    //     for (;;) {
    //         const auto ticket = changed.ticket();
    //         if (condition()) break;
    //         changed.wait(ticket);
    //     }
    class Ticket {
        friend class Notify;
        template <class>
        friend class detail::NotifyBranch;
        explicit Ticket(std::uint32_t generation) noexcept : generation_(generation) {}
        std::uint32_t generation_;
    };

    Notify() = default;
    // No fiber or thread may wait. A waiter that a notification has woken may destroy the object even if notifyOne() or
    // notifyAll() has not returned yet.
    ~Notify() = default;
    Notify(const Notify&) = delete;
    Notify& operator=(const Notify&) = delete;

    // Any thread; never blocks, allocates or throws. What the caller wrote before is visible to those it wakes.
    void notifyOne() noexcept { core_.notifyOne(); }
    void notifyAll() noexcept { core_.notifyAll(); }

    Ticket ticket() const noexcept { return Ticket(core_.generation()); }

    // Waits for a notification. If the fiber is cancelled during the wait or its carrier shuts down, the throwing
    // overload throws SystemError(operation_aborted), the other sets `error`. Context: a fiber or a plain thread. Where
    // nothing may block, a stored notification is consumed, and otherwise both throw BlockingOperationException. Never
    // allocates.
    void wait() { wait(ticket()); }
    void wait(Ticket since) {
        constexpr const char* call = "sync::Notify::wait";
        detail::throwOnError(waitOr(since, never, call), call);
    }
    void wait(ErrorCode& error) { error = waitOr(ticket(), never, "sync::Notify::wait"); }
    // The same with a deadline, at which it returns false.
    [[nodiscard]] bool waitUntil(Deadline deadline) { return waitUntil(deadline, ticket()); }
    [[nodiscard]] bool waitUntil(Deadline deadline, Ticket since) {
        constexpr const char* call = "sync::Notify::waitUntil";
        return detail::falseOnTimeout(waitOr(since, deadline, call), call);
    }
    // Consumes a stored notification. Never blocks. Any thread.
    [[nodiscard]] bool tryWait() noexcept { return core_.tryConsume(); }

    // May be outdated when it returns. Any thread.
    std::size_t waiters() const noexcept { return core_.waiters(); }

  private:
    template <class>
    friend class detail::NotifyBranch;

    ErrorCode waitOr(Ticket since, Deadline deadline, const char* call) {
        return core_.tryConsume() ? ErrorCode() : core_.wait(since.generation_, deadline, call);
    }

    detail::BasicNotify<detail::NativeSync> core_;
};

}  // namespace weft::sync
