// Service: an io_context under a carrier's event loop: which callers run it, when its handlers run, how the carrier
// sleeps inside it, and how it ends.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include <boost/asio/io_context.hpp>

#include <weft/asio_io/asio_io_handler.hpp>
#include <weft/asio_io/detail/asio_internals.hpp>
#include <weft/scheduler/detail/slice_clock.hpp>
#include <weft/scheduler/event_loop.hpp>
#include <weft/scheduler/fiber_set.hpp>
#include <weft/scheduler/wait_list.hpp>

#include "operation_list.hpp"
#include "reactor.hpp"
#include "remote_operations.hpp"
#include "runners.hpp"
#include "wake_timer.hpp"

namespace weft::asio_io::detail {

// The io_context runs while a caller is in serve() and Asio's count of work is not zero, or for life. Context: the
// loop, unless stated otherwise. Files: service.cpp (its place on the loop, its callers), service_turn.cpp (a turn of
// the loop, the sleep), service_operations.cpp (operations that fibers wait for, functions in fibers), service_end.cpp
// (the end of the Context and of the loop).
class Service {
  public:
    // Returns when the loop has attached the service. Throws std::logic_error when the loop has no AsioIoHandler or
    // serves another context, SystemError when the loop has ended or the kernel refuses, and
    // BlockingOperationException. Context: any thread or fiber that may block.
    Service(boost::asio::io_context& context, EventLoop& loop, bool forLife);
    ~Service();
    Service(const Service&) = delete;
    Service& operator=(const Service&) = delete;

    boost::asio::io_context& context() const noexcept { return context_; }
    EventLoop& loop() const noexcept { return loop_; }
    AsioScheduler& scheduler() const noexcept { return scheduler_; }

    // Runs the context until `most` handlers have run, it is stopped or out of work, `deadline` has passed or, if
    // `waits` is false, no handler is ready. Returns the number of handlers run; throws a handler's exception. No
    // handler runs for a caller that has left. Context: any fiber or thread that may block.
    std::size_t serve(std::size_t most, bool waits, Deadline deadline, const char* call);
    bool servesForLife() const noexcept { return forLife_; }
    void noteRestart();  // call after the io_context's restart(); any thread. Throws std::bad_alloc

    // ---- the end of the Context. Context of these: any thread or fiber that may block ----
    // True when exit() was called on this carrier's thread: nothing may wait for the loop, which is inside exit().
    static bool exitsHere() noexcept;
    // In exit(). Context: the carrier, perhaps inside a handler. Destroys what that has posted.
    void abandonPosted() noexcept { thread_.abandonPosted(); }
    // After that: the carrier no longer knows the context, but goes on if another static object lets its fibers run.
    void abandon() noexcept;
    // Detaches the service from the loop, after which no handler runs. Cancels functions in fibers. A second call does
    // nothing.
    void leave() noexcept;
    // Calls destroyHandlers(), which destroys the handlers that wait in the context, in a fiber of the carrier. Fibers
    // that a destroyed handler wakes have then run until they wait again. Returns true when no function in a fiber is
    // left and no fiber of the carrier waits for an operation. These may wait for another handler, perhaps of another
    // Context: until then call it again, and those of other Contexts that end, after pauseBetweenRounds().
    [[nodiscard]] bool endWaits(const std::function<void()>& destroyHandlers) noexcept;
    static void pauseBetweenRounds() noexcept;
    bool hasLeft() const noexcept { return ended_; }
    void forget() noexcept;  // the loop no longer knows the service

    // ---- for AsioIoHandler ----
    bool serving() const noexcept { return runs_; }
    PollResult poll(PollGuard* guard, Deadline deadline, Budget budget);
    void wake() noexcept { reactor_->wake(); }  // any thread
    // The loop is ending: releases callers, and cancels the operations that fibers wait for. closable() reports when
    // those have ended.
    void beginEnd() noexcept;
    bool closable() noexcept;
    void loopHasEnded() noexcept;  // the loop has run its last task

    // ---- operations that fibers and threads wait for ----
    // of() returns null for a context that no carrier serves; it throws std::bad_alloc. Context of these three: any
    // thread, while the context exists.
    static Service* of(boost::asio::execution_context& context);
    // Of the calling fiber's carrier, or null. The second: its loop has ended before its Context, so that nothing would
    // end an operation of the Context's objects.
    static Service* here() noexcept;
    static bool loopHasEndedHere() noexcept;
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
    // that started it, inside AsioThread::Use; then call releaseRunners() outside of that.
    void completeReady(FiberOperation& operation, AsioThread& thread) noexcept;
    void releaseRunners() noexcept { runners_.releaseLeavingRunners(); }

    // ---- functions in fibers of the carrier: see FunctionInFiber. Context: any thread ----
    void workStarted() noexcept {
        if (!abandoned_) scheduler_.work_started();
    }
    void workFinished() noexcept {
        if (!abandoned_) scheduler_.work_finished();
    }
    void post(OwnOperation& operation) noexcept {
        if (!abandoned_) scheduler_.post_immediate_completion(&operation, false);
    }
    // Context: the function's fiber.
    void functionFailed(const std::exception_ptr& error) noexcept;

  private:
    friend class FunctionInFiber;
    class Turn;
    class Mark;

    void attach();
    void detach() noexcept;
    bool hasLoopEnded() noexcept;
    void awaitEndOfLoop() noexcept;
    bool hasFunctions() noexcept;
    void letOthersRun() const;
    template <class Block>
    bool inFiberOfCarrier(Block block) noexcept;
    void mark();
    void unmark(bool loopHasEnded) noexcept;
    static void noteExits() noexcept;
    template <class Block>
    bool inLoop(Block block);

    void open(const std::shared_ptr<Runner>& runner) noexcept;
    void end(const Runner& runner) noexcept;
    void beginServing() noexcept;
    void closeIfUnused() noexcept;
    void leaveAll(const std::exception_ptr& error = nullptr) noexcept;
    void count() noexcept {
        if (runners_.count(1)) [[unlikely]]
            closeIfUnused();
    }
    void deliver(const std::exception_ptr& error) noexcept;

    void callHandlers(Turn& turn) noexcept;
    bool callOne(Turn& turn) noexcept;
    bool findsOne(Turn& turn);
    template <class Call>
    bool counted(Call call) noexcept;
    PollResult pollWrapped(Budget budget);
    bool wrappedIsReadable() noexcept;

    bool closing() const noexcept { return closing_.load(std::memory_order_relaxed); }
    bool operationsLeft() const noexcept { return !operationsHere_.empty() || !remoteOperations_->empty(); }

    boost::asio::io_context& context_;
    EventLoop& loop_;
    const std::shared_ptr<EventLoop> keptLoop_;  // loop_, if a shared_ptr owns it
    AsioScheduler& scheduler_;
    AsioThread thread_;  // of the turns
    const bool forLife_;
    AsioIoHandler* handler_ = nullptr;
    Reactor* reactor_ = nullptr;  // owned by the io_context
    Reactor::Watch wrappedWatch_;
    bool mayHaveEvents_ = true;  // the wrapped handler may have events from the kernel
    bool mayBeReadable_ = true;  // its descriptor may be readable without a new edge
    std::optional<WakeTimer> timer_;
    weft::detail::SliceClock slice_;  // for a turn
    Runners runners_;
    bool runs_ = false;
    bool severalNoted_ = false;
    bool ended_ = false;      // detached
    bool forked_ = false;     // in a process that has no carriers; known from leave() on
    bool abandoned_ = false;  // in exit(): the io_context may be gone
    bool holdsWork_ = false;  // so that the context does not run out of work: for life, and while its loop ends

    OperationList operationsHere_;
    const std::shared_ptr<RemoteOperations> remoteOperations_;
    AsioThread* threads_ = nullptr;  // not in use by an operation
    std::size_t threadCount_ = 0;

    FiberSet functions_;
    std::mutex functionsLock_;
    std::size_t functionCount_ = 0;  // guarded by functionsLock_

    // The loop is ending. Written by the loop. relaxed: for other threads it is an early check; the loop's own check
    // and endLock_ decide.
    std::atomic<bool> closing_{false};
    std::mutex endLock_;
    WaitList endWaiters_;
    bool loopHasEnded_ = false;  // guarded by endLock_
};

}  // namespace weft::asio_io::detail
