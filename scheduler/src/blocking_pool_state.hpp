// BlockingPool::State: the queue and the threads of a BlockingPool, which share it with the pool.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <list>
#include <mutex>
#include <thread>
#include <vector>

#include <weft/scheduler/blocking_pool.hpp>
#include <weft/scheduler/detail/kept_in_fork.hpp>

namespace weft {

// Context: any thread; in a forked process only forked(), refuseFork() and counts().
class BlockingPool::State : public std::enable_shared_from_this<State>, public detail::KeptInFork {
  public:
    static constexpr const char* callName = "blocking";

    struct Counts {
        std::size_t threads = 0;
        std::size_t idle = 0;
        std::size_t queued = 0;
    };

    explicit State(BlockingPoolOptions options);

    // True in a process that was forked after the pool was created.
    bool forked() const noexcept;
    void refuseFork(const char* call) const;
    // True on a thread of this pool; false in a forked process.
    bool isOwnThread() const noexcept;

    // Throws SystemError(EAGAIN), with the job not in the queue.
    void enqueue(Job& job);
    // For a waiter whose wait was interrupted. False: the job is done. True: its thread will end `wait`. Throws
    // SystemError(operation_aborted) if no thread has begun; the job is then no longer in the queue.
    bool waitAgain(Job& job, const Suspension& wait);
    // Ends the threads once the queue is empty. Joins them, unless BlockingPoolOptions::joinsThreads is false.
    void close() noexcept;
    Counts counts() const;

  private:
    using Threads = std::list<std::thread>;

    // A carrier may be bound to one CPU.
    static std::vector<unsigned> permittedCpus();
    std::string fullText() const;
    bool startThread() noexcept;
    void work(Threads::iterator self) noexcept;
    bool awaitWork(std::unique_lock<std::mutex>& held);
    void runFirst(std::unique_lock<std::mutex>& held) noexcept;

    const BlockingPoolOptions options_;
    const std::vector<unsigned> cpus_;
    const std::uint32_t forkGeneration_;
    mutable std::mutex lock_;  // guards the members below
    std::condition_variable changed_;
    Queue queue_;
    std::size_t queued_ = 0;
    Threads threads_;       // not joinable if joinsThreads is false
    std::thread ended_;     // the thread that ended last; the next one joins it
    std::size_t idle_ = 0;  // threads without a call, those that are starting included
    bool closing_ = false;
};

}  // namespace weft
