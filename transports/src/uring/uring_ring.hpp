// UringRing: one ring and its operations. It must not know what an operation is for.
#pragma once

#include <cstdint>
#include <thread>

#include <liburing.h>

#include <weft/scheduler/clock.hpp>
#include <weft/transports/detail/ready_list.hpp>
#include <weft/transports/uring/uring_calls.hpp>
#include <weft/transports/uring/uring_counters.hpp>

#include "uring/uring_operation.hpp"

namespace weft {

// An operation that finds no room in the ring waits in a list until wait() or submitAndFetch() submits it. So nothing
// fails or allocates after open(). Context: the thread that calls open(), except for construction.
class UringRing {
  public:
    UringRing(UringCalls& calls, UringCounters& counters) noexcept : calls_(calls), counters_(counters) {}
    ~UringRing() { close(); }
    UringRing(const UringRing&) = delete;
    UringRing& operator=(const UringRing&) = delete;

    // Throws SystemError when the kernel refuses the ring. `entries` is the size of the submission queue, 1 to 32768.
    void open(unsigned entries);
    // Precondition: no operation is in flight, or it and its buffers are never freed.
    void close() noexcept;
    bool isOpen() const noexcept { return open_; }
    io_uring& native() noexcept { return ring_; }
    UringCalls& calls() noexcept { return calls_; }

    void start(UringOperation& operation) noexcept;
    // Requests cancellation, once. The operation completes with -ECANCELED, or with what it has already done.
    void cancel(UringOperation& operation) noexcept;

    // Takes the next result >= 0 of the operation from the undispatched completions; the operation will see -ECANCELED
    // instead. Returns false when there is none. Call submitAndFetch() before, to get what the kernel holds back.
    bool takeResult(const UringOperation& operation, int& result) noexcept;

    // As takeResult(), but includes errors and the completion's flags. The last completion, without IORING_CQE_F_MORE,
    // stays: each later call returns it again, with -ECANCELED and without IORING_CQE_F_BUFFER.
    bool takeCompletion(UringOperation& operation, int& result, unsigned& flags) noexcept;
    // True when no entry or request of the kernel names the operation any more: its last completion is here and waits
    // to be dispatched. Precondition: the operation is in flight.
    bool kernelIsDoneWith(const UringOperation& operation) const noexcept;
    // The error (a negative number) of an undispatched completion of the operation, or 0 if there is none. The
    // completion stays in the ring. Precondition: the operation is in flight.
    int reportedError(const UringOperation& operation) const noexcept;

    // Submits entries and waits for a completion. If the kernel refuses the call (no memory, too many completions),
    // returns after a pause of a millisecond, so that the caller can retry; logs that once it has happened 100 times in
    // a row. Ends the program with a message for an error that does not pass, as that of a sandbox; so does
    // submitAndFetch().
    void wait(Duration atMost) noexcept;  // Duration::max(): no limit
    // Submits queued entries, and fetches completions that the kernel holds back (deferred work, an overflow). Makes no
    // system call if there are neither.
    void submitAndFetch() noexcept;
    bool hasCompletions() const noexcept { return !dropped_.empty() || io_uring_cq_ready(&ring_) > 0; }
    // True when the kernel works for this ring only inside calls of its thread.
    bool isDeferred() const noexcept { return ring_.flags & IORING_SETUP_DEFER_TASKRUN; }
    // True when all completions have been dispatched.
    bool hasSettled() const noexcept;
    // True when there are entries that have not been submitted.
    bool hasEntries() const noexcept { return !waiting_.empty() || !cancels_.empty() || io_uring_sq_ready(&ring_) > 0; }
    // Dispatches the next completion to its operation; false when there is none. `isEvent`: whether it is an event of a
    // socket (UringOperation::Kind::isEvent), which counts against the poll's budget.
    bool dispatchNext(bool& isEvent);

  private:
    static constexpr std::uint64_t cancelBit = 1;  // set in the key of an entry that cancels the operation

    bool dispatchDropped(bool& isEvent);
    io_uring_sqe* takeEntry() noexcept;
    void prepare(UringOperation& operation, io_uring_sqe& entry) noexcept;
    void prepareCancel(UringOperation& operation, io_uring_sqe& entry) noexcept;
    bool submitWaiting() noexcept;
    static void complete(UringOperation& operation, int result, unsigned flags);
    void reportCancel(UringOperation& operation, int result);

    void submitAndGetEvents() noexcept;
    void noteRefusal(int error) noexcept;
    bool onItsThread() const noexcept { return std::this_thread::get_id() == thread_; }

    UringCalls& calls_;
    UringCounters& counters_;
    io_uring ring_{};
    bool open_ = false;
    bool fdIsRegistered_ = false;
    unsigned refusals_ = 0;  // in a row
    std::thread::id thread_;
    detail::ReadyList waiting_;  // operations to submit once there is room
    detail::ReadyList cancels_;  // cancellations to submit once there is room
    detail::ReadyList dropped_;  // cancelled before they were submitted
};

// An operation stays in flight until the kernel has also answered its cancellation, which refers to its address.
inline void UringRing::complete(UringOperation& operation, int result, unsigned flags) {
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

// Takes the completion off the ring before it calls the operation, which may start others.
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
        reportCancel(operation, result);
    } else {
        isEvent = operation.kind_.isEvent;
        complete(operation, result, flags);
    }
    return true;
}

}  // namespace weft
