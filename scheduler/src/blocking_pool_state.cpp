#include "blocking_pool_state.hpp"

#include <cerrno>
#include <system_error>

#include <pthread.h>

#include <weft/scheduler/assert.hpp>
#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/detail/signals_blocked.hpp>
#include <weft/scheduler/errors.hpp>

#include "cpus.hpp"
#include "fork_mark.hpp"

namespace weft {

namespace {

thread_local const void* poolOfThread = nullptr;  // the State of the pool whose thread this is

}  // namespace

BlockingPool::State::State(BlockingPoolOptions options)
    : options_(std::move(options)), cpus_(permittedCpus()), forkGeneration_(detail::watchForks()) {}

std::vector<unsigned> BlockingPool::State::permittedCpus() {
    const Carrier* here = Carrier::current();
    return here == nullptr ? detail::allowedCpus() : here->group().blockingPool().state_->cpus_;
}

bool BlockingPool::State::forked() const noexcept {
    return forkGeneration_ != detail::forkGeneration();
}

void BlockingPool::State::refuseFork(const char* call) const {
    if (forked()) throw detail::forkedError(call);
}

bool BlockingPool::State::isOwnThread() const noexcept {
    return poolOfThread == this && !forked();
}

void BlockingPool::State::close() noexcept {
    WEFT_ASSERT(!options_.joinsThreads || !isOwnThread(), "a BlockingPool is destroyed on a thread that it would join");
    Threads threads;
    {
        std::lock_guard held(lock_);
        for (const Job* job = queue_.first(); job != nullptr; job = job->next) {
            WEFT_ASSERT(job->posted, "a BlockingPool is destroyed while calls wait for a thread");
        }
        closing_ = true;
        threads.swap(threads_);
        changed_.notify_all();
    }
    for (std::thread& thread : threads) {
        if (thread.joinable()) thread.join();
    }
    if (ended_.joinable()) ended_.join();
}

bool BlockingPool::State::waitAgain(Job& job, const Suspension& wait) {
    std::lock_guard held(lock_);
    if (job.done) return false;
    if (job.linked) {
        queue_.remove(job);
        --queued_;
        throw SystemError(operationAborted(), callName);
    }
    job.key = wait.key();
    return true;
}

// Each idle thread serves one of the queued calls, so a call beyond their number needs another thread. Once the pool is
// being destroyed, no thread starts, because close() joins only those that it has found: the thread that calls post()
// takes the job after its function has returned. A function that called run() would wait for its own thread.
void BlockingPool::State::enqueue(Job& job) {
    std::lock_guard held(lock_);
    if (closing_ && !job.posted) throw SystemError(operationAborted(), callName);
    if (queued_ >= idle_) {
        const bool started = !closing_ && threads_.size() < options_.threads && startThread();
        if (!started && threads_.empty() && !closing_) {
            throw SystemError(fromErrno(EAGAIN), "blocking: no thread can be started; raise the limit of threads");
        }
        if (!started && queued_ - idle_ >= options_.maxQueued) {
            throw SystemError(fromErrno(EAGAIN), fullText());
        }
    }
    queue_.append(job);
    ++queued_;
    changed_.notify_one();
}

// Context: with the lock.
std::string BlockingPool::State::fullText() const {
    return "blocking: the pool is full: its " + std::to_string(threads_.size()) + " threads are in calls, and " +
           std::to_string(queued_) + " calls wait, of at most " + std::to_string(options_.maxQueued) +
           "; try again later, or raise BlockingPoolOptions::threads or maxQueued (for weft::blocking(): "
           "CarrierOptions::blockingThreads)";
}

// Context: with the lock. False: the system has no more threads or memory.
bool BlockingPool::State::startThread() noexcept {
    Threads::iterator self;
    try {
        self = threads_.emplace(threads_.end());
    } catch (const std::bad_alloc&) {
        return false;
    }
    try {
        const detail::SignalsBlocked blocked;
        *self = std::thread([state = shared_from_this(), self] { state->work(self); });
        if (!options_.joinsThreads) self->detach();
        ++idle_;
        return true;
    } catch (const std::exception&) {  // system_error or bad_alloc
        threads_.erase(self);
        return false;
    }
}

void BlockingPool::State::work(Threads::iterator self) noexcept {
    ::pthread_setname_np(::pthread_self(), options_.name.c_str());
    detail::bindToCpus(cpus_);
    poolOfThread = this;
    std::thread previous;
    {
        std::unique_lock held(lock_);
        do {
            while (!queue_.empty()) runFirst(held);
        } while (awaitWork(held));
        --idle_;
        if (closing_) return;  // close() has taken the thread out of the list
        previous = std::exchange(ended_, std::move(*self));
        threads_.erase(self);
    }
    if (previous.joinable()) previous.join();
}

// False: there was no work for a while, or the pool is being destroyed; this thread ends.
bool BlockingPool::State::awaitWork(std::unique_lock<std::mutex>& held) {
    const Deadline limit = deadlineAfter(options_.idle);
    changed_.wait_until(held, limit, [this] { return !queue_.empty() || closing_; });
    return !queue_.empty();
}

void BlockingPool::State::runFirst(std::unique_lock<std::mutex>& held) noexcept {
    Job& job = *queue_.first();
    queue_.remove(job);
    --queued_;
    --idle_;
    const bool posted = job.posted;
    held.unlock();
    job.run(job);
    if (forked()) detail::endOfForkedFunction();
    held.lock();
    ++idle_;  // before the caller runs: its next call can count on this thread
    if (posted) return;
    Queue::Woken woken;
    job.done = true;
    static_cast<void>(Queue::end(job, woken));
    held.unlock();
    woken.resume();
    held.lock();
}

BlockingPool::State::Counts BlockingPool::State::counts() const {
    if (forked()) return {};  // another thread may have held the lock during the fork
    std::lock_guard held(lock_);
    return {threads_.size(), idle_, queued_};
}

}  // namespace weft
