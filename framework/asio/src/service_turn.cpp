// A turn of the loop while the context runs, and the sleep inside Asio.
#include <poll.h>

#include <algorithm>

#include <weft/asio_io/detail/fiber_operation.hpp>
#include <weft/scheduler/carrier.hpp>

#include "service.hpp"

namespace weft::asio_io::detail {

namespace {
constexpr std::size_t handlersPerClockRead = 16;
}

// What a turn may use, what it has used, and what it has found.
class Service::Turn final : public Reactor::Turn {
  public:
    Turn(Service& service, PollGuard* guard, Deadline deadline, Budget budget)
        : service_(service), carrier_(*service.loop_.carrier()), guard_(guard), deadline_(deadline), budget_(budget) {
        wrapped_ = service_.pollWrapped(budget);
        enoughFibers_ = fibers() + std::min(budget.fibers, ~fibers());
    }

    bool mayCall() const noexcept { return service_.serving() && !idle_ && !exhausted_; }
    void countCall() noexcept {
        if (++called_ >= checkAt_) [[unlikely]]
            return checkBudget();
        exhausted_ = fibers() >= enoughFibers_;
    }
    bool isIdle() const noexcept { return idle_; }
    PollResult result() const noexcept {
        PollResult result = wrapped_;
        result.events += static_cast<unsigned>(called_);
        result.more |= exhausted_ || !service_.serving();  // after a close, the next poll is the wrapped handler's
        return result;
    }

    // ---- for the reactor ----
    PollGuard* guardToSleep() noexcept override {
        if (guard_ == nullptr || called_ != 0 || wrapped_.events != 0 || wrapped_.more) return nullptr;
        if (service_.runners_.hasNonWaiting()) return nullptr;
        if (service_.handler_->wrapped().hasWork() || service_.wrappedIsReadable()) {
            wrapped_.more = true;
            return nullptr;
        }
        service_.timer_->set(deadline_);
        return guard_;
    }
    // After handlers the next turn looks, because it may sleep; but poll() ends only when there is nothing.
    bool wantsLook() const noexcept override { return called_ == 0 || service_.runners_.hasNonWaiting(); }
    void gaveUp() noexcept override { idle_ = true; }

  private:
    // The budget is real time, also where the loop has a clock of its own.
    [[gnu::noinline]] void checkBudget() noexcept {
        if (called_ == 1) service_.slice_.begin(Clock::steady().now(), budget_.time);
        exhausted_ =
            called_ >= budget_.events || fibers() >= enoughFibers_ || (called_ > 1 && service_.slice_.passed());
        checkAt_ = std::min<std::size_t>(budget_.events, called_ + handlersPerClockRead);
    }
    std::size_t fibers() const noexcept { return carrier_.runnableFibers(); }

    Service& service_;
    const Carrier& carrier_;
    PollGuard* const guard_;
    const Deadline deadline_;
    const Budget budget_;
    PollResult wrapped_;
    std::size_t enoughFibers_ = 0;
    std::size_t called_ = 0;
    std::size_t checkAt_ = 1;  // number of calls before the next check of the clock
    bool exhausted_ = false;
    bool idle_ = false;  // Asio has nothing to call
};

// Callers of run() are released last, when the context is in the state that they will see.
PollResult Service::poll(PollGuard* guard, Deadline deadline, Budget budget) {
    Turn turn(*this, guard, deadline, budget);
    callHandlers(turn);
    const PollResult result = turn.result();
    releaseRunners();
    return result;
}

void Service::callHandlers(Turn& turn) noexcept {
    const AsioThread::Use asio(thread_);
    reactor_->setTurn(&turn);
    reactor_->noteAsked();
    while (turn.mayCall()) {
        if (callOne(turn)) turn.countCall();
    }
    reactor_->setTurn(nullptr);
    if (!reactor_->takeLooked()) mayHaveEvents_ = true;  // Asio asks for events after all that is queued, or not yet
    if (!turn.isIdle() || !runners_.hasNonWaiting()) return;
    runners_.endNonWaiting();
    closeIfUnused();
}

// Returns whether a handler was called.
bool Service::callOne(Turn& turn) noexcept {
    return counted([&] {
        if (!reactor_->isAsked() && !findsOne(turn)) return false;
        if (!thread_.runOne()) return leaveAll(), false;
        return !reactor_->takeReturned();
    });
}

// Asio asks its reactor from the first I/O object on, and the place of this question in the queue decides the order of
// completions. A sleep needs the question too, because nothing else ends it; so a Context that sleeps before it has an
// I/O object asks from then on.
bool Service::findsOne(Turn& turn) {
    if (context_.stopped()) return leaveAll(), false;
    if (!thread_.hasNothingToRun()) return true;
    if (turn.guardToSleep() == nullptr) return turn.gaveUp(), false;
    scheduler_.init_task();
    return true;
}

// `call` returns whether it has called a handler. The exception of a handler goes to the oldest caller of run().
template <class Call>
bool Service::counted(Call call) noexcept {
    try {
        const bool called = call();
        if (called) count();
        return called;
    } catch (...) {
        deliver(std::current_exception());
        return true;
    }
}

// Context: the fiber that started `operation`. Runs the steps that this operation has posted to the thread, one after
// another. What others posted is left to the loop.
void Service::completeReady(FiberOperation& operation, AsioThread& thread) noexcept {
    try {
        thread.rethrowPending();
    } catch (...) {
        deliver(std::current_exception());
    }
    while (AsioOperation* const ready = thread.onlyPosted()) {
        if (!operation.owns(ready) || !serving() || context_.stopped()) return;
        thread.takePosted();
        counted([&] { return thread.call(*ready), true; });
    }
}

// ---- the wrapped handler ----

// The reactor watches the wrapped handler's descriptor, but that handler may also have work without an event.
PollResult Service::pollWrapped(Budget budget) {
    IoHandler& wrapped = handler_->wrapped();
    if (wrappedWatch_.takeReadable()) mayHaveEvents_ = true;
    if (!mayHaveEvents_ && !wrapped.hasWork()) return {};
    const PollResult polled = wrapped.poll(nullptr, never, budget);
    mayHaveEvents_ = polled.events > 0 || polled.more;
    mayBeReadable_ = true;
    return polled;
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

}  // namespace weft::asio_io::detail
