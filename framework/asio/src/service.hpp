// Service: an io_context under a carrier's event loop: who may run it, when its handlers run, and how the carrier
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
#include "runners.hpp"
#include "served_reactor.hpp"
#include "wake_timer.hpp"

namespace weft::asio_io::detail {

// The io_context runs while somebody is in serve(), until Asio's own count of its work is zero; or for life.
// Context: the loop, unless said otherwise. Files: service.cpp (its place on the loop, its callers), service_turn.cpp
// (a turn of the loop, functions of executors, the sleep), service_operations.cpp (operations that fibers wait
// for).
class Service {
  public:
    // Any thread or fiber that may block; returns when the loop has it. Throws std::logic_error when the loop has no
    // AsioIoHandler or serves another context, SystemError when the loop has ended or the kernel refuses,
    // BlockingOperationException.
    Service(ServedContext& context, EventLoop& loop, bool forLife);
    ~Service();
    Service(const Service&) = delete;
    Service& operator=(const Service&) = delete;

    // The loop lets go of it and runs nothing of it any more; functions in fibers are cancelled, and end. False in a
    // forked process, where nothing does. Once; any thread or fiber that may block.
    bool leave() noexcept;
    // The functions that have not run. After leave().
    void destroyHeld() noexcept;

    // Runs the context until `most` handlers have run, it is stopped or out of work, `deadline` has passed or, if the
    // caller does not wait, no handler is ready. Returns how many handlers have run; throws what one of them threw.
    // Context: any fiber or thread that may block. No handler runs for a caller that has left.
    std::size_t serve(std::size_t most, bool waits, Deadline deadline, const char* call);
    bool servesForLife() const noexcept { return forLife_; }
    void noteStop() noexcept {
        stopAsked_.store(true, std::memory_order_release);
    }                             // any thread, after the io_context's
    void noteRestart() noexcept;  // any thread; likewise

    void run(ExecutorTask& task) noexcept;  // submitted by others than the loop and the fibers of its carrier
    // What a handler throws: to the oldest caller of serve(), or the log. capture(): inside another handler, which goes
    // on and ends before the caller gets it. fail(): in a fiber of the carrier.
    void capture(std::exception_ptr error) noexcept;
    void fail(const std::exception_ptr& error) noexcept;

    // For the handler.
    bool serving() const noexcept { return context_.runs_; }
    bool hasWork() const noexcept { return serving() && !context_.held_.empty(); }
    PollResult poll(PollGuard* guard, Deadline deadline, Budget budget);
    void wake() noexcept;  // any thread
    // The loop ends: callers are let go, operations that fibers wait for are cancelled, and are awaited: closable().
    void beginEnd() noexcept;
    bool closable() noexcept;
    void loopHasEnded() noexcept;  // it has run its last task

    // For operations that fibers and threads wait for; any thread. operationBegan(): false when the loop ends. of():
    // null for a context that no carrier serves; throws std::bad_alloc.
    static Service* of(boost::asio::execution_context& context);
    bool isHere() const noexcept { return loop_.inEventLoop(); }
    // For a fiber that starts an operation. Throws std::bad_alloc. Context: the carrier.
    std::unique_ptr<AsioThread> takeThread();
    void giveThread(std::unique_ptr<AsioThread> thread) noexcept;
    // Calls the handlers of an operation that was ready when it was started, if the context runs. Context: the fiber
    // that started it, inside AsioThread::Use.
    void completeReady(FiberOperation& operation, AsioThread& thread) noexcept;
    [[nodiscard]] bool operationBegan(FiberOperation& operation);
    void operationEnded(FiberOperation& operation) noexcept;

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
    void letAllGo(const std::exception_ptr& error = nullptr) noexcept;
    void count(std::size_t handlers) noexcept {
        if (runners_.count(handlers)) [[unlikely]]
            closeIfUnused();
    }
    void deliver(const std::exception_ptr& error) noexcept;
    void deliverCaptured() noexcept {
        if (captured_ != nullptr) [[unlikely]]
            deliver(std::exchange(captured_, nullptr));
    }
    // Asio's flag decides; ours saves the look at it, which takes a lock, for each function.
    bool stopSeen() noexcept { return stopAsked_.load(std::memory_order_acquire) && stopConfirmed(); }
    bool stopConfirmed() noexcept;

    void runHeld(Turn& turn) noexcept;
    void runReady(Turn& turn) noexcept;
    PollResult pollWrapped(Budget budget);
    template <class Step>
    std::size_t step(Step step) noexcept;
    void letGoThoseWhoDoNotWait() noexcept;
    void sleep(PollGuard& guard, Deadline deadline, PollResult& result) noexcept;
    bool wrappedIsReadable() noexcept;
    void holdWork() noexcept;
    void releaseWork() noexcept;
    void releaseWorkIfAllCounted() noexcept;
    void wakeArrived() noexcept;
    void post(const OwnHandler& handler) noexcept;
    void giveBack(const OwnHandler& handler) noexcept;

    bool operationsLeft() const noexcept;
    void forgetOperations() noexcept;
    void goOnToTheEnd() noexcept;
    void wakeForTheEnd() noexcept;

    ServedContext& context_;
    EventLoop& loop_;
    const bool forLife_;
    AsioIoHandler* handler_ = nullptr;
    ServedReactor* reactor_ = nullptr;  // the io_context's
    ServedReactor::Watch wrappedWatch_;
    bool mayHaveEvents_ = true;  // the wrapped handler, from the kernel
    bool mayBeReadable_ = true;  // its descriptor, without another edge
    std::optional<WakeTimer> timer_;
    weft::detail::SliceClock slice_;  // of a turn
    Runners runners_;
    std::exception_ptr captured_;
    unsigned ownCalls_ = 0;  // of handlers that are not the users'
    bool severalNoted_ = false;
    bool ended_ = false;  // detached
    std::atomic<bool> stopAsked_{false};
    WakePost wakePost_;
    HandlerSlot wakeSlot_;
    mutable std::mutex operationsLock_;
    OperationList operations_;                  // of others, under the lock
    OperationList operationsHere_;              // of the carrier's fibers
    AsioThread* threads_ = nullptr;             // that no operation has; these two are the carrier's
    std::size_t threadCount_ = 0;
    std::atomic<bool> closing_{false};          // written under the lock
    std::mutex endLock_;
    WaitList endWaiters_;
    bool loopHasEnded_ = false;  // under the lock
};

}  // namespace weft::asio_io::detail
