// CarrierTurn: the main loop of a carrier's thread: turns of timers, fibers and poller, the sleep between them, and the
// decision that the carrier may end. docs/explanation/protocol.md sections 1, 7 and 13.
#pragma once

#include <atomic>
#include <utility>

#include <weft/scheduler/detail/carrier_core.hpp>

namespace weft::detail {

// A view of its host, which is a Carrier or the model explorer's equivalent. Context: the carrier's thread.
// The host provides
//   core(), live(), poller(): its CarrierCore, its LiveList, its PollerSlot (or PollerGate)
//   fireTimers(), noteDepth(n), beginFiberRun(), nextTask(moved), prefetchNext(), run(task), fiberRunIsOver(),
//   endFiberRun()
//   beforeSleep(), blockInFutex(), countWake(SleepEnd)
//   published(), pull(), mustNotSleep(), leavesSleep(), answer(CalledBy): those of its StealPolicy, or no-ops
//   left(task): called for a task that has ended on another carrier, after its removal from the live list
//   abort(task): ends the wait that the task is parked in; answerTurnRequest(); beforeEnd(); pause()
template <class Host>
class CarrierTurn {
  public:
    explicit CarrierTurn(Host& host) noexcept : host_(host), core_(host.core()) {}

    // Runs turns until the carrier has ended. Afterwards no other thread submits to the carrier or wakes it.
    void runUntilEnd() noexcept {
        while (!finished()) turn();
        host_.beforeEnd();
        while (core_.hasSubmitters()) host_.pause();  // a waker may still be here after its work was done [V1]
    }

    // One turn: timers, fibers, poller. Sleeps if neither fibers nor the poller ran.
    void turn() noexcept {
        host_.fireTimers();
        const bool ranFibers = runFibers();
        const bool ranPoller = runPoller();
        if (!ranFibers && !ranPoller) sleep();
    }

    // Answers requests and acts on a stop request. True once the carrier may end: it has no task of its own and no
    // poller, and none can be submitted any more.
    bool finished() noexcept {
        if (core_.takeTurnRequest()) host_.answerTurnRequest();
        if (!core_.stopRequested()) return false;
        settle();
        if (core_.beginStop()) host_.live().forEach([this](auto& task) { host_.abort(task); });
        // Close the poller's slot before the list: a new poller takes the slot before it is on the list.
        return nothingLives() && host_.live().closeIfEmpty() && core_.queue().closeIfEmpty();
    }

    // Ends an announced sleep, whatever trySleep() returned. Has no effect otherwise. True if a sleep was announced.
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
    // Runs tasks until none is runnable or the host's budget is used up; at least one if any is runnable (SCH-8). True
    // if it ran one. host_.run(task) may run several, which switch directly to each other.
    bool runFibers() noexcept {
        if (core_.queue().takeSubmitted()) host_.published();
        settle();  // afterwards, so that every task is on the list before it runs [L1]
        host_.noteDepth(core_.queue().depth());
        host_.prefetchNext();
        auto* task = next();
        if (task == nullptr) return false;
        host_.beginFiberRun();
        do {
            host_.prefetchNext();
            host_.run(*task);
        } while (!host_.fiberRunIsOver() && (task = next()) != nullptr);
        host_.endFiberRun();
        return true;
    }

    auto* next() noexcept {
        bool moved = false;
        auto* task = host_.nextTask(moved);
        if (moved) [[unlikely]] {
            settle();  // tasks that a thief has handed back may have been submitted since the last settle() [L1]
            host_.published();
        }
        return task;
    }

    bool nothingLives() noexcept { return host_.live().empty() && host_.poller().closeIfFree(); }
    // True for a stopping carrier that may end. Needed because a thief may have taken the last guest, for which the
    // carrier was waiting: a steal sends no wake-up.
    bool mayEnd() noexcept { return core_.stopping() && nothingLives(); }

    void settle() noexcept {
        host_.live().settle([this](auto& task) { host_.left(task); });
    }

    // Runs the poller for one slice if it is runnable. If its body suspended between tryParkPoller() and unpark(), a
    // sleep is still announced although the carrier is awake: end it.
    bool runPoller() noexcept {
        auto* poller = core_.takeReadyPoller();
        if (poller == nullptr) return false;
        settle();  // afterwards, so that a new poller is on the list before it runs [L1]
        host_.run(*poller);
        leaveSleep();
        return true;
    }

    void sleep() noexcept {
        if (host_.pull()) return;
        host_.beforeSleep();
        bool announced = false;  // only the check after the announcement decides
        const auto mustNotSleep = [this, &announced] {
            return std::exchange(announced, true) && (mayEnd() || host_.mustNotSleep());
        };
        if (core_.trySleep(SleepKind::futex, mustNotSleep)) host_.blockInFutex();
        leaveSleep();
    }

    Host& host_;
    typename Host::Core& core_;
};

}  // namespace weft::detail
