// A turn of the loop while the context runs, and the sleep inside Asio.
#include <poll.h>

#include <utility>

#include <boost/asio/post.hpp>

#include <weft/scheduler/assert.hpp>
#include <weft/scheduler/carrier.hpp>

#include "service.hpp"

namespace weft::asio_io::detail {

namespace {
constexpr unsigned handlersPerClockRead = 8;
}

// What a turn has used of its budget, for the handlers and functions of the context.
struct Service::Spent {
    Spent(Budget its, EventLoop& itsLoop)
        : budget(its), loop(itsLoop), enoughFibers(fibers() + std::min(its.fibers, ~fibers())) {}

    std::size_t fibers() const noexcept { return loop.carrier()->runnableFibers(); }
    // After another call: may there be a next one?
    bool goesOn() noexcept {
        ++called;
        if (called == 1) end = deadlineAfter(loop.clock().now(), budget.time);
        const bool over = called >= budget.events || fibers() >= enoughFibers ||
                          (called % handlersPerClockRead == 0 && loop.clock().now() >= end);
        exhausted |= over;
        return !over;
    }

    const Budget budget;
    EventLoop& loop;
    const std::size_t enoughFibers;
    TimePoint end = never;
    unsigned called = 0;
    bool exhausted = false;
};

PollResult Service::poll(PollGuard* guard, Deadline deadline, Budget budget) {
    Spent spent(budget, loop_);
    runHeld(spent);
    PollResult result = pollWrapped(budget);
    if (!spent.exhausted) runReady(spent);
    if (serving() && (stopSeen() || (spent.called == 0 && context_.stopped()))) letAllGo();
    const bool nothingReady = spent.called == 0 && heldFirst_ == nullptr && context_.uncounted_ == 0;
    if (serving() && nothingReady && !outOfWork(spent)) {
        if (guard != nullptr && spent.called == 0 && result.events == 0 && !result.more)
            sleep(*guard, deadline, result);
        if (context_.stopped()) letAllGo();
        if (serving()) holdWork();
    }
    result.events += spent.called;
    // Closed meanwhile: the wrapped handler has the next one.
    result.more |= spent.exhausted || !serving() || hasWork();
    return result;
}

// The kernel's events are watched by Asio's reactor; a handler may also have work of which no event tells.
PollResult Service::pollWrapped(Budget budget) {
    IoHandler& wrapped = handler_->wrapped();
    if (wrappedWatch_.takeReadable()) mayHaveEvents_ = true;
    if (!mayHaveEvents_ && !wrapped.hasWork()) return {};
    const PollResult polled = wrapped.poll(nullptr, never, budget);
    mayHaveEvents_ = polled.events > 0 || polled.more;
    mayBeReadable_ = true;
    return polled;
}

void Service::runHeld(Spent& spent) noexcept {
    while (heldFirst_ != nullptr && serving() && !stopSeen()) {
        ExecutorTask& task = *heldFirst_;
        heldFirst_ = task.nextHeld_;
        if (heldFirst_ == nullptr) heldLast_ = &heldFirst_;
        call(task);
        if (!spent.goesOn()) return;
    }
}

void Service::runReady(Spent& spent) noexcept {
    while (serving() && step([&] { return context_.poll_one(); }) != 0) {
        if (!spent.goesOn()) return;
    }
}

// Calls one handler at most; returns whether it has. What it throws is run()'s.
template <class Step>
std::size_t Service::step(Step step) noexcept {
    const unsigned ownCalls = ownCalls_;
    std::size_t called = 1;
    try {
        called = step();
        count(called - (ownCalls_ - ownCalls));
    } catch (...) {
        deliver(std::current_exception());
    }
    deliverCaptured();
    runners_.letGoThoseWhoLeft();
    return called;
}

// Asio says so itself: without the loop's share, its count of work is the users'. False: the share is still released.
bool Service::outOfWork(Spent& spent) noexcept {
    if (forLife_ || closing_) return false;
    releaseWork();
    if (step([&] { return context_.poll_one(); }) != 0) static_cast<void>(spent.goesOn());
    if (context_.stopped()) {
        letAllGo();
        return true;
    }
    if (spent.called == 0 && runners_.someoneDoesNotWait()) {
        runners_.endThoseWhoDoNotWait();
        closeIfUnused();
        runners_.letGoThoseWhoLeft();
    }
    return !serving();
}

void Service::sleep(PollGuard& guard, Deadline deadline, PollResult& result) noexcept {
    if (handler_->wrapped().hasWork() || wrappedIsReadable()) {
        result.more = true;
        return;
    }
    timer_->set(deadline);
    if (!guard.enter()) return;
    ServedReactor::Sleep sleep{guard, [](void* service) noexcept { static_cast<Service*>(service)->wake(); }, this};
    reactor_->setSleep(&sleep);
    result.events += static_cast<unsigned>(step([&] { return context_.run_one(); }));
    reactor_->setSleep(nullptr);
    if (sleep.entered) guard.leave();
}

// Level-triggered, as pollFd() is meant to be watched: the edges that the reactor reports tell of what comes later, or
// has come since the handler was asked.
bool Service::wrappedIsReadable() noexcept {
    if (wrappedWatch_.takeReadable()) return mayHaveEvents_ = true;
    if (!mayBeReadable_) return false;
    pollfd look{handler_->wrapped().pollFd(), POLLIN, 0};
    mayBeReadable_ = mayHaveEvents_ = ::poll(&look, 1, 0) != 0;
    return mayBeReadable_;
}

// While the loop is awake, work of its own keeps Asio from finding that none is left: functions that wait in the loop's
// queue are not counted then. Asleep, the count is the users', and Asio itself ends the sleep when it falls to zero.
void Service::holdWork() noexcept {
    if (std::exchange(context_.holdsWork_, true)) return;
    context_.workStarted();
}

void Service::releaseWork() noexcept {
    WEFT_DEBUG_ASSERT(context_.uncounted_ == 0, "Asio would find no work while functions wait in the loop's queue");
    if (!std::exchange(context_.holdsWork_, false)) return;
    context_.workFinished();
}

// A caller has left with functions in the loop's queue, which will be held.
void Service::releaseWorkIfAllCounted() noexcept {
    if (context_.uncounted_ == 0) releaseWork();
}

// ---- wake-ups ----

struct Service::WakeHandler {
    using allocator_type = HandlerSlot::Allocator<void*>;
    allocator_type get_allocator() const noexcept { return allocator_type(service->wakeSlot_); }
    void operator()() const noexcept {
        if (!service->loop_.inEventLoop()) return service->wakeFromAThief();
        service->wakePosted_.store(false, std::memory_order_seq_cst);
        ++service->ownCalls_;
    }
    Service* service;
};

void Service::wake() noexcept {
    if (wakePosted_.exchange(true, std::memory_order_seq_cst)) return;
    postWake();
}

void Service::postWake() noexcept {
    boost::asio::post(static_cast<boost::asio::io_context&>(context_).get_executor(), WakeHandler{this});
}

// A thread runs the io_context against the contract, and has taken it from the carrier.
void Service::wakeFromAThief() noexcept {
    postWake();
    reactor_->interrupt();
}

}  // namespace weft::asio_io::detail
