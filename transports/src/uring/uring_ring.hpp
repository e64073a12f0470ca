// UringRing: one ring and the operations that it has. It must not know what an operation is for.
#pragma once

#include <cstdint>
#include <thread>

#include <liburing.h>

#include <weft/scheduler/deadline.hpp>
#include <weft/transports/detail/ready_list.hpp>
#include <weft/transports/uring/uring_calls.hpp>
#include <weft/transports/uring/uring_counters.hpp>

#include "uring/uring_operation.hpp"

namespace weft {

// An operation that finds no room in the ring waits in a list and is submitted by a later call: nothing here fails or
// allocates after open(). Context: the thread that calls open(), for everything but construction.
class UringRing {
  public:
    UringRing(UringCalls& calls, UringCounters& counters) noexcept : calls_(calls), counters_(counters) {}
    ~UringRing() { close(); }
    UringRing(const UringRing&) = delete;
    UringRing& operator=(const UringRing&) = delete;

    // Throws SystemError when the kernel refuses the ring. `entries`: 1 to 32768, of the submission queue.
    void open(unsigned entries);
    // Nothing may be in flight.
    void close() noexcept;
    bool isOpen() const noexcept { return open_; }
    io_uring& native() noexcept { return ring_; }
    UringCalls& calls() noexcept { return calls_; }

    void start(UringOperation& operation) noexcept;
    // Asks it to end, once: it completes with -ECANCELED, or with what it has done already.
    void cancel(UringOperation& operation) noexcept;

    // The next result >= 0 of the operation that it has not been told of; it will be told -ECANCELED instead. False: there
    // is none. Call look() before, for those that the kernel has not reported.
    bool takeResult(const UringOperation& operation, int& result) noexcept;

    // As takeResult(), for errors too, and with the flags of the completion. One without IORING_CQE_F_MORE is the last, and is
    // found again by each call.
    bool takeCompletion(UringOperation& operation, int& result, unsigned& flags) noexcept;
    // The error of a completion that the operation, which is in flight, has not been told of yet, or 0. It stays where it is.
    int reportedError(const UringOperation& operation) const noexcept;

    // Submits and waits for a completion. A kernel that refuses the call (no memory, too many completions) is asked
    // again after a pause of a millisecond.
    void wait(Duration atMost) noexcept;  // Duration::max(): without limit
    // Submits, and takes in what the kernel has, if there is either; no system call otherwise.
    void look() noexcept;
    bool hasCompletions() const noexcept { return !dropped_.empty() || io_uring_cq_ready(&ring_) > 0; }
    // The kernel works for this ring only inside of calls of its thread.
    bool isDeferred() const noexcept { return ring_.flags & IORING_SETUP_DEFER_TASKRUN; }
    // True when all that the kernel has done has been dispatched.
    bool hasSettled() const noexcept;
    // Entries that the kernel has not been told of.
    bool hasEntries() const noexcept {
        return !waiting_.empty() || !cancels_.empty() || io_uring_sq_ready(&ring_) > 0;
    }
    // Tells the operation of the next completion; false: there is none.
    bool dispatchNext(bool& isEvent);

  private:
    static constexpr std::uint64_t cancelBit = 1;  // in the key of an entry that cancels the operation

    bool dispatchDropped(bool& isEvent);
    io_uring_sqe* takeEntry() noexcept;
    void prepare(UringOperation& operation, io_uring_sqe& entry) noexcept;
    void prepareCancel(UringOperation& operation, io_uring_sqe& entry) noexcept;
    bool submitWaiting() noexcept;
    static void tell(UringOperation& operation, int result, unsigned flags);
    void tellOfCancel(UringOperation& operation, int result);

    void submitAndGetEvents() noexcept;
    bool onItsThread() const noexcept { return std::this_thread::get_id() == thread_; }

    UringCalls& calls_;
    UringCounters& counters_;
    io_uring ring_{};
    bool open_ = false;
    std::thread::id thread_;
    detail::ReadyList waiting_;  // for room, to be started
    detail::ReadyList cancels_;  // for room, to be cancelled
    detail::ReadyList dropped_;  // cancelled before they were submitted
};

// An operation is in flight until the kernel has answered for its cancellation, too, which names it.
inline void UringRing::tell(UringOperation& operation, int result, unsigned flags) {
    if (!(flags & IORING_CQE_F_MORE)) {
        if (operation.has(UringOperation::cancelSubmitted)) [[unlikely]] {
            operation.state_ |= UringOperation::over;
            operation.result_ = result;
            operation.flags_ = flags;
            return;
        }
        operation.end();
    }
    operation.kind_.completed(operation, result, flags);
}

// The completion leaves the ring before its operation hears of it, which may start others.
inline bool UringRing::dispatchNext(bool& isEvent) {
    if (!dropped_.empty()) [[unlikely]]
        return dispatchDropped(isEvent);
    const unsigned head = *ring_.cq.khead;
    if (io_uring_smp_load_acquire(ring_.cq.ktail) == head) return false;
    const io_uring_cqe& completion = ring_.cq.cqes[head & ring_.cq.ring_mask];
    const std::uint64_t key = completion.user_data;
    const int result = completion.res;
    const unsigned flags = completion.flags;
    io_uring_smp_store_release(ring_.cq.khead, head + 1);
    ++counters_.completions;
    auto& operation = *reinterpret_cast<UringOperation*>(key & ~cancelBit);
    if (key & cancelBit) [[unlikely]] {
        isEvent = false;
        tellOfCancel(operation, result);
    } else {
        isEvent = operation.kind_.isEvent;
        tell(operation, result, flags);
    }
    return true;
}

}  // namespace weft
