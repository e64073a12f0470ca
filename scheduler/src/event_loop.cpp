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
    log(LogLevel::error, {"the I/O handler of an event loop that ends threw from ", call, ": ",
                          detail::describe(std::current_exception())});
}

}  // namespace

// While one lives, the loop's dispatch runs on this thread: nothing may suspend.
class EventLoop::Dispatch {
  public:
    explicit Dispatch(EventLoop& loop) noexcept
        : loop_(loop),
          scope_(loop.carrier_),
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

// An end by shutdownGracefully(). The timer only ends a sleep: the turn looks at the time.
struct EventLoop::GentleEnd {
    GentleEnd(Duration itsQuiet, TimePoint now, Duration timeout)
        : quiet(itsQuiet), latest(deadlineAfter(now, timeout)), lastTask(now) {}

    Deadline end() const noexcept { return std::min(deadlineAfter(lastTask, quiet), latest); }

    const Duration quiet;
    const Deadline latest;
    TimePoint lastTask;
    TimerEntry timer{[](TimerEntry&) noexcept {}};
};

EventLoop::EventLoop(Carrier& carrier, std::unique_ptr<IoHandler> io, Options options)
    : thread_{&carrier, {}},
      carrier_(&carrier),
      clock_(Clock::steady()),
      options_(resolved(options, carrier)),
      io_(std::move(io)) {
    if (io_ == nullptr) throw std::invalid_argument("EventLoop: a hosted loop needs an IoHandler");
}

EventLoop::EventLoop(Clock& clock)
    : thread_{nullptr, std::this_thread::get_id()},
      carrier_(nullptr),
      clock_(clock),
      options_{.idleSpin = Duration::zero()},
      ownTimers_(std::make_unique<TimerWheel>(clock.now())) {}

EventLoop::EventLoop(Carrier& carrier, std::unique_ptr<IoHandler> io) : EventLoop(carrier, std::move(io), Options()) {}

// What one loop has left in a carrier's locals must not look like this turn's to the next.
std::uint64_t EventLoop::firstFlushPoint() noexcept {
    static std::atomic<std::uint64_t> loops{0};
    return loops.fetch_add(1, std::memory_order_relaxed) << 40;
}

EventLoop::~EventLoop() {
    WEFT_ASSERT(!termination_.valid() || termination_.done(),
                "an EventLoop is destroyed while it runs: stop() it and wait for the future of start() first");
    refuseTasks();
    abandonTasks();
}

Future<void> EventLoop::start() {
    if (termination_.valid()) throw std::logic_error("EventLoop::start: the loop has been started before; make a new one");
    termination_ = carrier_->registerPinnedPoller([this] { io_->wakeup(); },
                                                  [this](PinnedPoller& poller) { run(poller); }, "event-loop");
    return termination_;
}

void EventLoop::stop() noexcept {
    if (inbox_->closed()) return;  // it has ended, and its carrier may be gone
    if (carrier_ == nullptr || carrier_->isCurrent()) return inbox_->requestStop();
    Carrier& carrier = *carrier_;  // the loop may be gone after the request
    const Carrier::Visit visit(carrier.core_);
    inbox_->requestStop();
    carrier.wakeIfParked();
}

void EventLoop::run(PinnedPoller& poller) {
    carrier_->eventLoop_ = this;
    carrier_->loopEnded_ = false;
    try {
        io_->open(*carrier_);
    } catch (...) {
        carrier_->eventLoop_ = nullptr;
        refuseTasks();
        abandonTasks();
        // Not thrown, which would be logged: the future of start() has the error, and the caller may try another handler.
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

// One turn: flush point, I/O, due timers, tasks; then the carrier's fibers have theirs. It sleeps in poll() only if
// nothing is left to do, which the guard makes sure of once more.
void EventLoop::turn(PinnedPoller& poller) {
    PollResult polled;
    std::size_t tasks = 0;
    {
        const Dispatch dispatch(*this);
        runFlushPoint();
        PollGuard guard(*carrier_, this);
        const bool sleeps = maySleep();
        polled = io_->poll(sleeps ? &guard : nullptr, sleeps ? carrier_->parkDeadline() : never,
                           {options_.ioBudget, options_.ioEvents, options_.ioFibers});
        carrier_->counters_.ioCycles.add();
        carrier_->counters_.ioEvents.add(polled.events);
        carrier_->fireTimers();
        if (carrier_->helper_ != nullptr && (!tasks_.empty() || hasRemoteWork())) carrier_->getsBusy();
        tasks = runSomeTasks(options_.taskBudget);
    }
    if (gentleEnd_) [[unlikely]]
        continueGentleEnd(tasks > 0);
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
    WEFT_ASSERT(carrier_ != nullptr, "shutdownGracefully() of an embedded loop, which nobody runs");
    try {
        execute([this, quiet, timeout] { beginGentleEnd(quiet, timeout); });
    } catch (const SystemError&) {
        // It has ended already.
    }
}

void EventLoop::beginGentleEnd(Duration quiet, Duration timeout) {
    if (gentleEnd_) return;
    gentleEnd_ = std::make_unique<GentleEnd>(quiet, clock_.now(), timeout);
    io_->closeChannels();
}

void EventLoop::continueGentleEnd(bool ranTasks) noexcept {
    GentleEnd& gently = *gentleEnd_;
    const TimePoint now = clock_.now();
    if (ranTasks) gently.lastTask = now;
    cancelScheduled();
    timers().disarm(gently.timer);
    const Deadline end = gently.end();
    if (now >= end) return stop();
    if (end != never) timers().arm(gently.timer, end);
}

bool EventLoop::maySleep() const noexcept {
    if (inbox_->stopNoted() && io_->closable()) return false;  // nothing would wake it
    return tasks_.empty() && firstListener_ == nullptr && !moreToPoll_ && !spinning();
}

// With an idleSpin the loop polls without blocking for that long after the last work.
void EventLoop::noteIdleness(bool worked) noexcept {
    if (*options_.idleSpin > Duration::zero() && worked) spinUntil_ = deadlineAfter(clock_.now(), *options_.idleSpin);
}

bool EventLoop::spinning() const noexcept {
    return *options_.idleSpin > Duration::zero() && clock_.now() < spinUntil_;
}

constexpr unsigned lastTurns = 100;  // with tasks, of a loop that refuses those of others already

// Lets the handler close its channels, refuses further tasks, and runs those that were accepted. Tasks that others keep
// posting delay none of it.
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
        if (!tasks_.empty() && ++turns == lastTurns) closed_ = true;  // tasks that make tasks must come to an end
        turn(poller);
    }
}

// An exception of the handler, from whatever call of it, has ended the loop: its channels are closed as in any other
// end, as far as it can still do that.
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

// The last part of every end: nothing new is accepted, and what has been accepted runs.
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
    if (gentleEnd_ && gentleEnd_->timer.armed()) timers().disarm(gentleEnd_->timer);
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

// Two rounds: what one codec passes on in the first, another passes on in the second; a channel that is flushed in
// either writes at once. Who asks after that waits for the next flush point, or a chain of askers could hold the loop
// here for ever.
void EventLoop::runFlushPoint() noexcept {
    if (firstListener_ != nullptr || flushing_ != nullptr) {
        inFlushPoint_ = true;
        runFlushRound();
        runFlushRound();
        inFlushPoint_ = false;
    }
    ++flushPoints_;
}

void EventLoop::runFlushRound() noexcept {
    if (flushing_ == nullptr) {  // otherwise from inside a flush point: the rest of its round comes first
        flushing_ = std::exchange(firstListener_, nullptr);
        lastListener_ = &firstListener_;
    }
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
