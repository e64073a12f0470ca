// A turn of the loop while the context runs, and the sleep inside Asio.
#include <poll.h>

#include <algorithm>
#include <utility>

#include <boost/asio/post.hpp>

#include <weft/asio_io/detail/fiber_operation.hpp>
#include <weft/scheduler/assert.hpp>
#include <weft/scheduler/carrier.hpp>

#include "service.hpp"

namespace weft::asio_io::detail {

namespace {
constexpr std::size_t functionsPerTurn = 1024;  // unless the clock ends them earlier
constexpr std::size_t handlersPerClockRead = 16;
}  // namespace

// What a turn may use, what it has used, and what it has found.
class Service::Turn final : public ServedReactor::Caller {
  public:
    Turn(Service& service, PollGuard* guard, Deadline deadline, Budget budget)
        : service_(service), carrier_(*service.loop_.carrier()), guard_(guard), deadline_(deadline), budget_(budget) {}

    // Counts a call; returns whether the turn may make another.
    bool countCall() noexcept {
        if (++used_ >= checkAt_) [[unlikely]]
            return countCallSlow();
        exhausted_ = fibers() >= enoughFibers_;
        return !exhausted_;
    }
    PollResult result() {
        PollResult result = wrapped_;
        result.events += static_cast<unsigned>(called_ + used_);
        // After a close, the next poll belongs to the wrapped handler.
        result.more |= exhausted_ || !service_.serving() || service_.hasWork();
        return result;
    }

    // ---- the host of ContextTurn ----
    bool serving() const noexcept { return service_.serving(); }
    // Functions have a budget of their own, because they may be submitted without end.
    void callReady() {
        service_.runHeld(*this);
        wrapped_ = service_.pollWrapped(budget_);
        renew();
        service_.runReady(*this);
    }
    bool calledNone() const noexcept { return called_ + used_ == 0; }
    bool stopSeen() noexcept { return service_.stopSeen(); }
    bool stopped() const { return service_.context_.stopped(); }
    void releaseAllRunners() noexcept { service_.releaseAllRunners(); }
    bool mayEnd() const noexcept { return !service_.forLife_ && !service_.closing(); }
    void releaseWork() noexcept { service_.releaseWork(); }
    void holdWork() noexcept { service_.holdWork(); }
    void callOne() noexcept {
        if (service_.step([this] { return service_.context_.poll_one(); }) != 0) static_cast<void>(countCall());
    }
    void endNonWaitingRunners() noexcept { service_.endNonWaitingRunners(); }
    bool maySleep() const noexcept { return guard_ != nullptr && wrapped_.events == 0 && !wrapped_.more; }
    void sleep() noexcept { service_.sleep(*guard_, deadline_, wrapped_); }

    // ---- the caller of ServedReactor ----
    Next next() noexcept override {
        if (!service_.serving() || service_.context_.stopped()) return Next::leave;
        return exhausted_ ? Next::later : Next::call;
    }
    void call(const ReadyOperation& operation) noexcept override {
        if (service_.step(operation) != 0) static_cast<void>(countCall());
    }
    bool callsMany() const noexcept override { return !service_.runners_.hasLimited(); }
    void returned() noexcept override { ++service_.ownCalls_; }

  private:
    // The budget is real time, also where the loop has a clock of its own.
    [[gnu::noinline]] bool countCallSlow() noexcept {
        if (used_ == 1) service_.slice_.begin(Clock::steady().now(), budget_.time);
        exhausted_ = used_ >= most_ || fibers() >= enoughFibers_ || (used_ > 1 && service_.slice_.passed());
        checkAt_ = std::min(most_, used_ + handlersPerClockRead);
        return !exhausted_;
    }
    void renew() noexcept {
        called_ += std::exchange(used_, 0);
        most_ = budget_.events;
        checkAt_ = 1;
        exhausted_ = false;
        enoughFibers_ = fibersWith(budget_.fibers);
    }
    std::size_t fibers() const noexcept { return carrier_.runnableFibers(); }
    std::size_t fibersWith(std::size_t more) const noexcept { return fibers() + std::min(more, ~fibers()); }

    Service& service_;
    const Carrier& carrier_;
    PollGuard* const guard_;
    const Deadline deadline_;
    const Budget budget_;
    std::size_t enoughFibers_ = fibersWith(budget_.fibers);
    std::size_t most_ = functionsPerTurn;
    std::size_t used_ = 0;     // calls within the current budget
    std::size_t checkAt_ = 1;  // number of calls before the next check of the clock
    std::size_t called_ = 0;   // calls within earlier budgets
    bool exhausted_ = false;
    PollResult wrapped_;
};

PollResult Service::poll(PollGuard* guard, Deadline deadline, Budget budget) {
    Turn turn(*this, guard, deadline, budget);
    reactor_->setCaller(&turn);
    ContextTurn(turn).run();
    reactor_->setCaller(nullptr);
    return turn.result();
}

// Asio's reactor watches the wrapped handler's descriptor, but that handler may also have work without an event.
PollResult Service::pollWrapped(Budget budget) {
    IoHandler& wrapped = handler_->wrapped();
    if (wrappedWatch_.takeReadable()) mayHaveEvents_ = true;
    if (!mayHaveEvents_ && !wrapped.hasWork()) return {};
    const PollResult polled = wrapped.poll(nullptr, never, budget);
    mayHaveEvents_ = polled.events > 0 || polled.more;
    mayBeReadable_ = true;
    return polled;
}

// ---- functions of executors ----

// A series of calls of functions. The handlers run are counted for the callers of run() together, unless one of those
// has a limit.
class Service::Calls {
  public:
    explicit Calls(Service& service) noexcept : service_(service), each_(service.runners_.hasLimited()) {}
    Calls(const Calls&) = delete;
    Calls& operator=(const Calls&) = delete;
    ~Calls() {
        count();
        service_.runners_.releaseLeavingRunners();
    }

    void call(ExecutorTask& task) noexcept {
        const bool counted = ExecutorTasks::isCounted(task);
        try {
            task.call();
            ++called_;
        } catch (...) {
            count();
            service_.deliver(std::current_exception());
        }
        if (each_ || service_.captured_ != nullptr) [[unlikely]] {
            count();
            service_.deliverCaptured();
        }
        if (counted) service_.context_.workFinished();
        service_.runners_.releaseLeavingRunners();
    }

  private:
    void count() noexcept { service_.count(std::exchange(called_, 0)); }

    Service& service_;
    const bool each_;
    std::size_t called_ = 0;  // not counted yet
};

void Service::run(ExecutorTask& task) noexcept {
    if (!serving() || !context_.held_.empty() || stopSeen()) return context_.held_.push(task);
    Calls(*this).call(task);
}

// Functions have a budget of their own, because they may be submitted without end.
void Service::runHeld(Turn& turn) noexcept {
    Calls calls(*this);
    while (!context_.held_.empty() && serving() && !stopSeen()) {
        calls.call(context_.held_.take());
        if (!turn.countCall()) return;
    }
}

void Service::destroyHeld() noexcept {
    while (!context_.held_.empty()) context_.held_.take().destroy();
}

// ---- ready handlers ----

void Service::runReady(Turn& turn) noexcept {
    while (serving() && step([&] { return context_.poll_one(); }) != 0) {
        if (!turn.countCall()) return;
    }
}

// Runs one poll_one(), run_one() or ready operation, inside which the reactor may call further handlers. Returns what
// that returned, 0 or 1; 1 also after an exception, which run() throws.
template <class Step>
std::size_t Service::step(Step step) noexcept {
    const unsigned ownCalls = ownCalls_;
    std::size_t called = 1;
    try {
        called = step();
        count(called - (ownCalls_ - ownCalls));
    } catch (const ServedReactor::Left&) {
        called = 0;
    } catch (...) {
        deliver(std::current_exception());
    }
    deliverCaptured();
    runners_.releaseLeavingRunners();
    return called;
}

// Context: the fiber that started `operation`. Runs the steps that this operation has posted to the thread, one after
// another. What others posted is left to the loop.
void Service::completeReady(FiberOperation& operation, AsioThread& thread) noexcept {
    try {
        thread.rethrowPending();
    } catch (...) {
        fail(std::current_exception());
    }
    while (AsioOperation* const ready = thread.onlyPosted()) {
        if (!operation.owns(ready) || !serving() || stopSeen()) return;
        thread.takePosted();
        const ServedContext::HandlersHere here(context_);
        ReadyCalls calls(thread.scheduler());
        static_cast<void>(step(calls.next(*ready)));
    }
}

void Service::endNonWaitingRunners() noexcept {
    if (!runners_.hasNonWaiting()) return;
    runners_.endNonWaiting();
    closeIfUnused();
    runners_.releaseLeavingRunners();
}

void Service::sleep(PollGuard& guard, Deadline deadline, PollResult& result) noexcept {
    if (handler_->wrapped().hasWork() || wrappedIsReadable()) {
        result.more = true;
        return;
    }
    timer_->set(deadline);
    if (!guard.enter()) return;
    ServedReactor::Sleep sleep{guard};
    reactor_->setSleep(&sleep);
    result.events += static_cast<unsigned>(step([&] { return context_.run_one(); }));
    reactor_->setSleep(nullptr);
    if (sleep.entered) guard.leave();
}

// Emulates a level-triggered watch of pollFd(). The reactor reports only edges, so it misses events that the last poll
// of the handler left behind the descriptor.
bool Service::wrappedIsReadable() noexcept {
    if (wrappedWatch_.takeReadable()) return mayHaveEvents_ = true;
    if (!mayBeReadable_) return false;
    pollfd look{handler_->wrapped().pollFd(), POLLIN, 0};
    mayBeReadable_ = mayHaveEvents_ = ::poll(&look, 1, 0) != 0;
    return mayBeReadable_;
}

// While the loop is awake, its own unit of work keeps Asio from running out of work, because functions in the loop's
// queue are not counted then. During a sleep only the users' work counts, and Asio itself ends the sleep when that
// falls to zero.
void Service::holdWork() noexcept {
    if (std::exchange(context_.holdsWork_, true)) return;
    context_.workStarted();
}

void Service::releaseWork() noexcept {
    WEFT_DEBUG_ASSERT(!context_.held_.anyUncounted(),
                      "Asio would find no work while functions wait in the loop's queue");
    if (!std::exchange(context_.holdsWork_, false)) return;
    context_.workFinished();
}

// Called when the context stops running. Functions that are not counted may stay queued until it runs again, and need
// the loop's unit of work until then.
void Service::releaseWorkIfAllCounted() noexcept {
    if (!context_.held_.anyUncounted()) releaseWork();
}

// ---- wake-ups ----

// A handler of the service itself, which makes run_one() return. At most once in Asio's queue.
struct Service::OwnHandler {
    using allocator_type = HandlerSlot::Allocator<void*>;
    allocator_type get_allocator() const noexcept { return allocator_type(*slot); }
    void operator()() const noexcept {
        if (!service->loop_.inEventLoop()) return service->giveBack(*this);
        ++service->ownCalls_;
        (service->*arrived)();
    }

    Service* service;
    HandlerSlot* slot;
    void (Service::*arrived)() noexcept;
};

void Service::wake() noexcept {
    if (wakePost_.claim()) post({this, &wakeSlot_, &Service::wakeArrived});
}

void Service::wakeArrived() noexcept {
    wakePost_.arrived();
}

void Service::post(const OwnHandler& handler) noexcept {
    boost::asio::post(static_cast<boost::asio::io_context&>(context_).get_executor(), handler);
}

// A thread runs the io_context, against the contract, and has taken this handler from the carrier.
void Service::giveBack(const OwnHandler& handler) noexcept {
    post(handler);
    reactor_->interrupt();
}

}  // namespace weft::asio_io::detail
