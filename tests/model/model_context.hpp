// ContextLoop: an event loop that serves a Context, for the explorer: the shipped ReactorTurn on the shipped
// CarrierCore and LoopInbox, over a model of Asio. ContextDefect: the defects of its twins.
#pragma once

#include <cstddef>
#include <functional>
#include <utility>

#include <weft/scheduler/detail/carrier_core.hpp>
#include <weft/scheduler/detail/loop_inbox.hpp>
#include <weft/scheduler/detail/task_fifo.hpp>

#include "model_asio.hpp"
#include "protocol_test.hpp"
#include "reactor_turn.hpp"

namespace weft::model {

using weft::detail::SleepKind;

// A task of the loop.
struct Posted {
    Link<Posted> next;
    Plain<int> payload{0};
    std::function<void()> then;
};

enum class ContextDefect {
    none,
    callsAsleep,           // the reactor calls what it has found before it leaves the guard
    keepsTheGuard,         // it does not leave the guard at all
    neverEnters,           // it sleeps without the guard
    sleepsAfterCalls,      // in a turn that has called a handler, which may have created work for the loop
    sleepsAgain,           // Asio sleeps again in the turn in which a sleep has ended
    sleepsAgainUnguarded,  // ... without the guard
    neverGivesUp,          // the turn does not end when there is nothing to call
    returnFinishesWork,    // the operation that ends the turn subtracts a unit of the users' work
    neverLooks,            // the reactor looks for events only when it sleeps
    looksInTheGuard        // the reactor looks for events between entering the guard and the wait
};

template <ContextDefect defect>
class ContextLoop {
    using Defect = ContextDefect;

  public:
    // `handlers` are to run, and `work` units of the users to be finished, before run() returns.
    ContextLoop(std::size_t handlers, unsigned work) : handlers_(handlers), work_(work) {
        for (unsigned i = 0; i < work; ++i) asio_.workStarted();
    }

    AsioScheduler& asio() { return asio_; }
    // ---- any thread ----
    void workFinished() {
        --work_;
        asio_.workFinished();
    }
    void stop() {
        work_ = 0;
        asio_.stop();
    }
    // EventLoop::execute()
    void post(Posted& task) {
        task.payload = 1;
        assertThat(inbox_.post(task), "the inbox is open");
        wakeIfParked();
    }
    // Publishes work for the wrapped handler's hasWork().
    void publish() {
        published_.store(true, std::memory_order_seq_cst);
        wakeIfParked();
    }
    // The time of a timer of the loop has come.
    void timer() {
        asio_.epoll().event(nullptr);
        timerDue_ = true;
    }
    // Returns when the loop counts as asleep for the first time. Orders no memory.
    void awaitSleep() { asleep_.wait(); }

    // ---- the loop ----
    // Called by a handler or a task: the loop runs the task after this turn's handlers.
    void later(Posted& task) {
        task.payload = 1;
        tasks_.push(task);
    }
    void handlerRan() {
        assertThat(!core_.sleepAnnounced(), "a carrier that runs a handler does not count as asleep");
        ++ran_;
    }
    // Until run() of the Context has returned.
    void run() {
        while (serves_) {
            poll();
            if (std::exchange(timerReadable_, false)) workFinished();
            if (tasks_.reversed()) tasks_.adopt(inbox_.takeNewestFirst());
            tasks_.reverse(8);
            runSomeTasks();
            assertThat(serves_ || work_ == 0, "run() returns once the users' work is done");
        }
    }
    void checkAllRan() const { assertThat(ran_ == handlers_, "all handlers have run"); }

  private:
    static constexpr std::size_t handlersPerTurn = 2;
    static constexpr std::size_t tasksPerTurn = 2;

    // Service::Turn
    struct Turn {
        bool exhausted() const { return called >= handlersPerTurn; }

        bool mayBlock;
        std::size_t called = 0;
        bool idle = false;
    };

    // Reactor::Host
    struct Reactor {
        bool maySleep() {
            if (turn.called != 0 && defect != Defect::sleepsAfterCalls) return false;
            return turn.mayBlock && !loop.hasPublished();
        }
        bool enter() {
            if (defect == Defect::neverEnters || (defect == Defect::sleepsAgainUnguarded && loop.slept_)) return true;
            return loop.slept_ = loop.enter();
        }
        void leave() {
            if (defect != Defect::keepsTheGuard) loop.core_.leaveSleep();
        }
        void wait() {
            if (defect == Defect::looksInTheGuard) look();
            loop.asio_.epoll().wait(found);
            loop.takeTimer();
            if (defect == Defect::callsAsleep && !found.empty()) found.front()();
        }
        void look() {
            if (defect == Defect::neverLooks) return;
            loop.asio_.epoll().look(found);
            loop.takeTimer();
        }
        bool wantsLook() const { return turn.called == 0; }
        bool nothingFound() const { return found.empty(); }
        void endTurn() {
            if (defect == Defect::neverGivesUp) return;
            const bool again = defect == Defect::sleepsAgain || defect == Defect::sleepsAgainUnguarded;
            if (again && loop.slept_) return;
            turn.idle = true;
            found.push_back([&loop = loop] { loop.returned(); });
        }

        ContextLoop& loop;
        Turn& turn;
        AsioOperations& found;
    };

    // Service::poll()
    void poll() {
        if (published_.load(std::memory_order_seq_cst) && !std::exchange(sawPublished_, true)) workFinished();
        Turn turn{tasks_.empty() && !more_};
        slept_ = false;
        while (serves_ && !turn.idle && !turn.exhausted()) {
            if (callOne(turn)) ++turn.called;
        }
        more_ = turn.exhausted();
    }
    // Service::callOne()
    bool callOne(Turn& turn) {
        serves_ = asio_.runOne([&](bool idle, AsioOperations& found) {
            Reactor reactor{*this, turn, found};
            asio_io::detail::ReactorTurn(reactor).run(idle);
        });
        return serves_ && !std::exchange(returned_, false);
    }
    void returned() {
        if (defect != Defect::returnFinishesWork) asio_.compensate();
        returned_ = true;
    }
    void runSomeTasks() {
        for (std::size_t i = 0; i < tasksPerTurn; ++i) {
            Posted* const task = tasks_.pop();
            if (task == nullptr) return;
            runTask(*task);
        }
    }
    void runTask(Posted& task) {
        assertThat(task.payload == 1, "what was posted");
        assertThat(!core_.sleepAnnounced(), "a carrier that runs a task does not count as asleep");
        if (task.then) task.then();
    }
    bool hasPublished() const { return !sawPublished_ && published_.load(std::memory_order_seq_cst); }
    // In the step of the system call that has found it.
    void takeTimer() { timerReadable_ |= std::exchange(timerDue_, false); }

    // Carrier::trySleepInPoller()
    bool enter() {
        core_.leaveSleep();
        bool announced = false;
        const auto moreWork = [&] { return inbox_.hasWork() || (std::exchange(announced, true) && hasPublished()); };
        if (!core_.trySleep(SleepKind::poller, moreWork)) return core_.leaveSleep(), false;
        if (!std::exchange(everSlept_, true)) asleep_.signal();
        return true;
    }
    // Carrier::wakeIfParked(), Reactor::wake()
    void wakeIfParked() {
        if (core_.wake() == SleepKind::poller) asio_.epoll().interrupt();
    }

    AsioScheduler asio_;
    detail::BasicCarrierCore<Atomics, Posted, 2> core_;
    detail::BasicLoopInbox<Atomics, Posted> inbox_;
    detail::TaskFifo<Posted> tasks_;
    Atomic<bool> published_{false};
    Event asleep_{"asleep"};
    const std::size_t handlers_;
    std::size_t ran_ = 0;
    unsigned work_;
    bool sawPublished_ = false;
    bool timerDue_ = false;
    bool timerReadable_ = false;
    bool serves_ = true;
    bool more_ = false;      // there was more to call in the last turn
    bool returned_ = false;  // the turn's last operation was the reactor's own
    bool slept_ = false;     // in this turn
    bool everSlept_ = false;
};

}  // namespace weft::model
