// AsioScheduler and Epoll: Asio's scheduler and its epoll descriptor for the explorer. Asio interrupts its reactor only
// when that may be asleep; the kernel keeps an interrupt until a system call, blocking or not, consumes it.
#pragma once

#include <deque>
#include <functional>
#include <iterator>
#include <mutex>
#include <utility>

#include "atomics.hpp"
#include "blocking.hpp"

namespace weft::model {

// Null in Asio's queue: the reactor's turn.
using AsioOperation = std::function<void()>;
using AsioOperations = std::deque<AsioOperation>;

inline void moveAll(AsioOperations& from, AsioOperations& to) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
    from.clear();
}

// The epoll descriptor: all that is ready is reported by one call, once. The interrupter is an eventfd that stays
// readable; arming it again makes it ready.
class Epoll {
  public:
    // ---- any thread ----
    void interrupt() { ready_.signal(); }
    // `operation`: the one to call, null for a descriptor without one. The signal and the event are one step.
    void event(AsioOperation operation) {
        ready_.signal();
        if (operation) found_.push_back(std::move(operation));
    }

    // ---- the loop: epoll_wait() without and with a timeout of zero ----
    void wait(AsioOperations& found) {
        ready_.wait();
        moveAll(found_, found);
    }
    void look(AsioOperations& found) {
        ready_.look();
        moveAll(found_, found);
    }

  private:
    Event ready_{"epoll"};
    AsioOperations found_;
};

// boost::asio::detail::scheduler of Asio 1.26 and 1.28 with the concurrency hint 1, run by one thread.
class AsioScheduler {
  public:
    Epoll& epoll() { return epoll_; }

    // ---- any thread ----
    void workStarted() { work_.fetch_add(1, std::memory_order_seq_cst); }
    void workFinished() {
        if (work_.fetch_sub(1, std::memory_order_seq_cst) == 1) stop();
    }
    void post(AsioOperation operation) {
        workStarted();
        const std::lock_guard held(lock_);
        queue_.push_back(std::move(operation));
        interrupt();
    }
    void stop() {
        const std::lock_guard held(lock_);
        stopped_ = true;
        interrupt();
    }

    // ---- the thread that runs it ----
    // Posts inside an operation.
    void postHere(AsioOperation operation) {
        ++ownWork_;
        posted_.push_back(std::move(operation));
    }
    // Balances the unit of work that is subtracted after each operation.
    void compensate() { ++ownWork_; }
    // do_run_one(). `task(idle, found)`: the reactor's run(). Returns false when the context is stopped.
    template <class Task>
    bool runOne(Task task) {
        std::unique_lock held(lock_);
        while (!stopped_) {
            const AsioOperation first = std::move(queue_.front());
            queue_.pop_front();
            const bool idle = queue_.empty();
            if (!first) taskInterrupted_ = !idle;
            held.unlock();
            if (first) return call(first), true;
            task(idle, posted_);
            publishOwnWork(0);
            held.lock();
            taskInterrupted_ = true;
            moveAll(posted_, queue_);
            queue_.push_back(nullptr);
        }
        return false;
    }

  private:
    // Context: with the lock held.
    void interrupt() {
        if (!std::exchange(taskInterrupted_, true)) epoll_.interrupt();
    }
    void call(const AsioOperation& operation) {
        operation();
        ownWork_ < 1 ? workFinished() : publishOwnWork(1);
        ownWork_ = 0;
        if (posted_.empty()) return;
        const std::lock_guard held(lock_);
        moveAll(posted_, queue_);
    }
    void publishOwnWork(long finished) {
        const long started = std::exchange(ownWork_, 0) - finished;
        if (started > 0) work_.fetch_add(started, std::memory_order_seq_cst);
    }

    Epoll epoll_;
    Atomic<long> work_{0};
    Mutex lock_{"asio"};
    AsioOperations queue_{nullptr};  // the lock guards these three
    bool stopped_ = false;
    bool taskInterrupted_ = true;
    long ownWork_ = 0;  // not in work_ yet
    AsioOperations posted_;
};

}  // namespace weft::model
