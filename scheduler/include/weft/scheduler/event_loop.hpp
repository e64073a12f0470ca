// EventLoop: the standard hosted poller: a task queue and one IoHandler. It runs through
// Carrier::registerPinnedPoller() like a user's own poller. An embedded loop has no carrier; its owner runs it by hand
// (for tests).
// Lifetime: destroy a hosted loop only after the future of start() is done (asserted); its carrier's group must live
// until then. A loop that has ended may outlive the group: it refuses tasks, and stop() and shutdownGracefully() do
// nothing. A loop that was never started may outlive the group only to be destroyed. A loop that a std::shared_ptr owns
// is kept by its channels, too.
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <optional>

#include <weft/scheduler/detail/loop_inbox.hpp>
#include <weft/scheduler/detail/loop_thread.hpp>
#include <weft/scheduler/detail/slice_clock.hpp>
#include <weft/scheduler/detail/task_fifo.hpp>
#include <weft/scheduler/future.hpp>
#include <weft/scheduler/io_handler.hpp>
#include <weft/scheduler/local_store.hpp>
#include <weft/scheduler/loop_task.hpp>
#include <weft/scheduler/scheduled_task.hpp>
#include <weft/scheduler/timer_wheel.hpp>
#include <weft/scheduler/unique_function.hpp>

namespace weft {

class Carrier;
class PinnedPoller;

namespace detail {
struct ScheduledEntry;
}

// Receives one call at the loop's next flush point, which comes after the I/O dispatch, the loop tasks and the run of
// fibers of this turn and before the poller polls the kernel again. Several requests before it still cause one call.
class FlushPointListener {
  public:
    virtual ~FlushPointListener() = default;
    virtual void onFlushPoint() noexcept = 0;
    // A listener for which all requests are ignored. Lives for the whole process.
    static FlushPointListener& ignored() noexcept;

  private:
    friend class EventLoop;
    FlushPointListener* nextListener_ = nullptr;
    bool awaitsFlushPoint_ = false;
};

// Runs its tasks and its channels' I/O callbacks one at a time, in order, on one carrier.
class EventLoop : public std::enable_shared_from_this<EventLoop> {
  public:
    using Task = UniqueFunction<void()>;
    struct Options {
        Duration ioBudget = std::chrono::microseconds(50);    // per poll() call
        Duration taskBudget = std::chrono::microseconds(50);  // per turn; at least one task runs
        unsigned ioEvents = 256;                              // per poll() call
        // A poll() call returns after it has made this many fibers runnable. The limit keeps their stacks and the data
        // that they were woken for in the cache until they run. docs/explanation/performance.md, fibers per request.
        unsigned ioFibers = 32;
        // How long the loop polls without blocking after its last work, before it sleeps. Unset:
        // CarrierOptions::idleSpin.
        std::optional<Duration> idleSpin = {};
    };

    // A hosted loop; start() registers it as the carrier's poller. Throws std::invalid_argument for a null `io`, a
    // negative duration, or if ioEvents or ioFibers is 0.
    EventLoop(Carrier& carrier, std::unique_ptr<IoHandler> io, Options options);
    EventLoop(Carrier& carrier, std::unique_ptr<IoHandler> io);
    // An embedded loop, owned by the thread that constructs it. Nothing runs except inside runTasks() and
    // runFlushPoint().
    explicit EventLoop(Clock& clock);
    ~EventLoop();
    EventLoop(const EventLoop&) = delete;
    EventLoop& operator=(const EventLoop&) = delete;

    // The options with defaults applied. Any thread.
    const Options& options() const noexcept { return options_; }

    // Takes the carrier's poller slot. The returned future completes when the loop has ended, with the handler's
    // exception if one ended it. Throws std::logic_error when the slot is taken or on a second call; otherwise as
    // Carrier::registerPinnedPoller(). Context: any thread; once.
    // The loop ends in the same way after stop(), its carrier's shutdown or an exception of its handler: it closes the
    // handler's channels, refuses new tasks, cancels timed tasks, runs every accepted task, closes the handler and
    // frees the poller slot, all on the carrier. After an exception it does not call poll() again.
    Future<void> start();
    // Requests that the loop end. Any thread; never blocks.
    void stop() noexcept;
    // Ends the loop gracefully (L-3): closes every channel and refuses new ones, cancels timed tasks, including those
    // scheduled later, and continues to run tasks until none has run for `quiet` or `timeout` has passed; then calls
    // stop(). Later calls have no effect, nor does a call on a loop that has ended. Throws std::invalid_argument unless
    // 0 <= quiet <= timeout. Context: any thread, hosted loops only; never blocks.
    void shutdownGracefully(Duration quiet, Duration timeout);
    static void checkGracefulTimes(Duration quiet, Duration timeout);  // throws as shutdownGracefully()

    // True if the calling code may enter this loop's pipelines directly: in the carrier's own code, in its poller, and
    // in a fiber at home on this carrier. For an embedded loop: on the owning thread. Any thread may call it.
    bool inEventLoop() const noexcept { return thread_.isHere(); }

    // True while the loop dispatches I/O callbacks, tasks or flush points. Context: in the loop.
    bool dispatching() const noexcept { return dispatching_; }

    // Queues a task; it runs after all tasks that this caller has queued before. Any thread; wakes the loop if it
    // sleeps. Throws SystemError(operation_aborted) once the loop has ended. If a task throws, the loop logs the
    // exception and continues (E-5).
    void execute(Task task);
    // As execute(Task) and in the same order, for a task that brings its own memory. Returns false if the loop has
    // ended; the caller then keeps the task. Returns true if the loop has taken it: the loop will call either its run()
    // or, if the loop never runs it, its abandon(). Never allocates, throws or blocks.
    [[nodiscard]] bool execute(LoopTask& task) noexcept;
    // As execute(), but does not wake a sleeping loop: the task runs in the loop's next turn, whenever that is (TH-5).
    void executeLazily(Task task);
    [[nodiscard]] bool executeLazily(LoopTask& task) noexcept;

    // Runs the task once, not before `delay` has passed. Tasks with equal deadlines run in the order of submission
    // (L-2). Any thread. Throws SystemError(operation_aborted) once the loop has ended.
    ScheduledTask schedule(Task task, Duration delay);
    // Runs the task every `period` (> 0), measured between scheduled starts, until it is cancelled or throws.
    ScheduledTask scheduleAtFixedRate(Task task, Duration initialDelay, Duration period);
    // Runs the task again `delay` (> 0) after the end of each run, until it is cancelled or throws.
    ScheduledTask scheduleWithFixedDelay(Task task, Duration initialDelay, Duration delay);
    // The same for times in other units; a time beyond Duration::max() counts as that (292 years).
    template <class Rep, class Period>
    ScheduledTask schedule(Task task, std::chrono::duration<Rep, Period> delay) {
        return schedule(std::move(task), saturated(delay));
    }
    template <class Rep, class Period, class Rep2, class Period2>
    ScheduledTask scheduleAtFixedRate(Task task, std::chrono::duration<Rep, Period> initialDelay,
                                      std::chrono::duration<Rep2, Period2> period) {
        return scheduleAtFixedRate(std::move(task), saturated(initialDelay), saturated(period));
    }
    template <class Rep, class Period, class Rep2, class Period2>
    ScheduledTask scheduleWithFixedDelay(Task task, std::chrono::duration<Rep, Period> initialDelay,
                                         std::chrono::duration<Rep2, Period2> delay) {
        return scheduleWithFixedDelay(std::move(task), saturated(initialDelay), saturated(delay));
    }

    // Requests one onFlushPoint() call at the next flush point. Context: in the loop. The listener must live until then
    // or withdraw.
    void requestFlushPoint(FlushPointListener& listener) noexcept {
        if (listener.awaitsFlushPoint_) return;
        listener.awaitsFlushPoint_ = true;
        listener.nextListener_ = nullptr;
        *lastListener_ = &listener;
        lastListener_ = &listener.nextListener_;
    }
    void withdrawFlushPoint(FlushPointListener& listener) noexcept;
    // True inside onFlushPoint() calls. Context: in the loop.
    bool inFlushPoint() const noexcept { return inFlushPoint_; }
    // Number of flush points so far, including idle ones, plus an offset that differs for each loop of the process. Two
    // calls that return the same number were made on the same loop with no flush point between them. Context: in the
    // loop.
    std::uint64_t flushPoints() const noexcept { return flushPoints_; }
    // Calls the waiting listeners now. Context: the loop itself; for an embedded loop, its owner.
    void runFlushPoint() noexcept;

    // Embedded loops only: fires due timers and runs all queued tasks, with flush points in between, until nothing is
    // due. Returns the number of tasks run.
    std::size_t runTasks();
    bool hasTasks() const noexcept { return !tasks_.empty() || !inbox_->empty(); }

    // A service that exists once per carrier (hosted) or once per loop (embedded). Context: in the loop.
    template <class T>
    T& local() {
        return locals().get<T>();
    }

    Clock& clock() const noexcept { return clock_; }
    Carrier* carrier() const noexcept { return carrier_; }
    IoHandler* io() const noexcept { return io_.get(); }
    // The timer wheel of the carrier, or an embedded loop's own. Context: in the loop.
    TimerWheel& timers() noexcept;
    bool stopping() const noexcept { return inbox_->stopRequested(); }

    // The loop that is dispatching on this thread, or null.
    static EventLoop* current() noexcept;
    // The EventLoop that this carrier hosts, or null.
    static EventLoop* of(Carrier& carrier) noexcept;
    // True if this carrier has run an EventLoop and the last one that it ran has ended. Context: the carrier.
    static bool hasEndedOn(const Carrier& carrier) noexcept;

  private:
    static std::uint64_t firstFlushPoint() noexcept;
    friend class Carrier;
    friend class ScheduledTask;
    class Closure;
    class Dispatch;
    friend struct detail::ScheduledEntry;
    using EntryPointer = std::shared_ptr<detail::ScheduledEntry>;
    // Shared with timed tasks, which may outlive the loop.
    struct Inbox : detail::BasicLoopInbox<detail::NativeAtomics, LoopTask> {
        Inbox(EventLoop& loop, const detail::LoopThread& thread) noexcept : loop(loop), thread(thread) {}
        EventLoop& loop;  // on its thread only, until it has ended
        const detail::LoopThread thread;
    };

    // The hosted body (event_loop.cpp).
    void run(PinnedPoller& poller);
    void turn(PinnedPoller& poller);
    void closeHandler(PinnedPoller& poller);
    void endByError(PinnedPoller& poller) noexcept;
    void end(PinnedPoller& poller) noexcept;
    void refuseTasks() noexcept;
    void abandonTasks() noexcept;
    struct GracefulShutdown;
    void beginGracefulShutdown(Duration quiet, Duration timeout);
    void continueGracefulShutdown(bool ranTasks) noexcept;
    bool maySleep() const noexcept;
    void noteIdleness(bool worked) noexcept;
    bool spinning() const noexcept;
    // True if the loop must not sleep, although no fiber is runnable.
    bool hasRemoteWork() const noexcept { return inbox_->hasWork(); }

    // Tasks (loop_tasks.cpp).
    bool enqueueHere(LoopTask& task) noexcept;
    bool post(LoopTask& task) noexcept;
    std::unique_ptr<Closure> makeClosure(Task&& task);
    void keep(Closure& closure) noexcept;
    void takeOverTasks() noexcept;
    std::size_t runSomeTasks(Duration budget) { return hasTasks() ? runTasksFor(budget) : 0; }
    std::size_t runTasksFor(Duration budget) noexcept;
    static bool succeeds(Task& task) noexcept;
    void callFlushing() noexcept;
    LocalStore& locals() noexcept;

    // Timed tasks (scheduled_task.cpp).
    ScheduledTask scheduleTask(Task task, Duration delay, Duration period, bool fixedRate);
    void armScheduled(const EntryPointer& entry, Deadline due) noexcept;
    EntryPointer disarmScheduled(detail::ScheduledEntry& entry) noexcept;
    void runScheduled(const EntryPointer& entry) noexcept;
    void cancelScheduled() noexcept;
    static void forget(const EntryPointer& entry) noexcept;

    const detail::LoopThread thread_;
    Carrier* const carrier_;  // null: embedded
    Clock& clock_;
    const Options options_;
    std::unique_ptr<IoHandler> io_;
    Future<void> termination_;  // once started

    // Any thread.
    const std::shared_ptr<Inbox> inbox_ = std::make_shared<Inbox>(*this, thread_);

    // In the loop.
    detail::TaskFifo<LoopTask> tasks_;
    Closure* kept_ = nullptr;  // empty closures, reused for tasks that this thread creates
    unsigned keptClosures_ = 0;
    detail::SliceClock taskClock_;
    FlushPointListener* firstListener_ = nullptr;
    FlushPointListener** lastListener_ = &firstListener_;
    FlushPointListener* flushing_ = nullptr;  // listeners of the current flush point that have not been called
    detail::ScheduledEntry* firstArmed_ = nullptr;
    TimePoint spinUntil_{};
    std::unique_ptr<GracefulShutdown> gracefulShutdown_;  // once shutdownGracefully() has been called
    std::uint64_t flushPoints_ = firstFlushPoint();
    bool dispatching_ = false;
    bool inFlushPoint_ = false;
    bool moreToPoll_ = false;
    bool closed_ = false;

    // Embedded only.
    std::unique_ptr<TimerWheel> ownTimers_;
    LocalStore ownLocals_;
};

}  // namespace weft
