// Service: an io_context under a carrier's event loop: which callers run it, when its handlers run, and how the carrier
// sleeps inside it.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include <boost/asio/io_context.hpp>

#include <weft/asio_io/asio_io_handler.hpp>
#include <weft/asio_io/detail/asio_thread.hpp>
#include <weft/asio_io/detail/served_context.hpp>
#include <weft/scheduler/detail/slice_clock.hpp>
#include <weft/scheduler/event_loop.hpp>
#include <weft/scheduler/wait_list.hpp>

#include "context_turn.hpp"
#include "handler_slot.hpp"
#include "operation_list.hpp"
#include "remote_operations.hpp"
#include "runners.hpp"
#include "served_reactor.hpp"
#include "wake_timer.hpp"

namespace weft::asio_io::detail {

// The io_context runs while a caller is in serve() and Asio's count of work is not zero, or for life. Context: the
// loop, unless stated otherwise. Files: service.cpp (its place on the loop, its callers), service_turn.cpp (a turn of
// the loop, functions of executors, the sleep), service_operations.cpp (operations that fibers wait for).
class Service {
  public:
    // Returns when the loop has attached the service. Throws std::logic_error when the loop has no AsioIoHandler or
    // serves another context, SystemError when the loop has ended or the kernel refuses, and
    // BlockingOperationException. Context: any thread or fiber that may block.
    Service(ServedContext& context, EventLoop& loop, bool forLife);
    ~Service();
    Service(const Service&) = delete;
    Service& operator=(const Service&) = delete;

    // Detaches the service from the loop, after which nothing of it runs. Cancels functions in fibers, which then end.
    // Returns false in a forked process, where nothing ends. Call it once. Context: any thread or fiber that may block.
    bool leave() noexcept;
    // Destroys the functions that have not run. After leave().
    void destroyHeld() noexcept;

    // Runs the context until `most` handlers have run, it is stopped or out of work, `deadline` has passed or, if
    // `waits` is false, no handler is ready. Returns the number of handlers run; throws a handler's exception. No
    // handler runs for a caller that has left. Context: any fiber or thread that may block.
    std::size_t serve(std::size_t most, bool waits, Deadline deadline, const char* call);
    bool servesForLife() const noexcept { return forLife_; }
    // Call after the io_context's stop(); any thread.
    void noteStop() noexcept { stopRequested_.store(true, std::memory_order_release); }  // [A5]
    void noteRestart() noexcept;  // call after the io_context's restart(); any thread

    void run(ExecutorTask& task) noexcept;  // for tasks not submitted by the loop or its carrier's fibers
    // Pass a handler's exception to the oldest caller of serve(), or to the log. capture() is for use inside another
    // handler, which first runs to its end. fail() is for a fiber of the carrier.
    void capture(std::exception_ptr error) noexcept;
    void fail(const std::exception_ptr& error) noexcept;

    // For AsioIoHandler.
    bool serving() const noexcept { return context_.runs_; }
    bool hasWork() const noexcept { return serving() && !context_.held_.empty(); }
    PollResult poll(PollGuard* guard, Deadline deadline, Budget budget);
    void wake() noexcept;  // any thread
    // The loop is ending: releases callers, and cancels the operations that fibers wait for. closable() reports when
    // those have ended.
    void beginEnd() noexcept;
    bool closable() noexcept;
    void loopHasEnded() noexcept;  // the loop has run its last task

    // For operations that fibers and threads wait for. of() returns null for a context that no carrier serves; it
    // throws std::bad_alloc. Context of these three: any thread, while the context exists.
    static Service* of(boost::asio::execution_context& context);
    bool isHere() const noexcept { return loop_.inEventLoop(); }
    const std::shared_ptr<RemoteOperations>& remoteOperations() const noexcept { return remoteOperations_; }
    // Operations of the carrier's own fibers, which need no lock. operationBegan() returns false when the loop is
    // ending.
    [[nodiscard]] bool operationBegan(FiberOperation& operation) noexcept;
    void operationEnded(FiberOperation& operation) noexcept;
    // For a fiber that starts an operation. Throws std::bad_alloc. Context: the carrier.
    std::unique_ptr<AsioThread> takeThread();
    void giveThread(std::unique_ptr<AsioThread> thread) noexcept;
    // Calls the handlers of an operation that was ready when it was started, if the context runs. Context: the fiber
    // that started it, inside AsioThread::Use.
    void completeReady(FiberOperation& operation, AsioThread& thread) noexcept;

  private:
    class Turn;
    class Calls;
    struct OwnHandler;
    class Mark;

    void attach();
    void mark();
    void detach() noexcept;
    bool hasLoopEnded() noexcept;
    template <class Block>
    bool inLoop(Block block);

    void open(const std::shared_ptr<Runner>& runner) noexcept;
    void end(const Runner& runner) noexcept;
    void reopen() noexcept;
    void beginServing() noexcept;
    void closeIfUnused() noexcept;
    void releaseAllRunners(const std::exception_ptr& error = nullptr) noexcept;
    void count(std::size_t handlers) noexcept {
        if (runners_.count(handlers)) [[unlikely]]
            closeIfUnused();
    }
    void deliver(const std::exception_ptr& error) noexcept;
    void deliverCaptured() noexcept {
        if (captured_ != nullptr) [[unlikely]]
            deliver(std::exchange(captured_, nullptr));
    }
    // Asio's flag decides. Ours avoids reading it, which takes a lock, for each function.
    bool stopSeen() noexcept { return stopRequested_.load(std::memory_order_acquire) && stopConfirmed(); }  // [A5]
    bool stopConfirmed() noexcept;

    void runHeld(Turn& turn) noexcept;
    void runReady(Turn& turn) noexcept;
    PollResult pollWrapped(Budget budget);
    template <class Step>
    std::size_t step(Step step) noexcept;
    void endNonWaitingRunners() noexcept;
    void sleep(PollGuard& guard, Deadline deadline, PollResult& result) noexcept;
    bool wrappedIsReadable() noexcept;
    void holdWork() noexcept;
    void releaseWork() noexcept;
    void releaseWorkIfAllCounted() noexcept;
    void wakeArrived() noexcept;
    void post(const OwnHandler& handler) noexcept;
    void giveBack(const OwnHandler& handler) noexcept;

    bool closing() const noexcept { return closing_.load(std::memory_order_relaxed); }
    bool operationsLeft() const noexcept;
    void forgetOperations() noexcept;
    void goOnToTheEnd() noexcept;

    ServedContext& context_;
    EventLoop& loop_;
    const bool forLife_;
    AsioIoHandler* handler_ = nullptr;
    ServedReactor* reactor_ = nullptr;  // owned by the io_context
    ServedReactor::Watch wrappedWatch_;
    bool mayHaveEvents_ = true;  // the wrapped handler may have events from the kernel
    bool mayBeReadable_ = true;  // its descriptor may be readable without a new edge
    std::optional<WakeTimer> timer_;
    weft::detail::SliceClock slice_;  // for a turn
    Runners runners_;
    std::exception_ptr captured_;
    unsigned ownCalls_ = 0;  // calls of the service's own handlers
    bool severalNoted_ = false;
    bool ended_ = false;                      // detached
    std::atomic<bool> stopRequested_{false};  // writers: any thread; the loop clears it
    WakePost wakePost_;
    HandlerSlot wakeSlot_;
    OperationList operationsHere_;
    const std::shared_ptr<RemoteOperations> remoteOperations_;
    AsioThread* threads_ = nullptr;  // not in use by an operation
    std::size_t threadCount_ = 0;
    // The loop is ending. Written by the loop. relaxed: for other threads it is an early check; the loop's own check
    // and endLock_ decide.
    std::atomic<bool> closing_{false};
    std::mutex endLock_;
    WaitList endWaiters_;
    bool loopHasEnded_ = false;  // guarded by endLock_
};

}  // namespace weft::asio_io::detail
