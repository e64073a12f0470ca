// AsioScheduler: Asio's scheduler and reactor for the explorer: the work count, the queue under a lock, and a reactor
// that finds the kernel's events and is interrupted only when it is not known to be awake.
#pragma once

#include <deque>
#include <functional>
#include <mutex>
#include <utility>

#include "atomics.hpp"
#include "blocking.hpp"

namespace weft::model {

// boost::asio::detail::scheduler of Asio 1.26 with its reactor, run by one thread.
class AsioScheduler {
  public:
    using Handler = std::function<void()>;

    // --- any thread
    void workStarted() { work_.fetch_add(1, std::memory_order_seq_cst); }
    void workFinished() {
        if (work_.fetch_sub(1, std::memory_order_seq_cst) == 1) stop();
    }
    void post(Handler handler) {
        workStarted();
        const std::lock_guard held(lock_);
        queue_.push_back(std::move(handler));
        interrupt();
    }
    void stop() {
        const std::lock_guard held(lock_);
        stopped_ = true;
        interrupt();
    }
    // A kernel event for which no operation waits.
    void edge() { interrupter_.signal(); }
    // A kernel event for an operation, which is work until its handler has run. At most once.
    void event(Handler handler) {
        {
            const std::lock_guard held(kernel_);
            found_ = std::move(handler);
        }
        interrupter_.signal();
    }
    bool stopped() {
        const std::lock_guard held(lock_);
        return stopped_;
    }

    // --- the thread that runs it. `wait(mayWait)`: the reactor's run(), without the lock.
    template <class Wait>
    bool runOne(Wait wait) {
        if (work_.load(std::memory_order_seq_cst) == 0) return stop(), false;
        std::unique_lock held(lock_);
        while (!stopped_) {
            const bool taskFirst = !std::exchange(taskRan_, !queue_.empty());
            if (!taskFirst) {
                call(held);
                return true;
            }
            const bool mayWait = queue_.empty();
            awake_ = !mayWait;
            held.unlock();
            wait(mayWait);
            held.lock();
            awake_ = true;
            taskRan_ = !queue_.empty();
        }
        return false;
    }
    template <class Look>
    bool pollOne(Look look) {
        if (work_.load(std::memory_order_seq_cst) == 0) return stop(), false;
        std::unique_lock held(lock_);
        if (stopped_) return false;
        if (queue_.empty()) {
            held.unlock();
            look();
            held.lock();
            awake_ = true;
        }
        if (queue_.empty()) return false;
        call(held);
        return true;
    }
    // epoll_wait(): ended by the interrupter, which is sticky.
    void block() { interrupter_.wait(); }
    // The reactor calls the handler of an event.
    bool callFound() {
        Handler handler;
        {
            const std::lock_guard held(kernel_);
            handler = std::exchange(found_, nullptr);
        }
        if (!handler) return false;
        handler();
        workFinished();
        return true;
    }
    bool empty() {
        const std::lock_guard held(lock_);
        return queue_.empty();
    }

  private:
    // Context: with the lock held.
    void interrupt() {
        if (!std::exchange(awake_, true)) interrupter_.signal();
    }
    void call(std::unique_lock<Mutex>& held) {
        const Handler handler = std::move(queue_.front());
        queue_.pop_front();
        taskRan_ = false;
        held.unlock();
        handler();
        workFinished();
    }

    Atomic<long> work_{0};
    Mutex lock_{"asio"};
    Event interrupter_{"interrupter"};
    std::deque<Handler> queue_;  // the lock guards these four
    bool stopped_ = false;
    bool awake_ = true;
    bool taskRan_ = false;
    Mutex kernel_{"kernel"};
    Handler found_;  // guarded by the same lock
};

}  // namespace weft::model
