// BlockingPool: threads on which fibers run functions that block their thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include <weft/scheduler/clock.hpp>
#include <weft/scheduler/detail/waiter_queue.hpp>
#include <weft/scheduler/suspension.hpp>
#include <weft/scheduler/unique_function.hpp>

namespace weft {

// Limits of a BlockingPool.
struct BlockingPoolOptions {
    std::size_t threads = 512;                 // 1 to 16,384
    Duration idle = std::chrono::seconds(10);  // how long a thread without work lives: 0 to 24 h
    std::size_t maxQueued = 65'536;            // calls that may wait for a thread: 0 to 10,000,000
    std::string name = "weft-block";           // of the threads: 1 to 15 characters
    // False: the destructor does not wait for posted functions. Those that run go on and must own all that they use;
    // those that have not begun are called as threads become free.
    bool joinsThreads = true;

    // Throws ConfigurationError, which names the option, its value and what is accepted.
    void validate() const;
};

// Threads start when a call finds none idle, up to the limit; further calls wait for a thread, first come first served.
// A thread that has been idle for a while ends. The threads block the signals that carriers block, and run on the CPUs
// that were permitted to the thread that created the pool, not on the CPU of a bound carrier. A function that calls
// fork() must end the child by exec(), exit() or _exit(): if it returns there, the child logs an error and aborts.
class BlockingPool {
  public:
    // Starts no thread. Throws as BlockingPoolOptions::validate().
    explicit BlockingPool(BlockingPoolOptions options = {});
    // Waits until all posted functions have been called, and joins the threads, unless
    // BlockingPoolOptions::joinsThreads is false. Meanwhile posted functions may post others, for which no threads
    // start; a run() of theirs fails with operation_aborted. Precondition: no call is in run(), and this is no thread
    // of the pool, unless it does not join them. A process that was forked after the pool was created has no threads of
    // it: run() and post() throw SystemError(ENOTSUP), and the destructor does nothing; the pool's memory stays until
    // the process ends.
    ~BlockingPool();
    BlockingPool(const BlockingPool&) = delete;
    BlockingPool& operator=(const BlockingPool&) = delete;

    // Calls `fn()` on one of the threads, while the calling fiber is parked (a plain thread blocks); returns its
    // result, or rethrows its exception. `fn` may use the caller's variables. If it returns a reference, the call
    // returns that reference: it must not be to a local or thread_local variable of `fn`. A cancellation or a shutdown
    // ends the call with SystemError(operation_aborted) if `fn` has not begun. Otherwise the call waits for its end,
    // and the caller's next wait reports the cancellation. Throws SystemError(EAGAIN), without a call of `fn`, if too
    // many calls wait or the first thread cannot be started; BlockingOperationException where nothing may block.
    // Allocates only to start a thread. A function of the pool that calls run() occupies a second thread: if all of the
    // pool's threads do so at once, none of the calls ever begins.
    template <class F>
    std::invoke_result_t<F&> run(F&& fn) {
        Call<F> call(fn);
        execute(call);
        return call.take();
    }

    // Calls `fn()` on one of the threads, in its turn among the calls of run(), and does not wait for it. An exception
    // of `fn` is logged. `fn` is destroyed on the pool's thread. Throws as run(), and std::bad_alloc; then `fn` is not
    // called. Any thread, also a handler: it never blocks.
    void post(UniqueFunction<void()> fn);

    // True in a process that was forked after the pool was created. Any thread.
    bool forked() const noexcept;
    // True on a thread of this pool; false in a forked process. Any thread.
    bool isOwnThread() const noexcept;

    // These may be outdated when they return; 0 in a forked process. Any thread.
    std::size_t threads() const;
    std::size_t idle() const;    // threads without a call
    std::size_t queued() const;  // calls that wait for a thread

  private:
    // What the queue holds for each call. The pool's lock guards `done`.
    struct Request {
        void (*run)(Request&) noexcept = nullptr;
        bool posted = false;  // `run` destroys the request
        bool done = false;
    };
    using Queue = detail::BasicWaiterQueue<Suspension, Request>;
    using Job = Queue::Waiter;
    struct Posted;

    // One call, on the caller's stack.
    template <class F>
    struct Call final : Job {
        using Result = std::invoke_result_t<F&>;
        static constexpr bool refers = std::is_reference_v<Result>;
        using Referred = std::remove_reference_t<Result>*;
        using Value = std::conditional_t<std::is_void_v<Result>, detail::NoRequest, Result>;
        using Stored = std::conditional_t<refers, Referred, Value>;

        explicit Call(F& function) noexcept : function(function) { this->run = &Call::runThis; }
        static void runThis(Request& request) noexcept {
            auto& self = static_cast<Call&>(request);
            try {
                if constexpr (std::is_void_v<Result>) {
                    std::invoke(self.function);
                } else if constexpr (refers) {
                    auto&& referred = std::invoke(self.function);
                    self.result.emplace(std::addressof(referred));
                } else {
                    self.result.emplace(std::invoke(self.function));
                }
            } catch (...) {
                self.error = std::current_exception();
            }
        }
        Result take() {
            if (error) std::rethrow_exception(std::move(error));
            if constexpr (refers) {
                return static_cast<Result>(**result);
            } else if constexpr (!std::is_void_v<Result>) {
                return *std::move(result);
            }
        }
        F& function;
        std::optional<Stored> result;
        std::exception_ptr error;
    };

    void execute(Job& job);

    // On the heap, because in a forked process its condition variable can never be destroyed: it would wait for threads
    // that do not exist there. The threads share it.
    class State;
    std::shared_ptr<State> state_;
};

}  // namespace weft
