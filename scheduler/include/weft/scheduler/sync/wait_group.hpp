// sync::WaitGroup: fibers and threads wait until a count of unfinished work is zero.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/scheduler/assert.hpp>
#include <weft/scheduler/deadline.hpp>
#include <weft/scheduler/detail/basic_wait_group.hpp>
#include <weft/scheduler/detail/sync_policy.hpp>
#include <weft/scheduler/errors.hpp>

namespace weft::detail {

extern template class BasicWaitGroup<NativeSync>;

}  // namespace weft::detail

namespace weft::sync {

// For work whose fibers do not end with it; for fibers that a block starts and awaits, use TaskScope. After the count
// has been zero, use the group again only once every wait() has returned. Source of the interface: Go's sync.WaitGroup.
class WaitGroup {
  public:
    // 2^31 - 1. A call that would exceed it fails an assertion.
    static constexpr std::uint32_t most = detail::BasicWaitGroup<detail::NativeSync>::most;

    WaitGroup() = default;
    // No fiber or thread may wait. A caller that has returned from wait() may destroy the group, even if the done()
    // that reached zero has not returned yet.
    ~WaitGroup() = default;
    WaitGroup(const WaitGroup&) = delete;
    WaitGroup& operator=(const WaitGroup&) = delete;

    // Call add() before the work can call done(). Any thread; never blocks or allocates.
    void add(std::uint32_t count = 1) noexcept {
        const bool added = core_.add(count);
        WEFT_ASSERT(added, "sync::WaitGroup::add: the count would be more than `most`");
    }
    // Any thread; never blocks, allocates or throws. What the caller wrote before is visible after wait(). Fails an
    // assertion if the count is zero.
    void done() noexcept {
        const bool counted = core_.done();
        WEFT_ASSERT(counted, "sync::WaitGroup::done: the count is zero");
    }

    // Waits until the count is zero. If the fiber is cancelled during the wait or its carrier shuts down, the throwing
    // overload throws SystemError(operation_aborted), the other sets `error`. Context: a fiber or a plain thread. Where
    // nothing may block, returns if the count is zero, and otherwise throws BlockingOperationException. Never
    // allocates.
    void wait() { detail::throwOnError(waitOr(never, "sync::WaitGroup::wait"), "sync::WaitGroup::wait"); }
    void wait(ErrorCode& error) { error = waitOr(never, "sync::WaitGroup::wait"); }
    // The same with a deadline, at which it returns false.
    [[nodiscard]] bool waitUntil(Deadline deadline) {
        constexpr const char* call = "sync::WaitGroup::waitUntil";
        return detail::falseOnTimeout(waitOr(deadline, call), call);
    }

    // These may be outdated when they return. Any thread.
    std::uint32_t count() const noexcept { return core_.count(); }
    std::size_t waiters() const noexcept { return core_.waiters(); }

  private:
    ErrorCode waitOr(Deadline deadline, const char* call) {
        return core_.isSettled() ? ErrorCode() : core_.wait(deadline, call);
    }

    detail::BasicWaitGroup<detail::NativeSync> core_;
};

}  // namespace weft::sync
