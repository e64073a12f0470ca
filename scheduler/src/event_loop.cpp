#include <weft/scheduler/event_loop.hpp>

#include <atomic>

#include <weft/scheduler/assert.hpp>
#include <weft/scheduler/carrier.hpp>
#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/log.hpp>
#include <weft/scheduler/non_suspending_scope.hpp>
#include <weft/scheduler/pinned_poller.hpp>

#include "current_carrier.hpp"
#include "describe_error.hpp"
#include "fiber_access.hpp"
#include "probes.hpp"
#include "scheduled_entry.hpp"

namespace weft {

namespace {

thread_local EventLoop* dispatching = nullptr;

[[gnu::noinline]] EventLoop* exchangeDispatching(EventLoop* loop) noexcept {
    asm volatile("" ::: "memory");
    return std::exchange(dispatching, loop);
}

const EventLoop::Options& checked(const EventLoop::Options& options) {
    if (options.ioEvents == 0) throw std::invalid_argument("EventLoop::Options: ioEvents is 0; accepted: 1 or more");
    if (options.ioFibers == 0) throw std::invalid_argument("EventLoop::Options: ioFibers is 0; accepted: 1 or more");
    const std::pair<const char*, Duration> times[] = {{"ioBudget", options.ioBudget},
                                                      {"taskBudget", options.taskBudget},
                                                      {"idleSpin", options.idleSpin.value_or(Duration::zero())}};
    for (const auto& [name, time] : times) {
        if (time < Duration::zero()) {
            throw std::invalid_argument("EventLoop::Options: " + std::string(name) + " is " +
                                        std::to_string(time.count()) + " ns; accepted: 0 or more");
        }
    }
    return options;
}

EventLoop::Options resolved(const EventLoop::Options& options, const Carrier& carrier) {
    EventLoop::Options all = checked(options);
    if (!all.idleSpin) all.idleSpin = carrier.group().options().idleSpin;
    return all;
}

void logHandlerError(const char* call) noexcept {
    log(LogLevel::error, {"the I/O handler of an ending event loop threw from ", call, ": ",
                          detail::describe(std::current_exception())});
}

}  // namespace

// While an object is alive, the loop dispatches on this thread, and nothing may suspend.
class EventLoop::Dispatch {
  public:
    explicit Dispatch(EventLoop& loop) noexcept
        : loop_(loop),
          scope_(loop.carrier_ != nullptr ? loop.carrier_ : Carrier::current()),  // a fiber may run an embedded loop
          outer_(exchangeDispatching(&loop)),
          nested_(std::exchange(loop.dispatching_, true)) {}
    ~Dispatch() {
        loop_.dispatching_ = nested_;
        exchangeDispatching(outer_);
    }
    Dispatch(const Dispatch&) = delete;
    Dispatch& operator=(const Dispatch&) = delete;

  private:
    EventLoop& loop_;
    NonSuspendingScope scope_;
    EventLoop* outer_;
    bool nested_;
};

// The state of a shutdownGracefully(). The timer only ends a sleep of the loop; continueGracefulShutdown() checks the
// time.
struct EventLoop::GracefulShutdown {
    GracefulShutdown(Duration quiet, TimePoint now, Duration timeout)
        : quiet(quiet), latest(deadlineAfter(now, timeout)), lastTask(now) {}

    Deadline end() const noexcept { return std::min(deadlineAfter(lastTask, quiet), latest); }

    const Duration quiet;
    const Deadline latest;
    TimePoint lastTask;
    TimerEntry timer{[](TimerEntry&) noexcept {}};
};

EventLoop::EventLoop(Carrier& carrier, std::unique_ptr<IoHandler> io, Options options)
    : thread_{&carrier, {}},
      carrier_(&carrier),
      clock_(carrier.clock()),
      options_(resolved(options, carrier)),
      io_(std::move(io)) {
    if (io_ == nullptr) throw std::invalid_argument("EventLoop: a hosted loop needs an IoHandler, but was given null");
}

EventLoop::EventLoop(Clock& clock)
    : thread_{nullptr, std::this_thread::get_id()},
      carrier_(nullptr),
      clock_(clock),
      options_{.idleSpin = Duration::zero()},
      ownTimers_(std::make_unique<TimerWheel>(
          clock.now(), &clock == &Clock::steady() ? TimerWheel::Due::atTick : TimerWheel::Due::atOnce)) {}

EventLoop::EventLoop(Carrier& carrier, std::unique_ptr<IoHandler> io) : EventLoop(carrier, std::move(io), Options()) {}

// A distinct start for each loop: a number that one loop has stored in a carrier's locals must not match the next
// loop's.
std::uint64_t EventLoop::firstFlushPoint() noexcept {
    static std::atomic<std::uint64_t> loops{0};
    return loops.fetch_add(1, std::memory_order_relaxed) << 40;
}

EventLoop::~EventLoop() {
    WEFT_ASSERT(!termination_.valid() || termination_.done(),
                "an EventLoop is destroyed while it runs: call stop() and wait for the future of start() first");
    refuseTasks();
    abandonTasks();
}

Future<void> EventLoop::start() {
    if (termination_.valid())
        throw std::logic_error("EventLoop::start: the loop has already been started; create a new one");
    termination_ = carrier_->registerPinnedPoller([this] { io_->wakeup(); },
                                                  [this](PinnedPoller& poller) { run(poller); }, "event-loop");
    return termination_;
}

void EventLoop::stop() noexcept {
    if (inbox_->closed()) return;  // it has ended, and its carrier may have been destroyed
    if (carrier_ == nullptr || carrier_->isCurrent()) return inbox_->requestStop();
    Carrier& carrier = *carrier_;  // the loop may be destroyed after the request
    const Carrier::SubmitGuard visit(carrier.core_);
    inbox_->requestStop();
    carrier.wakeIfParked();
}

void EventLoop::run(PinnedPoller& poller) {
    carrier_->eventLoop_ = this;
    carrier_->loopEnded_ = false;
    try {
        const NonSuspendingScope scope(carrier_);
        io_->open(*carrier_);
    } catch (...) {
        carrier_->eventLoop_ = nullptr;
        refuseTasks();
        abandonTasks();
        // Not rethrown, because the carrier would log it: the future of start() reports it, and the caller may try
        // another handler.
        return carrier_->poller_.setError(std::current_exception());
    }
    try {
        while (!stopping() && !poller.stopRequested()) turn(poller);
        closeHandler(poller);
    } catch (...) {
        endByError(poller);
        throw;
    }
    end(poller);
}

// One turn: flush point, I/O, due timers, tasks; then the carrier runs its fibers. poll() may sleep only if there is
// nothing left to do, which the guard checks once more.
void EventLoop::turn(PinnedPoller& poller) {
    PollResult polled;
    std::size_t tasks = 0;
    const TimePoint began = carrier_->traces() ? Clock::steady().now() : TimePoint();
    bool sleeps = false;
    {
        const Dispatch dispatch(*this);
        runFlushPoint();
        PollGuard guard(*carrier_, this);
        sleeps = maySleep();
        polled = io_->poll(sleeps ? &guard : nullptr, sleeps ? carrier_->parkDeadline() : never,
                           {options_.ioBudget, options_.ioEvents, options_.ioFibers});
        carrier_->counters_.ioCycles.add();
        carrier_->counters_.ioEvents.add(polled.events);
        carrier_->fireTimers();
        if (carrier_->helper_ != nullptr && (!tasks_.empty() || hasRemoteWork())) carrier_->getsBusy();
        tasks = runSomeTasks(options_.taskBudget);
    }
    WEFT_PROBE3(poll, carrier_->index(), polled.events, tasks);
    if (carrier_->traces()) [[unlikely]]
        carrier_->trace(detail::TraceKind::poll, began, polled.events, tasks, sleeps);
    if (gracefulShutdown_) [[unlikely]]
        continueGracefulShutdown(tasks > 0);
    moreToPoll_ = polled.more || carrier_->timers_.unfinished();
    noteIdleness(polled.events > 0 || polled.more || tasks > 0);
    if (poller.maybeYield(polled.events > 0 || tasks > 0)) noteIdleness(true);
}

// ---- shutdownGracefully() ----

void EventLoop::checkGracefulTimes(Duration quiet, Duration timeout) {
    if (quiet < Duration::zero() || timeout < quiet) {
        throw std::invalid_argument("shutdownGracefully: quiet is " + std::to_string(quiet.count()) + " ns, timeout " +
                                    std::to_string(timeout.count()) + " ns; accepted: 0 <= quiet <= timeout");
    }
}

void EventLoop::shutdownGracefully(Duration quiet, Duration timeout) {
    checkGracefulTimes(quiet, timeout);
    WEFT_ASSERT(carrier_ != nullptr, "shutdownGracefully() of an embedded loop, which has no carrier");
    try {
        execute([this, quiet, timeout] { beginGracefulShutdown(quiet, timeout); });
    } catch (const SystemError&) {
        // The loop has ended already.
    }
}

void EventLoop::beginGracefulShutdown(Duration quiet, Duration timeout) {
    if (gracefulShutdown_) return;
    gracefulShutdown_ = std::make_unique<GracefulShutdown>(quiet, clock_.now(), timeout);
    io_->closeChannels();
}

void EventLoop::continueGracefulShutdown(bool ranTasks) noexcept {
    GracefulShutdown& shutdown = *gracefulShutdown_;
    const TimePoint now = clock_.now();
    if (ranTasks) shutdown.lastTask = now;
    cancelScheduled();
    timers().disarm(shutdown.timer);
    const Deadline end = shutdown.end();
    if (now >= end) return stop();
    if (end != never) timers().arm(shutdown.timer, end);
}

bool EventLoop::maySleep() const noexcept {
    if (inbox_->stopNoted() && io_->closable()) return false;  // nothing would wake it
    return tasks_.empty() && firstListener_ == nullptr && !moreToPoll_ && !spinning();
}

// Restarts the idleSpin interval, in which the loop polls without blocking, after each work.
void EventLoop::noteIdleness(bool worked) noexcept {
    if (*options_.idleSpin > Duration::zero() && worked)
        spinUntil_ = deadlineAfter(Clock::steady().now(), *options_.idleSpin);
}

bool EventLoop::spinning() const noexcept {
    return *options_.idleSpin > Duration::zero() && Clock::steady().now() < spinUntil_;
}

constexpr unsigned lastTurns = 100;  // turns with tasks after which an ending loop refuses its own tasks, too

// Lets the handler close its channels, refuses further tasks, and runs the accepted ones. Other threads cannot delay it
// by posting tasks continuously.
void EventLoop::closeHandler(PinnedPoller& poller) {
    inbox_->noteStop();
    {
        const Dispatch dispatch(*this);
        io_->prepareToClose();
    }
    do turn(poller);
    while (!io_->closable());
    tasks_.adopt(inbox_->closeNewestFirst());
    for (unsigned turns = 0; !io_->closable() || !tasks_.empty() || firstListener_ != nullptr;) {
        if (!tasks_.empty() && ++turns == lastTurns) closed_ = true;  // ends a chain of tasks that queue tasks
        turn(poller);
    }
}

// An exception of the handler has ended the loop. Asks the handler to close its channels, unless that has been done
// already.
void EventLoop::endByError(PinnedPoller& poller) noexcept {
    if (!inbox_->stopNoted()) {
        inbox_->noteStop();
        try {
            const Dispatch dispatch(*this);
            io_->prepareToClose();
        } catch (...) {
            logHandlerError("prepareToClose()");
        }
    }
    end(poller);
}

// The last part of every end: refuses new tasks, runs the accepted ones, closes the handler.
void EventLoop::end(PinnedPoller& poller) noexcept {
    refuseTasks();
    while (!tasks_.empty() || firstListener_ != nullptr) {
        {
            const Dispatch dispatch(*this);
            runFlushPoint();
            runSomeTasks(options_.taskBudget);
        }
        poller.maybeYield(true);
    }
    try {
        const Dispatch dispatch(*this);
        io_->close();
    } catch (...) {
        logHandlerError("close()");
    }
    carrier_->eventLoop_ = nullptr;
    carrier_->loopEnded_ = true;
}

void EventLoop::refuseTasks() noexcept {
    closed_ = true;
    cancelScheduled();
    if (gracefulShutdown_ && gracefulShutdown_->timer.armed()) timers().disarm(gracefulShutdown_->timer);
    tasks_.adopt(inbox_->closeNewestFirst());
}

std::size_t EventLoop::runTasks() {
    const Dispatch dispatch(*this);
    std::size_t ran = 0;
    for (;;) {
        timers().expire(clock_.now());
        const std::size_t now = runSomeTasks(Duration::max());
        const bool flushed = firstListener_ != nullptr;
        runFlushPoint();
        if (now == 0 && !flushed) return ran;
        ran += now;
    }
}

void EventLoop::withdrawFlushPoint(FlushPointListener& listener) noexcept {
    if (!listener.awaitsFlushPoint_) return;
    FlushPointListener** link = &flushing_;
    while (*link != nullptr && *link != &listener) link = &(*link)->nextListener_;
    if (*link == nullptr) {
        link = &firstListener_;
        while (*link != &listener) link = &(*link)->nextListener_;
    }
    *link = listener.nextListener_;
    if (lastListener_ == &listener.nextListener_) lastListener_ = link;
    listener.awaitsFlushPoint_ = false;
}

// Requests made meanwhile wait for the next flush point; otherwise a chain of requests could keep the loop here
// forever.
void EventLoop::runFlushPoint() noexcept {
    if (firstListener_ != nullptr || flushing_ != nullptr) {
        const bool nested = std::exchange(inFlushPoint_, true);
        callFlushing();  // nested: the rest of the flush point that this call is inside of
        flushing_ = std::exchange(firstListener_, nullptr);
        lastListener_ = &firstListener_;
        callFlushing();
        inFlushPoint_ = nested;
    }
    ++flushPoints_;
}

inline void EventLoop::callFlushing() noexcept {
    while (FlushPointListener* listener = flushing_) {
        flushing_ = listener->nextListener_;
        listener->awaitsFlushPoint_ = false;
        listener->onFlushPoint();
    }
}

TimerWheel& EventLoop::timers() noexcept {
    return carrier_ ? carrier_->timers() : *ownTimers_;
}

LocalStore& EventLoop::locals() noexcept {
    return carrier_ ? carrier_->locals_ : ownLocals_;
}

EventLoop* EventLoop::current() noexcept {
    EventLoop* loop = exchangeDispatching(nullptr);
    exchangeDispatching(loop);
    return loop;
}

EventLoop* EventLoop::of(Carrier& carrier) noexcept {
    return carrier.eventLoop_;
}

bool EventLoop::hasEndedOn(const Carrier& carrier) noexcept {
    return carrier.loopEnded_;
}

}  // namespace weft
