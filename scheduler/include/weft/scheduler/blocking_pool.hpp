// BlockingPool: threads on which fibers run functions that block their thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <weft/scheduler/clock.hpp>
#include <weft/scheduler/detail/waiter_queue.hpp>
#include <weft/scheduler/suspension.hpp>

namespace weft {

// Limits of a BlockingPool.
struct BlockingPoolOptions {
    std::size_t threads = 512;                 // 1 to 16,384
    Duration idle = std::chrono::seconds(10);  // how long a thread without work lives: 0 to 24 h
    std::size_t maxQueued = 65'536;            // calls that may wait for a thread: 0 to 10,000,000
    std::string name = "weft-block";           // of the threads: 1 to 15 characters

    // Throws ConfigurationError, which names the option, its value and what is accepted.
    void validate() const;
};

// Threads start when a call finds none idle, up to the limit; further calls wait for a thread, first come first served.
// A thread that has been idle for a while ends. The threads block the signals that carriers block, and run on the CPUs
// that were permitted to the thread that created the pool, not on the CPU of a bound carrier.
class BlockingPool {
  public:
    // Starts no thread. Throws as BlockingPoolOptions::validate().
    explicit BlockingPool(BlockingPoolOptions options = {});
    // Joins the threads. Precondition: no call is in run(). In a process that was forked after the pool was created,
    // the pool has no threads: run() throws SystemError(ENOTSUP), and the pool cannot be destroyed, so end such a
    // process by exec() or _exit().
    ~BlockingPool();
    BlockingPool(const BlockingPool&) = delete;
    BlockingPool& operator=(const BlockingPool&) = delete;

    // Calls `fn()` on one of the threads, while the calling fiber is parked (a plain thread blocks); returns its
    // result, or rethrows its exception. `fn` may use the caller's variables. A cancellation or a shutdown ends the
    // call with SystemError(operation_aborted) if `fn` has not begun. Otherwise the call waits for its end, and the
    // caller's next wait reports the cancellation. Throws SystemError(EAGAIN), without a call of `fn`, if too many
    // calls wait or the first thread cannot be started; BlockingOperationException where nothing may block. Allocates
    // only to start a thread.
    template <class F>
    std::invoke_result_t<F&> run(F&& fn) {
        Call<F> call(fn);
        execute(call);
        return call.take();
    }

    // These may be outdated when they return. Any thread.
    std::size_t threads() const;
    std::size_t idle() const;    // threads without a call
    std::size_t queued() const;  // calls that wait for a thread

  private:
    // What the queue holds for each call. The pool's lock guards `done`.
    struct Request {
        void (*run)(Request&) noexcept = nullptr;
        bool done = false;
    };
    using Queue = detail::BasicWaiterQueue<Suspension, Request>;
    using Job = Queue::Waiter;

    // One call, on the caller's stack.
    template <class F>
    struct Call final : Job {
        using Result = std::invoke_result_t<F&>;

        explicit Call(F& function) noexcept : function(function) { this->run = &Call::runThis; }
        static void runThis(Request& request) noexcept {
            auto& self = static_cast<Call&>(request);
            try {
                if constexpr (std::is_void_v<Result>) {
                    std::invoke(self.function);
                } else {
                    self.result.emplace(std::invoke(self.function));
                }
            } catch (...) {
                self.error = std::current_exception();
            }
        }
        Result take() {
            if (error) std::rethrow_exception(std::move(error));
            if constexpr (!std::is_void_v<Result>) return *std::move(result);
        }
        F& function;
        std::optional<std::conditional_t<std::is_void_v<Result>, detail::NoRequest, Result>> result;
        std::exception_ptr error;
    };
    using Threads = std::list<std::thread>;

    void execute(Job& job);
    void enqueue(Job& job, const Suspension& wait);
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
    Threads threads_;
    std::thread ended_;     // the thread that ended last; the next one joins it
    std::size_t idle_ = 0;  // threads without a call, those that are starting included
    bool closing_ = false;
};

}  // namespace weft
