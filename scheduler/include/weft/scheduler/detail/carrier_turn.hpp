// CarrierTurn: what a carrier's thread does from its start to its end: turns of timers, fibers and poller, sleep between
// them, and the decision that nothing is left to do. docs/protocol.md sections 1, 7 and 13.
#pragma once

#include <atomic>
#include <utility>

#include <weft/scheduler/detail/carrier_core.hpp>

namespace weft::detail {

// A view of its host, which is a carrier (or what the model explorer takes for one). Context: the carrier's thread.
// The host has
//   core(), live(), poller(): its CarrierCore, its LiveList, its PollerSlot (or PollerGate)
//   fireTimers(), noteDepth(n), beginDrain(), nextTask(moved), prefetchNext(), run(task), drainIsOver()
//   beforeSleep(), blockInFutex(), countWake(SleepEnd)
//   published(), pull(), mayNotSleep(), leavesSleep(), answer(CalledBy): its StealPolicy's, or nothing
//   left(task): off the live list, having ended elsewhere
//   abort(task): ends the wait that the task is parked in; answerTurnRequest(); beforeEnd(); pause()
template <class Host>
class CarrierTurn {
  public:
    explicit CarrierTurn(Host& host) noexcept : host_(host), core_(host.core()) {}

    // The thread's whole life. After it no other thread touches the carrier as one that runs.
    void runUntilEnd() noexcept {
        while (!finished()) turn();
        host_.beforeEnd();
        while (core_.hasVisitors()) host_.pause();  // a waker whose work is done already [V1]
    }

    // Timers, fibers, poller; sleep when there was nothing to do.
    void turn() noexcept {
        host_.fireTimers();
        const bool ranFibers = drain() > 0;
        const bool ranPoller = runPoller();
        if (!ranFibers && !ranPoller) sleep();
    }

    // Answers requests, acts on a stop request, and says when nothing is left: no task of this home, no poller, and
    // nobody who could still bring one.
    bool finished() noexcept {
        if (core_.takeTurnRequest()) host_.answerTurnRequest();
        if (!core_.stopRequested()) return false;
        settle();
        if (core_.beginStop()) host_.live().forEach([this](auto& task) { host_.abort(task); });
        // The poller's slot before the list: a poller that begins holds the slot before it is on the list.
        return host_.live().empty() && host_.poller().closeIfFree() && host_.live().closeIfEmpty() &&
               core_.queue().closeIfEmpty();
    }

    // Back to running, whatever trySleep() said. Harmless when awake; true when it was not.
    bool leaveSleep() noexcept {
        if (!core_.sleepAnnounced()) return false;
        host_.leavesSleep();
        const SleepEnd end = core_.leaveSleep();
        if (end == SleepEnd::pollerWoken) host_.poller().countWake();
        host_.countWake(end);
        host_.answer(core_.takeCall());
        return true;
    }

  private:
    // Runs tasks until none is runnable or the host's budget is used up; at least one if any is (W8).
    unsigned drain() noexcept {
        if (core_.queue().takeSubmitted()) host_.published();
        settle();  // after it: what has been taken is on the list before it runs [L1]
        host_.noteDepth(core_.queue().depth());
        auto* task = next();
        if (task == nullptr) return 0;
        host_.beginDrain();
        unsigned ran = 0;
        do {
            host_.prefetchNext();
            host_.run(*task);
            ++ran;
        } while (!host_.drainIsOver() && (task = next()) != nullptr);
        return ran;
    }

    auto* next() noexcept {
        bool moved = false;
        auto* task = host_.nextTask(moved);
        if (moved) [[unlikely]]
            host_.published();
        return task;
    }

    void settle() noexcept {
        host_.live().settle([this](auto& task) { host_.left(task); });
    }

    // Gives the poller one slice if it is runnable. It may have gone to sleep in its body: it comes back, or it was
    // descheduled between tryParkPoller() and the blocking call, and then nobody sleeps: take PARKED back.
    bool runPoller() noexcept {
        auto* poller = core_.takeReadyPoller();
        if (poller == nullptr) return false;
        settle();  // after it was taken: one that begins is on the list before it runs [L1]
        host_.run(*poller);
        leaveSleep();
        return true;
    }

    void sleep() noexcept {
        if (host_.pull()) return;
        host_.beforeSleep();
        bool announced = false;  // the first look only saves the announcement
        const auto mayNotSleep = [this, &announced] { return std::exchange(announced, true) && host_.mayNotSleep(); };
        if (core_.trySleep(SleepKind::futex, mayNotSleep)) host_.blockInFutex();
        leaveSleep();
    }

    Host& host_;
    typename Host::Core& core_;
};

}  // namespace weft::detail
