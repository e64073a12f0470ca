// ServedContext: the io_context of a Context, as its executors use it. It does not know the callers of run().
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/version.hpp>

#include <weft/asio_io/detail/executor_task.hpp>
#include <weft/scheduler/detail/current_home.hpp>
#include <weft/scheduler/event_loop.hpp>
#include <weft/scheduler/fiber_set.hpp>
#include <weft/scheduler/wait_list.hpp>

// The library and every program that uses it must agree on these, because the reactor's class is replaced
// (docs/adr/0017).
static_assert(BOOST_ASIO_VERSION == 102600, "weft::asio requires Asio 1.26 (Boost 1.81)");
#if defined(BOOST_ASIO_HAS_IO_URING_AS_DEFAULT) || defined(BOOST_ASIO_DISABLE_EPOLL) || \
    defined(BOOST_ASIO_DISABLE_THREADS)
#error "weft::asio needs Asio's epoll reactor and its threads: remove the BOOST_ASIO_ macro"
#endif

namespace weft::asio_io::detail {

class Service;

class ServedContext : public boost::asio::io_context {
  public:
    EventLoop& loop() const noexcept { return *loop_; }

    // Queues the task after all earlier ones of this caller. Destroys it when the loop has ended. Never throws.
    // Context: any thread.
    void submit(ExecutorTask& task) noexcept {
        // The loop's own unit of work covers tasks submitted by the loop and by fibers of its carrier.
        if (!closed_.load(std::memory_order_acquire) && isHere() && holdsWork_) [[likely]]  // [A4]
            return held_.pushUncounted(task);
        submitSlow(task);
    }
    // True when the caller may run a handler now: in the loop's dispatch or under HandlersHere, while the context runs,
    // and with fewer than mostDepth handlers nested.
    bool mayRunHere() const noexcept {
        return isHere() && (loop_->dispatching() || handlersHere_) && runs_ && depth_ < mostDepth;
    }
    // True in the loop and in fibers of its carrier.
    bool isHere() const noexcept { return weft::detail::currentHome() == home_; }
    bool runsInThisThread() const noexcept { return isHere() && loop_->dispatching(); }
    // Call these around a function run under mayRunHere(). capture() passes an exception to the caller of run().
    void enterHandler() noexcept { ++depth_; }
    void leaveHandler() noexcept { --depth_; }
    // While it exists, a fiber of the carrier may call handlers and must not wait. Context: that fiber.
    class HandlersHere {
      public:
        explicit HandlersHere(ServedContext& context) noexcept : context_(context) { context_.handlersHere_ = true; }
        HandlersHere(const HandlersHere&) = delete;
        HandlersHere& operator=(const HandlersHere&) = delete;
        ~HandlersHere() { context_.handlersHere_ = false; }

      private:
        ServedContext& context_;
    };
    void capture(std::exception_ptr error) noexcept;

    // Outstanding work, as Asio counts it. Context: any thread.
    void workStarted() noexcept;
    void workFinished() noexcept;

    // Functions in fibers of the carrier: see FunctionInFiber. A function's exception goes to the caller of run(), or
    // to the log. A wait that ended by cancellation or shutdown (operation_aborted) is not an error.
    void functionStarted();
    void functionEnded() noexcept;
    void functionFailed(const std::exception_ptr& error) noexcept;
    FiberSet& functions() noexcept { return functions_; }
    Service& service() noexcept { return *service_; }

    // Memory for tasks. Blocks are normally freed on the loop, which keeps them for reuse. allocate() throws
    // std::bad_alloc. Context: any thread.
    void* allocate(std::size_t size) {
        if (size > blockSize) return ::operator new(size);
        if (!isHere() || kept_ == nullptr) return ::operator new(blockSize);
        --keptCount_;
        return std::exchange(kept_, kept_->next);
    }
    void deallocate(void* block, std::size_t size) noexcept {
        if (size > blockSize) return ::operator delete(block, size);
        if (closed_.load(std::memory_order_acquire) || !isHere() || keptCount_ >= mostKept)  // [A4]
            return ::operator delete(block, blockSize);
        keep(block);
    }
    // As deallocate(), but only in the loop's dispatch.
    void deallocateHere(void* block, std::size_t size) noexcept {
        if (size > blockSize) return ::operator delete(block, size);
        if (keptCount_ >= mostKept) return ::operator delete(block, blockSize);
        keep(block);
    }

  protected:
    ServedContext();
    ~ServedContext();
    // Each is called once, in this order. serveOn() throws what Service's constructor throws; `forLife`: the context
    // runs without callers of run(). After leaveLoop() nothing runs; destroyHandlers() destroys what has not run.
    void serveOn(EventLoop& loop, bool forLife);
    void leaveLoop() noexcept;
    void destroyHandlers() noexcept;

    std::unique_ptr<Service> service_;

  private:
    friend class Service;
    friend class ExecutorTask;
    struct KeptBlock {
        KeptBlock* next;
    };
    static constexpr std::size_t blockSize = 192;
    static constexpr unsigned mostKept = 256;
    static constexpr unsigned mostDepth = 16;

    void submitSlow(ExecutorTask& task) noexcept;
    void keep(void* block) noexcept {
        kept_ = ::new (block) KeptBlock{kept_};
        ++keptCount_;
    }

    FiberSet functions_;
    std::mutex functionsLock_;
    std::size_t functionCount_ = 0;  // with functionsEnd_, guarded by functionsLock_
    WaitList functionsEnd_;
    EventLoop* loop_ = nullptr;
    std::shared_ptr<EventLoop> keptLoop_;  // loop_, if a shared_ptr owns it: work may be submitted after its end
    const Carrier* home_ = nullptr;        // the loop's carrier
    std::atomic<bool> closed_{false};      // the loop must no longer be used [A4]
    KeptBlock* kept_ = nullptr;            // used by the loop and by fibers of its carrier
    unsigned keptCount_ = 0;
    unsigned depth_ = 0;
    bool runs_ = false;
    bool handlersHere_ = false;
    bool holdsWork_ = false;  // the loop holds a unit of work, while it is awake
    ExecutorTasks held_;      // submitted on the carrier, or while the context did not run; used on the carrier only
};

// Created before its fiber is spawned, destroyed after its function. Counts as work of the context, whose destructor
// waits for it.
class FunctionInFiber {
  public:
    explicit FunctionInFiber(ServedContext& context) : context_(&context) { context.functionStarted(); }
    FunctionInFiber(FunctionInFiber&& other) noexcept : context_(std::exchange(other.context_, nullptr)) {}
    FunctionInFiber& operator=(FunctionInFiber&&) = delete;
    ~FunctionInFiber() {
        if (context_ != nullptr) context_->functionEnded();
    }
    // Context: its fiber.
    template <class Call>
    void run(Call& call) {
        const FiberSet::Member member(context_->functions());  // cancelled with the context
        try {
            call();
        } catch (...) {
            context_->functionFailed(std::current_exception());
        }
    }

  private:
    ServedContext* context_;
};

}  // namespace weft::asio_io::detail
