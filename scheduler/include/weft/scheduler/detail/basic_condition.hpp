// BasicCondition: the core of sync::Condition. docs/explanation/protocol.md section 19.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/scheduler/detail/waiter_queue.hpp>
#include <weft/scheduler/errors.hpp>

namespace weft::detail {

// S: the atomics, the waits, the deadlines and the lock of the queue.
template <class S>
class BasicCondition {
    using Wait = typename S::Wait;
    using Until = typename S::Until;
    using Queue = BasicWaiterQueue<Wait, NoRequest, S>;
    using Waiter = typename Queue::Waiter;
    using Woken = typename Queue::Woken;

  public:
    // Unlocks the mutex, waits for a notification, and locks the mutex again without interruption. Errors: timedOut(),
    // operationAborted(). Throws BlockingOperationException, which names `call`, where nothing may block; the mutex is
    // then still locked.
    template <class Mutex>
    ErrorCode wait(Mutex& mutex, Until until, const char* call) {
        Waiter waiter;
        const WakeReason why = [&] {
            Wait wait(call);
            enqueue(waiter, wait);
            mutex.unlock();
            return wait.park(until);
        }();
        if (why != WakeReason::resource) leaveQueue(waiter);
        mutex.lockUninterruptibly();
        if (why == WakeReason::resource) return {};
        return errorOf(why);
    }

    void notifyOne() noexcept {
        // relaxed: a waiter queues before it unlocks the mutex; a caller that has locked it since sees the count [M7].
        if (waiting_.load(std::memory_order_relaxed) == 0) return;
        Woken woken;
        {
            const typename S::QueueLock held(this);
            while (Waiter* const first = queue_.first()) {
                queue_.remove(*first);
                if (queue_.empty()) waiting_.store(0, std::memory_order_relaxed);  // [M7]
                if (Queue::end(*first, woken)) break;
            }
        }
        woken.resume();
    }
    void notifyAll() noexcept {
        if (waiting_.load(std::memory_order_relaxed) == 0) return;  // as above [M7]
        Woken woken;
        {
            const typename S::QueueLock held(this);
            Waiter* const all = queue_.takeAll();
            waiting_.store(0, std::memory_order_relaxed);  // [M7]
            Queue::endAll(all, woken);
        }
        woken.resume();
    }

    std::size_t waiters() const noexcept {
        const typename S::QueueLock held(this);
        return queue_.size();
    }

  private:
    void enqueue(Waiter& waiter, Wait& wait) {
        const typename S::QueueLock held(this);
        waiter.key = wait.key();
        queue_.append(waiter);
        waiting_.store(1, std::memory_order_relaxed);  // [M7]
    }
    void leaveQueue(Waiter& waiter) noexcept {
        const typename S::QueueLock held(this);
        queue_.remove(waiter);
        if (queue_.empty()) waiting_.store(0, std::memory_order_relaxed);  // [M7]
    }

    typename S::template Atomic<std::uint32_t> waiting_{0};  // 1: the queue is not empty; written with the queue's lock
    Queue queue_;
};

}  // namespace weft::detail
