// sync::Semaphore: a number of permits that fibers and threads acquire and release.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <weft/scheduler/deadline.hpp>
#include <weft/scheduler/detail/basic_semaphore.hpp>
#include <weft/scheduler/detail/sync_policy.hpp>
#include <weft/scheduler/errors.hpp>

namespace weft::detail {

extern template class BasicSemaphore<NativeSync>;

}  // namespace weft::detail

namespace weft::sync {

class SemaphorePermit;

// First in, first out: a request is satisfied in full, and none overtakes one that waits, so a request for many permits
// is not starved by requests for few. Permits may be released by any fiber or thread.
//     sync::Semaphore slots(16);
//     auto permit = slots.acquirePermit();  // at most 16 callers are here at a time
// Source of the interface: Tokio's Semaphore.
class Semaphore {
  public:
    // 2^30 - 1. A call that would add permits beyond it, and a request for more, fail an assertion.
    static constexpr std::uint32_t mostPermits = detail::BasicSemaphore<detail::NativeSync>::most;

    explicit Semaphore(std::uint32_t permits);
    // No fiber or thread may wait for permits. After a release(), the caller that acquires those permits may destroy
    // the semaphore even if the release() has not returned yet.
    ~Semaphore() = default;
    Semaphore(const Semaphore&) = delete;
    Semaphore& operator=(const Semaphore&) = delete;

    // Waits until the caller has `count` permits. Errors, after which the call has acquired nothing: operation_aborted
    // if the fiber was cancelled during the wait or its carrier shuts down, EPIPE if the semaphore is or gets closed.
    // The throwing overload throws them as SystemError. Permits that are free are taken without a check for
    // cancellation. Context: a fiber or a plain thread. Where nothing may block, permits that are free are taken, and
    // otherwise both overloads throw BlockingOperationException. Never allocates.
    void acquire(std::uint32_t count = 1) {
        if (!core_.tryAcquire(count)) [[unlikely]]
            acquireSlow(count);
    }
    void acquire(std::uint32_t count, ErrorCode& error) { error = acquireOr(count, never, "sync::Semaphore::acquire"); }
    // The same with a deadline, at which it returns false (or sets `error` to timed_out).
    [[nodiscard]] bool acquireUntil(Deadline deadline, std::uint32_t count = 1);
    [[nodiscard]] bool acquireUntil(Deadline deadline, std::uint32_t count, ErrorCode& error) {
        error = acquireOr(count, deadline, "sync::Semaphore::acquireUntil");
        return !error;
    }
    // False if there are not enough free permits, other requests wait, or the semaphore is closed. Never blocks. Any
    // thread.
    [[nodiscard]] bool tryAcquire(std::uint32_t count = 1) noexcept { return core_.tryAcquire(count); }
    // As acquire(); the result releases the permits.
    [[nodiscard]] SemaphorePermit acquirePermit(std::uint32_t count = 1);

    // Any thread; never blocks, allocates or throws.
    void release(std::uint32_t count = 1) noexcept {
        if (!core_.release(count)) [[unlikely]]
            tooMany();
    }

    // Ends every wait and every later request with EPIPE. Returns false if the semaphore was closed before. Any thread.
    bool close() noexcept { return core_.close(); }
    // Removes up to `count` of the free permits for good; returns how many. Any thread.
    std::uint32_t forget(std::uint32_t count) noexcept { return core_.forget(count); }

    // These may be outdated when they return. Any thread.
    std::uint32_t permits() const noexcept { return core_.permits(); }
    bool isClosed() const noexcept { return core_.isClosed(); }
    std::size_t waiters() const noexcept { return core_.waiters(); }

  private:
    void acquireSlow(std::uint32_t count);
    ErrorCode acquireOr(std::uint32_t count, Deadline deadline, const char* call);
    [[noreturn]] static void tooMany() noexcept;

    detail::BasicSemaphore<detail::NativeSync> core_;
};

// Permits that are released at the end of this object's life. Move-only. The semaphore must outlive it.
class [[nodiscard]] SemaphorePermit {
  public:
    SemaphorePermit() = default;
    // Takes over permits that the caller has acquired.
    SemaphorePermit(Semaphore& semaphore, std::uint32_t count) noexcept : semaphore_(&semaphore), count_(count) {}
    SemaphorePermit(SemaphorePermit&& other) noexcept
        : semaphore_(other.semaphore_), count_(std::exchange(other.count_, 0)) {}
    SemaphorePermit& operator=(SemaphorePermit&& other) noexcept {
        if (this != &other) {
            release();
            semaphore_ = other.semaphore_;
            count_ = std::exchange(other.count_, 0);
        }
        return *this;
    }
    ~SemaphorePermit() { release(); }

    std::uint32_t count() const noexcept { return count_; }
    void release() noexcept {
        if (count_ > 0) semaphore_->release(std::exchange(count_, 0));
    }
    // The permits are never released.
    void forget() noexcept { count_ = 0; }

  private:
    Semaphore* semaphore_ = nullptr;
    std::uint32_t count_ = 0;
};

inline SemaphorePermit Semaphore::acquirePermit(std::uint32_t count) {
    acquire(count);
    return {*this, count};
}

}  // namespace weft::sync
