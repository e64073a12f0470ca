// EventLoop: the standard hosted-poller body, a task queue plus one IoHandler. It is built on registerPinnedPoller and
// has no privilege that a user's own poller lacks. An embedded loop has no carrier and is driven by hand (tests).
// Lifetime: a hosted loop must not be destroyed before the future of start() is done, which the destructor asserts, and
// until then its carrier's group must live. A loop that has ended may outlive the group: it refuses tasks, stop() and
// shutdownGracefully() do nothing. One that was never started may then only be destroyed.
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

// Something that wants one call at the loop's next flush point: after I/O dispatch, loop tasks and the fiber drain of
// this turn, before the poller looks at the kernel again. An object may be asked for many times; it is called once.
class FlushPointListener {
  public:
    virtual ~FlushPointListener() = default;
    virtual void onFlushPoint() noexcept = 0;

  private:
    friend class EventLoop;
    FlushPointListener* nextListener_ = nullptr;
    bool awaitsFlushPoint_ = false;
};

// Runs tasks and I/O callbacks of its channels, in order and never two at once, on one carrier.
class EventLoop {
  public:
    using Task = UniqueFunction<void()>;
    struct Options {
        Duration ioBudget = std::chrono::microseconds(50);    // per poll() call
        Duration taskBudget = std::chrono::microseconds(50);  // per turn; at least one task runs
        unsigned ioEvents = 256;                              // per poll() call
        // A poll() call ends when it has made so many more fibers runnable: few enough that their stacks, and what the
        // events have brought for them, are still in the cache when they run. docs/performance.md, fibers per request.
        unsigned ioFibers = 32;
        // Polls without blocking for this long before it sleeps. Unset: CarrierOptions::idleSpin of its carriers.
        std::optional<Duration> idleSpin = {};
    };

    // A hosted loop: registers itself as the carrier's poller in start(). Throws std::invalid_argument for a negative
    // duration, no ioEvents or no ioFibers.
    EventLoop(Carrier& carrier, std::unique_ptr<IoHandler> io, Options options);
    EventLoop(Carrier& carrier, std::unique_ptr<IoHandler> io);
    // An embedded loop, owned by the thread that constructs it: nothing runs until runTasks() is called.
    explicit EventLoop(Clock& clock);
    ~EventLoop();
    EventLoop(const EventLoop&) = delete;
    EventLoop& operator=(const EventLoop&) = delete;

    // With everything filled in. Any thread.
    const Options& options() const noexcept { return options_; }

    // Takes the carrier's poller slot and returns a future that completes when the loop has ended, with the error that
    // ended it if there was one. Throws std::logic_error when the slot is taken, or when it is called again. Context:
    // any thread; once.
    // A loop has one end, whether stop(), its carrier's shutdown or an exception of its handler brings it about: it
    // closes the handler's channels, refuses new tasks, cancels timed tasks, runs every task that it has accepted,
    // closes the handler and frees the poller slot, all on the carrier. After an exception poll() is not called again.
    Future<void> start();
    // Asks the loop to end. Any thread; never blocks.
    void stop() noexcept;
    // Ends the loop gently (L-3): closes every channel and refuses new ones, cancels timed tasks, those of later too,
    // and goes on running tasks until none has run for `quiet`, or `timeout` has passed; then stop(). The first call
    // decides. Throws std::invalid_argument unless 0 <= quiet <= timeout. Context: any thread, a hosted loop; never
    // blocks. A loop that has ended ignores it.
    void shutdownGracefully(Duration quiet, Duration timeout);
    static void checkGracefulTimes(Duration quiet, Duration timeout);  // throws as it does

    // True on the loop's carrier, in a fiber whose home it is, or in its poller (any thread for nobody else): the code
    // that may enter this loop's pipelines directly. For an embedded loop: the owning thread.
    bool inEventLoop() const noexcept { return thread_.isHere(); }

    // True while the loop's dispatch runs (I/O callbacks, tasks, flush points). Context: in the loop.
    bool dispatching() const noexcept { return dispatching_; }

    // Queues a task behind all that this caller queued before. Any thread; wakes the loop if it sleeps. Throws
    // SystemError(operation_aborted) once the loop has stopped. A task that throws is reported; the loop goes on (E-5).
    void execute(Task task);
    // As execute(), in one order with it, for a task that brings its own memory. False: the loop has ended, and the task
    // is still the caller's. True: the loop has it, and calls its run() or, if it never comes to that, its abandon().
    // Never allocates, throws or blocks.
    [[nodiscard]] bool execute(LoopTask& task) noexcept;
    // As execute(), but a sleeping loop is not woken for it: the task runs with the next turn, whenever that is (TH-5).
    void executeLazily(Task task);
    [[nodiscard]] bool executeLazily(LoopTask& task) noexcept;

    // Runs the task once, not before `delay` has passed. Equal deadlines run in order of submission (L-2). Any thread.
    ScheduledTask schedule(Task task, Duration delay);
    // Runs the task every `period` (> 0), counted from start to start, until it is cancelled or throws.
    ScheduledTask scheduleAtFixedRate(Task task, Duration initialDelay, Duration period);
    // Runs the task again `delay` (> 0) after each end, until it is cancelled or throws.
    ScheduledTask scheduleWithFixedDelay(Task task, Duration initialDelay, Duration delay);
    // The same for times in coarser units, which may be longer than a Duration: 300 years are as good as for ever.
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

    // Asks for one onFlushPoint() call. Context: in the loop. The listener must outlive the call or withdraw.
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
    // Grows by one at the end of each, also when nobody awaited it, and no two loops of the process share a number: the
    // same one twice means that both calls were in the same turn. Context: in the loop.
    std::uint64_t flushPoints() const noexcept { return flushPoints_; }
    // Calls the waiting listeners now. Context: the loop itself (embedded loops: the driver).
    void runFlushPoint() noexcept;

    // Embedded loops: moves due timers and posted tasks and runs them all, with flush points between, until nothing is
    // left that is due; returns how many tasks ran.
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
    // The wheel that this loop's timers live in. Context: in the loop.
    TimerWheel& timers() noexcept;
    bool stopping() const noexcept { return inbox_->stopRequested(); }

    // The loop whose dispatch is running on this thread, or null.
    static EventLoop* current() noexcept;
    // The EventLoop hosted by this carrier, or null.
    static EventLoop* of(Carrier& carrier) noexcept;
    // True when this carrier has hosted an EventLoop that ran, and the last one has ended. Context: the carrier.
    static bool hasEndedOn(const Carrier& carrier) noexcept;

  private:
    static std::uint64_t firstFlushPoint() noexcept;
    friend class Carrier;
    friend class ScheduledTask;
    class Closure;
    class Dispatch;
    friend struct detail::ScheduledEntry;
    using EntryPointer = std::shared_ptr<detail::ScheduledEntry>;
    using Inbox = detail::BasicLoopInbox<detail::NativeAtomics, LoopTask>;

    // The hosted body (event_loop.cpp).
    void run(PinnedPoller& poller);
    void turn(PinnedPoller& poller);
    void closeHandler(PinnedPoller& poller);
    void endByError(PinnedPoller& poller) noexcept;
    void end(PinnedPoller& poller) noexcept;
    void refuseTasks() noexcept;
    void abandonTasks() noexcept;
    struct GentleEnd;
    void beginGentleEnd(Duration quiet, Duration timeout);
    void continueGentleEnd(bool ranTasks) noexcept;
    bool maySleep() const noexcept;
    void noteIdleness(bool worked) noexcept;
    bool spinning() const noexcept;
    // What must keep it from sleeping although no fiber is runnable.
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
    void runFlushRound() noexcept;
    LocalStore& locals() noexcept;

    // Timed tasks (scheduled_task.cpp).
    ScheduledTask scheduleTask(Task task, Duration delay, Duration period, bool fixedRate);
    void armScheduled(const EntryPointer& entry) noexcept;
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
    const std::shared_ptr<Inbox> inbox_ =
        std::make_shared<Inbox>();  // shared with timed tasks, who may outlive the loop

    // In the loop.
    detail::TaskFifo<LoopTask> tasks_;
    Closure* kept_ = nullptr;  // empty ones, for the next tasks that this thread makes
    unsigned keptClosures_ = 0;
    detail::SliceClock taskClock_;
    FlushPointListener* firstListener_ = nullptr;
    FlushPointListener** lastListener_ = &firstListener_;
    FlushPointListener* flushing_ = nullptr;  // the rest of the round that is running
    detail::ScheduledEntry* firstArmed_ = nullptr;
    TimePoint spinUntil_{};
    std::unique_ptr<GentleEnd> gentleEnd_;  // once shutdownGracefully() has been called
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
