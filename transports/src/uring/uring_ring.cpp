#include "uring/uring_ring.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <utility>

#include <weft/scheduler/assert.hpp>
#include <weft/scheduler/errors.hpp>
#include <weft/scheduler/log.hpp>

namespace weft {

namespace {

constexpr std::chrono::nanoseconds refusalPause = std::chrono::milliseconds(1);
constexpr unsigned refusalsUntilWarning = 100;  // in a row, so for a tenth of a second or more
constexpr unsigned completionsPerEntry = 16;
constexpr unsigned mostCompletions = 65'536;

__kernel_timespec toKernelTimespec(Duration duration) noexcept {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(duration);
    return {seconds.count(), (duration - seconds).count()};
}

// The kernel has no memory or time for the call now. Every other error lasts, as that of a sandbox.
bool passes(int error) noexcept {
    return error == EINTR || error == ETIME || error == EAGAIN || error == EBUSY || error == ENOMEM;
}

// Nothing else could wake the carrier or end its operations, so the program cannot go on.
[[noreturn, gnu::cold, gnu::noinline]] void endProgram(int error) noexcept {
    char text[160];
    std::snprintf(text, sizeof text, "io_uring_enter is refused for good: %s (error %d)", ::strerrordesc_np(error),
                  error);
    detail::assertionFailed("passes(error)", text, __FILE__, __LINE__);
}

}  // namespace

// Tries the ways in which the kernel can run its work for the ring, best first: only inside its calls (6.1), when the
// thread next enters the kernel (5.19), or by interrupting the thread.
void UringRing::open(unsigned entries) {
    constexpr unsigned common = IORING_SETUP_SUBMIT_ALL | IORING_SETUP_CQSIZE;
    constexpr unsigned ways[] = {
        common | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_TASKRUN_FLAG,
        common | IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG, IORING_SETUP_CQSIZE};
    int result = -EINVAL;
    for (const unsigned flags : ways) {
        io_uring_params parameters{};
        parameters.flags = flags;
        parameters.cq_entries = std::min(entries * completionsPerEntry, mostCompletions);
        result = calls_.setup(entries, ring_, parameters);
        if (result != -EINVAL) break;
    }
    if (result < 0) throw SystemError(fromErrno(-result), "io_uring_setup");
    open_ = true;
    thread_ = std::this_thread::get_id();
    fdIsRegistered_ = calls_.registerRingFd(ring_) > 0;  // optional: saves a look-up in each call
}

void UringRing::close() noexcept {
    if (!std::exchange(open_, false)) return;
    calls_.exit(ring_);
}

// ---- submitting ----

io_uring_sqe* UringRing::takeEntry() noexcept {
    if (io_uring_sqe* const entry = io_uring_get_sqe(&ring_)) [[likely]]
        return entry;
    submitAndGetEvents();
    return io_uring_get_sqe(&ring_);
}

void UringRing::prepare(UringOperation& operation, io_uring_sqe& entry) noexcept {
    ++counters_.entries;
    operation.state_ |= UringOperation::submitted;
    operation.kind_.prepare(operation, entry);
    io_uring_sqe_set_data(&entry, &operation);
}

void UringRing::prepareCancel(UringOperation& operation, io_uring_sqe& entry) noexcept {
    ++counters_.entries;
    operation.state_ |= UringOperation::cancelSubmitted;
    io_uring_prep_cancel(&entry, &operation, 0);
    io_uring_sqe_set_data64(&entry, reinterpret_cast<std::uint64_t>(&operation) | cancelBit);
}

void UringRing::start(UringOperation& operation) noexcept {
    WEFT_DEBUG_ASSERT(onItsThread(), "an io_uring operation was started on another carrier");
    operation.begin();
    io_uring_sqe* const entry = waiting_.empty() ? takeEntry() : nullptr;
    if (entry == nullptr) return waiting_.append(operation);
    prepare(operation, *entry);
}

void UringRing::cancel(UringOperation& operation) noexcept {
    WEFT_ASSERT(!operation.inFlight() || onItsThread(), "an io_uring operation was cancelled on another carrier");
    if (!operation.inFlight() || operation.cancelling()) return;
    operation.state_ |= UringOperation::cancelRequested;
    if (!operation.has(UringOperation::submitted)) {
        operation.unlink();
        return dropped_.append(operation);
    }
    io_uring_sqe* const entry = cancels_.empty() ? takeEntry() : nullptr;
    if (entry == nullptr) return cancels_.append(operation);
    prepareCancel(operation, *entry);
}

// Returns false when some operations still wait, because the kernel accepts no entries now.
bool UringRing::submitWaiting() noexcept {
    while (!waiting_.empty() || !cancels_.empty()) {
        io_uring_sqe* const entry = takeEntry();
        if (entry == nullptr) return false;
        if (detail::ReadyLink* const next = cancels_.popFirst()) {
            prepareCancel(static_cast<UringOperation&>(*next), *entry);
        } else {
            prepare(static_cast<UringOperation&>(*waiting_.popFirst()), *entry);
        }
    }
    return true;
}

// ---- the kernel ----

void UringRing::wait(Duration atMost) noexcept {
    if (!submitWaiting()) atMost = std::min<Duration>(atMost, refusalPause);
    __kernel_timespec timeout = toKernelTimespec(atMost);
    const int result = calls_.submitAndWait(ring_, atMost == Duration::max() ? nullptr : &timeout);
    ++counters_.enters;
    if (result >= 0 || result == -EINTR || result == -ETIME) {
        refusals_ = 0;
        return;
    }
    noteRefusal(-result);
    const timespec pause{0, refusalPause.count()};
    ::nanosleep(&pause, nullptr);
}

// Does not return if the error does not pass.
[[gnu::cold]] void UringRing::noteRefusal(int error) noexcept {
    // Valgrind checks descriptors and takes the number of a registered ring for that of a closed file.
    if (error == EBADF && std::exchange(fdIsRegistered_, false)) {
        calls_.unregisterRingFd(ring_);
    } else if (!passes(error)) {
        endProgram(error);
    } else if (++refusals_ == refusalsUntilWarning) {
        log(LogLevel::warning,
            {"io_uring_enter has been refused 100 times in a row; the sockets of this carrier wait: ",
             ::strerrordesc_np(error)});
    }
}

void UringRing::submitAndFetch() noexcept {
    submitWaiting();
    const bool has = IO_URING_READ_ONCE(*ring_.sq.kflags) & (IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW);
    if (has || io_uring_sq_ready(&ring_) > 0) submitAndGetEvents();
}

bool UringRing::hasSettled() const noexcept {
    const bool overflown = IO_URING_READ_ONCE(*ring_.sq.kflags) & IORING_SQ_CQ_OVERFLOW;
    return !overflown && !hasCompletions();
}

void UringRing::submitAndGetEvents() noexcept {
    ++counters_.enters;
    const int result = calls_.submitAndGetEvents(ring_);
    if (result < 0 && !passes(-result)) noteRefusal(-result);
}

// The kernel refuses (EALREADY) to cancel an operation that it is executing, which may then continue; so the request is
// repeated.
void UringRing::reportCancel(UringOperation& operation, int result) {
    operation.state_ &= static_cast<UringOperation::State>(~UringOperation::cancelSubmitted);
    if (operation.has(UringOperation::over)) return complete(operation, operation.result_, operation.flags_);
    if (result < 0) cancels_.append(operation);
}

// The completions stay in the ring and are dispatched in turn, without the results taken here.
bool UringRing::takeResult(const UringOperation& operation, int& result) noexcept {
    io_uring_cqe* completion = nullptr;
    unsigned head = 0;
    io_uring_for_each_cqe(&ring_, head, completion) {
        if (completion->user_data != reinterpret_cast<std::uint64_t>(&operation) || completion->res < 0) continue;
        result = std::exchange(completion->res, -ECANCELED);
        return true;
    }
    return false;
}

bool UringRing::takeCompletion(UringOperation& operation, int& result, unsigned& flags) noexcept {
    const auto take = [&](int& lastResult, std::uint32_t& lastFlags) {
        result = std::exchange(lastResult, -ECANCELED);
        flags = std::exchange(lastFlags, lastFlags & ~static_cast<std::uint32_t>(IORING_CQE_F_BUFFER));
        return true;
    };
    // The last completion may be held here until the cancellation is answered.
    if (operation.has(UringOperation::over)) return take(operation.result_, operation.flags_);
    io_uring_cqe* completion = nullptr;
    unsigned head = 0;
    io_uring_for_each_cqe(&ring_, head, completion) {
        if (completion->user_data != reinterpret_cast<std::uint64_t>(&operation)) continue;
        if (completion->res == -ECANCELED && (completion->flags & IORING_CQE_F_MORE)) continue;  // already taken
        return take(completion->res, completion->flags);
    }
    return false;
}

bool UringRing::kernelIsDoneWith(const UringOperation& operation) const noexcept {
    if (!operation.has(UringOperation::submitted)) return operation.cancelling();
    if (operation.has(UringOperation::over)) return true;
    io_uring_cqe* completion = nullptr;
    unsigned head = 0;
    io_uring_for_each_cqe(&ring_, head, completion) {
        const bool own = completion->user_data == reinterpret_cast<std::uint64_t>(&operation);
        if (own && !(completion->flags & IORING_CQE_F_MORE)) return true;
    }
    return false;
}

int UringRing::reportedError(const UringOperation& operation) const noexcept {
    if (operation.has(UringOperation::over)) return std::min(operation.result_, 0);
    io_uring_cqe* completion = nullptr;
    unsigned head = 0;
    io_uring_for_each_cqe(&ring_, head, completion) {
        const bool own = completion->user_data == reinterpret_cast<std::uint64_t>(&operation);
        if (own && completion->res < 0 && completion->res != -ECANCELED) return completion->res;
    }
    return 0;
}

[[gnu::cold, gnu::noinline]] bool UringRing::dispatchDropped(bool& isEvent) {
    auto& operation = static_cast<UringOperation&>(*dropped_.popFirst());
    isEvent = operation.kind_.isEvent;
    complete(operation, -ECANCELED, 0);
    return true;
}

}  // namespace weft
