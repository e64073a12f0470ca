// sync::Barrier: a number of fibers and threads wait for each other.
#pragma once

#include <cstddef>

#include <weft/scheduler/assert.hpp>
#include <weft/scheduler/deadline.hpp>
#include <weft/scheduler/detail/basic_barrier.hpp>
#include <weft/scheduler/detail/sync_policy.hpp>
#include <weft/scheduler/errors.hpp>

namespace weft::sync {

// May be passed again and again. A wait that a cancellation or its deadline ends does not count, so the others go on
// waiting for another party.
class Barrier {
  public:
    // At least one party; else an assertion fails.
    explicit Barrier(std::size_t parties) : core_(parties) {
        WEFT_ASSERT(parties > 0, "sync::Barrier: at least one party");
    }
    // No fiber or thread may wait. The last party to return from wait() may destroy the barrier.
    ~Barrier() = default;
    Barrier(const Barrier&) = delete;
    Barrier& operator=(const Barrier&) = delete;

    // Waits until `parties` calls wait. Returns true in one of them, the last, which does not suspend. If the fiber is
    // cancelled during the wait or its carrier shuts down, the throwing overload throws SystemError(operation_aborted),
    // the other sets `error`; if the barrier was passed nevertheless, there is no error. Context: a fiber or a plain
    // thread, where blocking is allowed; elsewhere both throw BlockingOperationException. Never allocates.
    bool wait() {
        bool leader;
        constexpr const char* call = "sync::Barrier::wait";
        detail::throwOnError(core_.wait(leader, never, call), call);
        return leader;
    }
    bool wait(ErrorCode& error) {
        bool leader;
        error = core_.wait(leader, never, "sync::Barrier::wait");
        return leader;
    }
    // The same with a deadline, at which it sets `error` to timed_out.
    bool waitUntil(Deadline deadline, ErrorCode& error) {
        bool leader;
        error = core_.wait(leader, deadline, "sync::Barrier::waitUntil");
        return leader;
    }

    // The number of waiting parties. May be outdated when it returns. Any thread.
    std::size_t waiters() const noexcept { return core_.waiters(); }

  private:
    detail::BasicBarrier<detail::NativeSync> core_;
};

}  // namespace weft::sync
