// WaiterQueue: the fibers and threads that wait for one object, first in, first out. The list under every primitive
// that blocks: wait_list.hpp and the locks of weft::sync. docs/explanation/protocol.md section 10.
#pragma once

#include <cstddef>
#include <utility>

#include <weft/scheduler/detail/atomics.hpp>
#include <weft/scheduler/errors.hpp>
#include <weft/scheduler/task.hpp>

namespace weft::detail {

// Guarded by a lock of its owner, under which nothing suspends. A waiter is on the stack of its fiber or thread, so
// the queue never allocates. Wait is Suspension, or the model explorer's equivalent. Request is what the owner keeps
// for each waiter. P: the atomics policy, of which it uses Plain.
template <class Wait, class Request, class P = NativeAtomics>
class BasicWaiterQueue {
    using Key = decltype(std::declval<Wait&>().key());

  public:
    struct Waiter : Request {
        Key key{};
        Waiter* previous = nullptr;
        Waiter* next = nullptr;
        bool linked = false;
    };

    // Waiters whose waits have been ended, but which do not run until resume().
    class Woken {
      public:
        // Makes the waiters runnable, in the order in which they were ended. Context: any thread, after unlocking, so
        // that neither the waiters nor other users of the lock are blocked during the enqueues.
        void resume() noexcept {
            while (Waiter* waiter = first_) {
                first_ = waiter->next;
                const Key key = waiter->key;  // a copy: the waiter is destroyed once it runs
                key.enqueue();
            }
            last_ = nullptr;
        }

      private:
        friend class BasicWaiterQueue;
        void add(Waiter& waiter) noexcept {
            waiter.next = nullptr;
            (last_ ? last_->next : first_) = &waiter;
            last_ = &waiter;
        }

        Waiter* first_ = nullptr;
        Waiter* last_ = nullptr;
    };

    BasicWaiterQueue() = default;
    BasicWaiterQueue(const BasicWaiterQueue&) = delete;
    BasicWaiterQueue& operator=(const BasicWaiterQueue&) = delete;

    bool empty() const noexcept { return first_ == nullptr; }
    Waiter* first() const noexcept { return first_; }
    std::size_t size() const noexcept { return size_; }

    void append(Waiter& waiter) noexcept { insert(waiter, last_, nullptr); }
    void prepend(Waiter& waiter) noexcept { insert(waiter, nullptr, first_); }
    // Does nothing if the waiter is not in the queue.
    void remove(Waiter& waiter) noexcept {
        if (!waiter.linked) return;
        join(waiter.previous, waiter.next);
        waiter.linked = false;
        size_ = size_ - 1;
    }

    // Ends the wait of a waiter that has been removed. True if this call ended it: the waiter then returns without
    // taking the lock, so neither it nor the objects that it may destroy can be used afterwards. False if the wait has
    // ended otherwise; the waiter takes the lock before it returns. The caller must unlock, then resume `woken`. [C2]
    [[nodiscard]] static bool end(Waiter& waiter, Woken& woken) noexcept {
        switch (waiter.key.claim()) {
            case Claim::lost: return false;
            case Claim::early: return true;
            case Claim::enqueue: break;
        }
        woken.add(waiter);
        return true;
    }
    // Removes all waiters; returns the first one, for endAll().
    [[nodiscard]] Waiter* takeAll() noexcept {
        for (Waiter* waiter = first_; waiter != nullptr; waiter = waiter->next) waiter->linked = false;
        Waiter* const all = first_;
        first_ = nullptr;
        last_ = nullptr;
        size_ = 0;
        return all;
    }
    // Calls `before(waiter)` for each and ends its wait, as end().
    template <class Before>
    static void endAll(Waiter* waiter, Woken& woken, Before before) noexcept {
        while (waiter != nullptr) {
            Waiter* const next = waiter->next;
            before(*waiter);
            static_cast<void>(end(*waiter, woken));
            waiter = next;
        }
    }
    static void endAll(Waiter* first, Woken& woken) noexcept {
        endAll(first, woken, [](Waiter&) {});
    }

  private:
    void insert(Waiter& waiter, Waiter* previous, Waiter* next) noexcept {
        join(previous, &waiter);
        join(&waiter, next);
        waiter.linked = true;
        size_ = size_ + 1;
    }
    // Makes them neighbours; null: the end of the queue.
    void join(Waiter* previous, Waiter* next) noexcept {
        if (previous != nullptr) {
            previous->next = next;
        } else {
            first_ = next;
        }
        if (next != nullptr) {
            next->previous = previous;
        } else {
            last_ = previous;
        }
    }

    typename P::template Plain<Waiter*> first_{nullptr};
    typename P::template Plain<Waiter*> last_{nullptr};
    typename P::template Plain<std::size_t> size_{0};
};

struct NoRequest {};

// The error of a wait that ended otherwise than by its resource.
inline ErrorCode errorOf(WakeReason why) noexcept {
    return why == WakeReason::timeout ? timedOut() : operationAborted();
}

}  // namespace weft::detail
