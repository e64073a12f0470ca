// BasicWatch: the core of sync::Watch: a value with a version, and the callers that wait for a newer one.
// docs/explanation/protocol.md section 20.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>

#include <weft/scheduler/detail/waiter_queue.hpp>
#include <weft/scheduler/errors.hpp>

namespace weft::detail {

// S: the waits, the deadlines and the lock, which guards everything. A waiter takes the lock before it returns.
template <class S, class T>
class BasicWatch {
    using Wait = typename S::Wait;
    using Until = typename S::Until;
    using Queue = BasicWaiterQueue<Wait, NoRequest, S>;
    using Woken = typename Queue::Woken;

  public:
    using Version = std::uint64_t;
    using Waiter = typename Queue::Waiter;

    explicit BasicWatch(T initial) : value_(std::move(initial)) {}

    // Calls `change(value)` under the lock. If it returns true, the version grows and every waiter is woken; returns
    // false, without a call, once it is closed.
    template <class Change>
    bool changeIf(Change change) {
        Woken woken;
        {
            std::lock_guard held(lock_);
            if (closed_) return false;
            if (!change(value_)) return true;
            version_ = version_ + 1;
            Queue::endAll(waiters_.takeAll(), woken);
        }
        woken.resume();
        return true;
    }
    // The value and its version.
    T read(Version& version) const {
        std::lock_guard held(lock_);
        version = version_;
        return value_;
    }
    Version version() const {
        std::lock_guard held(lock_);
        return version_;
    }
    // False if it was closed before.
    bool close() noexcept {
        Woken woken;
        {
            std::lock_guard held(lock_);
            if (closed_) return false;
            closed_ = true;
            Queue::endAll(waiters_.takeAll(), woken);
        }
        woken.resume();
        return true;
    }
    bool isClosed() const {
        std::lock_guard held(lock_);
        return closed_;
    }
    std::size_t waiters() const {
        std::lock_guard held(lock_);
        return waiters_.size();
    }

    // True: the version is another one than `seen`, which becomes the current one, and `out` is the value. Or it is
    // closed, and `out` is empty.
    bool tryNext(Version& seen, std::optional<T>& out) {
        std::lock_guard held(lock_);
        if (version_ == seen) return closed_;
        seen = version_;
        out.emplace(value_);
        return true;
    }
    // Waits until tryNext() returns true. Errors: timedOut(), operationAborted(). Throws BlockingOperationException,
    // which names `call`, where nothing may block.
    [[gnu::noinline]] ErrorCode next(Version& seen, std::optional<T>& out, Until until, const char* call) {
        while (!tryNext(seen, out)) {
            Waiter waiter;
            Wait wait(call);
            waiter.key = wait.key();
            if (!enlist(waiter, seen)) continue;
            const WakeReason why = wait.park(until);
            withdraw(waiter);
            if (why != WakeReason::resource) return errorOf(why);
        }
        return {};
    }
    // The halves of a wait, for a caller that waits for several things; as those of BasicQueue.
    [[nodiscard]] bool enlist(Waiter& waiter, Version seen) {
        std::lock_guard held(lock_);
        if (version_ != seen || closed_) return false;
        waiters_.append(waiter);
        return true;
    }
    void withdraw(Waiter& waiter) noexcept {
        std::lock_guard held(lock_);  // [Y2]
        waiters_.remove(waiter);
    }

  private:
    mutable typename S::ShortLock lock_;
    typename S::template Plain<Version> version_{1};
    typename S::template Plain<bool> closed_{false};
    T value_;
    Queue waiters_;
};

}  // namespace weft::detail
