#include <weft/scheduler/blocking_pool.hpp>

#include <system_error>

#include <pthread.h>

#include <weft/scheduler/assert.hpp>
#include <weft/scheduler/detail/signals_blocked.hpp>
#include <weft/scheduler/errors.hpp>

#include "cpus.hpp"
#include "fork_mark.hpp"

namespace weft {

namespace {

constexpr const char* callName = "blocking";

void require(bool accepted, const char* name, const std::string& value, const char* range) {
    if (accepted) return;
    throw ConfigurationError("BlockingPoolOptions::" + std::string(name) + " is '" + value + "'; accepted: " + range);
}

BlockingPoolOptions validated(BlockingPoolOptions options) {
    options.validate();
    return options;
}

}  // namespace

void BlockingPoolOptions::validate() const {
    require(threads >= 1 && threads <= 16'384, "threads", std::to_string(threads), "1 to 16384");
    require(idle >= Duration::zero() && idle <= std::chrono::hours(24), "idle (ns)", std::to_string(idle.count()),
            "0 to 24 h");
    require(maxQueued <= 10'000'000, "maxQueued", std::to_string(maxQueued), "0 to 10000000");
    require(!name.empty() && name.size() <= 15, "name", name, "1 to 15 characters");
}

BlockingPool::BlockingPool(BlockingPoolOptions options)
    : options_(validated(std::move(options))), cpus_(detail::allowedCpus()), forkGeneration_(detail::watchForks()) {}

BlockingPool::~BlockingPool() {
    Threads threads;
    {
        std::lock_guard held(lock_);
        WEFT_ASSERT(queue_.empty(), "a BlockingPool is destroyed while calls wait for a thread");
        closing_ = true;
        threads.swap(threads_);
        changed_.notify_all();
    }
    for (std::thread& thread : threads) thread.join();
    if (ended_.joinable()) ended_.join();
}

// The first wait can be interrupted. If it was, and a thread has begun, the second one cannot.
void BlockingPool::execute(Job& job) {
    if (forkGeneration_ != detail::forkGeneration()) throw detail::forkedError("BlockingPool::run");
    {
        Suspension wait(callName);
        enqueue(job, wait);
        if (wait.park() == WakeReason::resource) return;
    }
    Suspension wait(callName);
    {
        std::lock_guard held(lock_);
        if (job.done) return;
        if (job.linked) {
            queue_.remove(job);
            --queued_;
            throw SystemError(operationAborted(), callName);
        }
        job.key = wait.key();
    }
    static_cast<void>(wait.parkUninterruptibly());
}

// Each idle thread serves one of the queued calls, so a call beyond their number needs another thread.
void BlockingPool::enqueue(Job& job, const Suspension& wait) {
    std::lock_guard held(lock_);
    if (queued_ >= idle_) {
        const bool started = threads_.size() < options_.threads && startThread();
        if (!started && threads_.empty()) {
            throw SystemError(fromErrno(EAGAIN), "blocking: no thread can be started; raise the limit of threads");
        }
        if (!started && queued_ - idle_ >= options_.maxQueued) {
            throw SystemError(fromErrno(EAGAIN), "blocking: " + std::to_string(queued_) +
                                                     " calls wait for a thread already; try again later, or raise the "
                                                     "limits of the BlockingPool");
        }
    }
    job.key = wait.key();
    queue_.append(job);
    ++queued_;
    changed_.notify_one();
}

// Context: with the lock. False: the system has no more threads or memory.
bool BlockingPool::startThread() noexcept {
    Threads::iterator self;
    try {
        self = threads_.emplace(threads_.end());
    } catch (const std::bad_alloc&) {
        return false;
    }
    try {
        const detail::SignalsBlocked blocked;
        *self = std::thread([this, self] { work(self); });
        ++idle_;
        return true;
    } catch (const std::exception&) {  // system_error or bad_alloc
        threads_.erase(self);
        return false;
    }
}

void BlockingPool::work(Threads::iterator self) noexcept {
    ::pthread_setname_np(::pthread_self(), options_.name.c_str());
    detail::bindToCpus(cpus_);
    std::thread previous;
    {
        std::unique_lock held(lock_);
        do {
            while (!queue_.empty()) runFirst(held);
        } while (awaitWork(held));
        --idle_;
        if (closing_) return;  // the destructor joins this thread
        previous = std::exchange(ended_, std::move(*self));
        threads_.erase(self);
    }
    if (previous.joinable()) previous.join();
}

// False: there was no work for a while, or the pool is being destroyed; this thread ends.
bool BlockingPool::awaitWork(std::unique_lock<std::mutex>& held) {
    const Deadline limit = deadlineAfter(options_.idle);
    changed_.wait_until(held, limit, [this] { return !queue_.empty() || closing_; });
    return !queue_.empty();
}

void BlockingPool::runFirst(std::unique_lock<std::mutex>& held) noexcept {
    Job& job = *queue_.first();
    queue_.remove(job);
    --queued_;
    --idle_;
    held.unlock();
    job.run(job);
    held.lock();
    ++idle_;  // before the caller runs: its next call can count on this thread
    Queue::Woken woken;
    job.done = true;
    static_cast<void>(Queue::end(job, woken));
    held.unlock();
    woken.resume();
    held.lock();
}

std::size_t BlockingPool::threads() const {
    std::lock_guard held(lock_);
    return threads_.size();
}
std::size_t BlockingPool::idle() const {
    std::lock_guard held(lock_);
    return idle_;
}
std::size_t BlockingPool::queued() const {
    std::lock_guard held(lock_);
    return queued_;
}

}  // namespace weft
