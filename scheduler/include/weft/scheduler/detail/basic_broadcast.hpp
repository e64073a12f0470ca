// BasicBroadcast: the core of sync::Broadcast: the last values sent, which every receiver reads at its own pace.
// docs/explanation/protocol.md section 20.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <utility>

#include <weft/scheduler/detail/least.hpp>
#include <weft/scheduler/detail/value_storage.hpp>
#include <weft/scheduler/detail/waiter_queue.hpp>
#include <weft/scheduler/errors.hpp>

namespace weft::detail {

// S: the waits, the deadlines and the lock, which guards everything. A waiter takes the lock before it returns.
//
// Value number n is in place n % capacity until the last receiver that had subscribed before it was sent has read it,
// or until value n + capacity replaces it.
template <class S, class T>
class BasicBroadcast {
    using Wait = typename S::Wait;
    using Until = typename S::Until;
    using Queue = BasicWaiterQueue<Wait, NoRequest, S>;
    using Woken = typename Queue::Woken;

  public:
    using Number = std::uint64_t;
    using Waiter = typename Queue::Waiter;

    explicit BasicBroadcast(std::size_t capacity) : places_(new Kept[capacity]), capacity_(capacity) {}
    ~BasicBroadcast() {
        for (std::size_t i = 0; i < capacity_; ++i) places_[i].drop();
    }
    BasicBroadcast(const BasicBroadcast&) = delete;
    BasicBroadcast& operator=(const BasicBroadcast&) = delete;

    // The number of receivers that will find the value; 0: it was dropped, because there are none or it is closed.
    std::size_t send(T&& value) {
        Woken woken;
        std::size_t receivers = 0;
        std::optional<T> replaced;  // destroyed without the lock
        {
            std::lock_guard held(lock_);
            if (closed_ || receivers_ == 0) return 0;
            receivers = receivers_;
            placeOf(end_).keep(std::move(value), receivers, replaced);
            end_ = end_ + 1;
            Queue::endAll(waiters_.takeAll(), woken);
        }
        woken.resume();
        return receivers;
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

    // A new receiver, which begins with the next value: its number.
    Number subscribe() {
        std::lock_guard held(lock_);
        receivers_ = receivers_ + 1;
        return end_;
    }
    // The receiver that would have read value `next` next leaves.
    void unsubscribe(Number next) noexcept {
        Number end;
        {
            std::lock_guard held(lock_);
            receivers_ = receivers_ - 1;
            end = end_;
        }
        for (; next < end; ++next) {
            std::optional<T> dropped;  // destroyed without the lock
            std::lock_guard held(lock_);
            next = greatest(next, oldest());
            if (next < end) placeOf(next).wasRead(dropped);
        }
    }

    // True: `out` is value `next`, or the oldest that there is, and `missed` are the values that were replaced before
    // this receiver read them; `next` is the number after it. Or it is closed and all has been read; `out` is empty.
    bool tryReceive(Number& next, std::optional<T>& out, std::uint64_t& missed) {
        std::lock_guard held(lock_);
        missed = 0;
        if (next == end_) return closed_;
        if (next < oldest()) {
            missed = oldest() - next;
            next = oldest();
        }
        placeOf(next).read(out);
        ++next;
        return true;
    }
    // Waits until tryReceive() returns true. Errors: timedOut(), operationAborted(). Throws BlockingOperationException,
    // which names `call`, where nothing may block.
    [[gnu::noinline]] ErrorCode receive(Number& next, std::optional<T>& out, std::uint64_t& missed, Until until,
                                        const char* call) {
        while (!tryReceive(next, out, missed)) {
            Waiter waiter;
            Wait wait(call);
            waiter.key = wait.key();
            if (!enlist(waiter, next)) continue;
            const WakeReason why = wait.park(until);
            withdraw(waiter);
            if (why != WakeReason::resource) return errorOf(why);
        }
        return {};
    }
    // The halves of a wait, for a caller that waits for several things; as those of BasicQueue.
    [[nodiscard]] bool enlist(Waiter& waiter, Number next) {
        std::lock_guard held(lock_);
        if (next != end_ || closed_) return false;
        waiters_.append(waiter);
        return true;
    }
    void withdraw(Waiter& waiter) noexcept {
        std::lock_guard held(lock_);  // [Y2]
        waiters_.remove(waiter);
    }

    bool isClosed() const {
        std::lock_guard held(lock_);
        return closed_;
    }
    std::size_t receivers() const {
        std::lock_guard held(lock_);
        return receivers_;
    }
    std::size_t waiters() const {
        std::lock_guard held(lock_);
        return waiters_.size();
    }

  private:
    // A place, and how many receivers have not read its value.
    class Kept {
      public:
        void keep(T&& value, std::size_t readers, std::optional<T>& replaced) noexcept {
            if (unread_ != 0) moveTo(replaced);
            ::new (static_cast<void*>(&place_.value)) T(std::move(value));
            unread_ = readers;
        }
        // The last reader gets the value itself, the others a copy.
        void read(std::optional<T>& out) noexcept {
            if (--unread_ == 0) return moveTo(out);
            out.emplace(std::as_const(place_.value));
        }
        void wasRead(std::optional<T>& dropped) noexcept {
            if (--unread_ == 0) moveTo(dropped);
        }
        void drop() noexcept {
            if (unread_ != 0) place_.value.~T();
        }

      private:
        void moveTo(std::optional<T>& out) noexcept {
            out.emplace(std::move(place_.value));
            place_.value.~T();
        }

        Place<T> place_;
        std::size_t unread_ = 0;  // 0: there is no value
    };

    Kept& placeOf(Number number) noexcept { return places_[number % capacity_]; }
    // The oldest value that has not been replaced. It may have been read by all.
    Number oldest() const noexcept { return end_ > capacity_ ? end_ - capacity_ : 0; }

    mutable typename S::ShortLock lock_;
    typename S::template Plain<bool> closed_{false};
    typename S::template Plain<Number> end_{0};  // the number of the next value
    typename S::template Plain<std::size_t> receivers_{0};
    std::unique_ptr<Kept[]> places_;
    const std::size_t capacity_;
    Queue waiters_;
};

}  // namespace weft::detail
