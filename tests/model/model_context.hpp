// ContextLoop: an event loop that serves a Context, for the explorer: the shipped ContextTurn, ReactorTurn and WakePost
// on the shipped CarrierCore and LoopInbox, over a model of Asio. ContextDefect: the defects of its twins.
#pragma once

#include <deque>
#include <functional>
#include <utility>

#include <weft/scheduler/detail/carrier_core.hpp>
#include <weft/scheduler/detail/loop_inbox.hpp>
#include <weft/scheduler/detail/task_fifo.hpp>

#include "context_turn.hpp"
#include "model_asio.hpp"
#include "protocol_test.hpp"

namespace weft::model {

using weft::detail::SleepKind;

// A function in the loop's queue: an ExecutorTask, or a task of the loop itself.
struct Posted {
    Link<Posted> next;
    Plain<int> payload{0};
    bool ofTheContext = true;
    bool counted = false;  // in Asio's count
    std::function<void()> then;
};

enum class ContextDefect {
    none,
    keepsItsWork,          // sleeps with the loop's own unit of work
    forgetsHeld,           // releases it while one of its own functions waits, which Asio has not counted
    looksNowhere,          // does not check Asio's flag before or after the sleep, nor in the next turn
    wakesOnce,             // a wake-up that has arrived still counts as in progress
    dispatchesAsleep,      // Asio calls ready handlers before the guard is left
    givesUpByAWake,        // which another thread may have claimed and not posted
    sleepsOnWithoutGuard,  // after a wake-up for nothing, Asio sleeps again while the carrier counts as awake
    callsBeforeItLeaves,   // the reactor calls the handler of an event before the guard is left
    sleepsOnAfterCalls     // Asio sleeps again although handlers have run, which may have created work for the loop
};

template <ContextDefect defect>
class ContextLoop {
  public:
    explicit ContextLoop(std::size_t functions) : wanted_(functions) {}

    AsioScheduler& asio() { return asio_; }
    // --- any thread: LoopExecutor::execute() from elsewhere
    void execute(Posted& function) {
        function.counted = true;
        asio_.workStarted();
        post(function);
    }
    // EventLoop::execute()
    void post(Posted& task) {
        task.payload = 1;
        assertThat(inbox_.post(task), "the inbox is open");
        if (core_.wake() == SleepKind::poller) wake();
    }
    // IoHandler::wakeup(), called by a thread that has published work for hasWork().
    void publish() {
        published_.store(true, std::memory_order_seq_cst);
        wake();
    }
    // Returns when the loop counts as asleep for the first time. Orders no memory.
    void awaitSleep() { asleep_.wait(); }

    // --- the loop: LoopExecutor::execute() inside its dispatch
    void executeHere(Posted& function) {
        function.payload = 1;
        held_.push_back(&function);
    }
    // Called by a handler: the loop runs it in its next turn. It is not in the inbox, so it prevents no sleep.
    void later(Posted& task) {
        task.payload = 1;
        tasks_.adopt(&task);
        tasks_.reverse(8);
    }
    void handlerRan() {
        assertThat(!core_.asleepIn(SleepKind::poller), "a carrier that runs a handler does not count as asleep");
        ++ran_;
    }

    // The loop's thread, until run() has returned.
    void run() {
        serves_ = true;
        holdWork();
        while (serves_) {
            tasks_.adopt(inbox_.takeNewestFirst());
            tasks_.reverse(8);
            while (Posted* task = tasks_.pop()) runTask(*task);
            if (!sawPublished_ && published_.load(std::memory_order_seq_cst)) {
                sawPublished_ = true;
                asio_.workFinished();
            }
            Turn turn{*this};
            asio_io::detail::ContextTurn(turn).run();
        }
    }
    void checkAllRan() const { assertThat(ran_ == wanted_, "run() has returned when all was done"); }

  private:
    struct Turn {
        bool serving() const { return loop.serves_; }
        void callReady() {
            while (!loop.held_.empty() && defect != ContextDefect::forgetsHeld) {
                Posted* const function = loop.held_.front();
                loop.held_.pop_front();
                loop.runTask(*function);
                called = true;
            }
            while (loop.callOne(*this)) called = true;
        }
        bool calledNone() const { return !called; }
        bool stopSeen() const { return false; }
        bool stopped() { return defect != ContextDefect::looksNowhere && loop.asio_.stopped(); }
        void releaseAllRunners() {
            loop.serves_ = false;
            loop.releaseWork();
        }
        bool mayEnd() const { return true; }
        void releaseWork() {
            if (defect != ContextDefect::keepsItsWork) loop.releaseWork();
        }
        void holdWork() { loop.holdWork(); }
        void callOne() { called |= loop.callOne(*this); }
        void endNonWaitingRunners() {}
        bool maySleep() const { return true; }
        void sleep() { loop.sleep(*this); }

        ContextLoop& loop;
        bool called = false;
    };
    struct Reactor {
        bool entered() const { return loop.entered_; }
        bool enter() { return defect == ContextDefect::sleepsOnWithoutGuard || loop.enter(); }
        void leave() { loop.leave(); }
        void wait() { loop.asio_.block(); }
        void look() {}
        bool takeOwn() { return false; }
        bool callReady() {
            const bool called = loop.asio_.callFound();
            turn.called |= called;
            return called && defect != ContextDefect::sleepsOnAfterCalls;
        }
        bool nothingForAsio() { return loop.asio_.empty(); }
        void giveUp() { defect == ContextDefect::givesUpByAWake ? loop.wake() : loop.giveUp(); }

        ContextLoop& loop;
        Turn& turn;
    };

    void runTask(Posted& task) {
        assertThat(task.payload == 1, "what was posted");
        assertThat(serves_ || !task.ofTheContext, "a function runs while somebody is in run()");
        if (task.ofTheContext) ++ran_;
        if (task.then) task.then();
        if (task.ofTheContext && task.counted) asio_.workFinished();
    }
    bool callOne(Turn& turn) {
        return asio_.pollOne([&] { turn.called |= asio_.callFound(); });
    }
    void sleep(Turn& turn) {
        if (!enter()) return;
        asio_.runOne([&](bool mayWait) {
            if (defect == ContextDefect::dispatchesAsleep) return mayWait ? asio_.block() : void();
            Reactor reactor{*this, turn};
            if (defect == ContextDefect::callsBeforeItLeaves) {
                if (mayWait) asio_.block();
                reactor.callReady();
                if (entered_) leave();
                if (mayWait && reactor.nothingForAsio()) giveUp();
                return;
            }
            asio_io::detail::ReactorTurn(reactor).run(mayWait);
        });
        leave();
    }
    // Carrier::trySleepInPoller()
    bool enter() {
        entered_ = core_.trySleep(SleepKind::poller, [this] { return inbox_.hasWork(); });
        if (entered_) asleep_.signal();
        if (!entered_) core_.leaveSleep();
        return entered_;
    }
    void leave() {
        if (std::exchange(entered_, false)) core_.leaveSleep();
    }
    void wake() {
        if (!wakePost_.claim()) return;
        asio_.post([this] {
            if (defect != ContextDefect::wakesOnce) wakePost_.arrived();
        });
    }
    void giveUp() {
        if (!std::exchange(givesUp_, true)) asio_.post([this] { givesUp_ = false; });
    }
    void holdWork() {
        if (!std::exchange(holds_, true)) asio_.workStarted();
    }
    void releaseWork() {
        if (std::exchange(holds_, false)) asio_.workFinished();
    }

    AsioScheduler asio_;
    detail::BasicCarrierCore<Atomics, Posted, 2> core_;
    detail::BasicLoopInbox<Atomics, Posted> inbox_;
    asio_io::detail::BasicWakePost<Atomics> wakePost_;
    detail::TaskFifo<Posted> tasks_;
    Atomic<bool> published_{false};
    Event asleep_{"asleep"};
    const std::size_t wanted_;
    bool sawPublished_ = false;
    std::size_t ran_ = 0;
    std::deque<Posted*> held_;  // submitted by the loop itself
    bool serves_ = false;
    bool holds_ = false;
    bool entered_ = false;
    bool givesUp_ = false;
};

}  // namespace weft::model
