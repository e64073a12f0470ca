// A Context's turn and its sleep inside Asio (docs/protocol.md section 15): the shipped ContextTurn, ReactorTurn and
// WakePost, on the shipped CarrierCore and LoopInbox. run() returns when the users' work is done and not before, nothing
// is slept through, and no handler runs while the carrier counts as asleep. Asio itself is modelled: its count of work,
// its queue under a lock, and a reactor that is interrupted only when it is not known to be awake, and finds the kernel's
// events.
#include <deque>
#include <functional>

#include <weft/scheduler/detail/carrier_core.hpp>
#include <weft/scheduler/detail/loop_inbox.hpp>
#include <weft/scheduler/detail/task_fifo.hpp>

#include "context_turn.hpp"
#include "protocol_test.hpp"

namespace weft::model {
namespace {

using weft::detail::SleepKind;

// boost::asio::detail::scheduler of Asio 1.26, as one thread runs it, with its reactor.
class AsioScheduler {
  public:
    using Handler = std::function<void()>;

    // --- any thread
    void workStarted() { work_.fetch_add(1, std::memory_order_seq_cst); }
    void workFinished() {
        if (work_.fetch_sub(1, std::memory_order_seq_cst) == 1) stop();
    }
    void post(Handler handler) {
        workStarted();
        const std::lock_guard held(lock_);
        queue_.push_back(std::move(handler));
        interrupt();
    }
    void stop() {
        const std::lock_guard held(lock_);
        stopped_ = true;
        interrupt();
    }
    // An event of the kernel for which no operation waits.
    void edge() { interrupter_.signal(); }
    // One for an operation, which is work until its handler has run. At most once.
    void event(Handler handler) {
        {
            const std::lock_guard held(kernel_);
            found_ = std::move(handler);
        }
        interrupter_.signal();
    }
    bool stopped() {
        const std::lock_guard held(lock_);
        return stopped_;
    }

    // --- the thread that runs it. `wait(mayWait)`: the reactor's run(), without the lock.
    template <class Wait>
    bool runOne(Wait wait) {
        if (work_.load(std::memory_order_seq_cst) == 0) return stop(), false;
        std::unique_lock held(lock_);
        while (!stopped_) {
            const bool taskFirst = !std::exchange(taskRan_, !queue_.empty());
            if (!taskFirst) {
                call(held);
                return true;
            }
            const bool mayWait = queue_.empty();
            awake_ = !mayWait;
            held.unlock();
            wait(mayWait);
            held.lock();
            awake_ = true;
            taskRan_ = !queue_.empty();
        }
        return false;
    }
    template <class Look>
    bool pollOne(Look look) {
        if (work_.load(std::memory_order_seq_cst) == 0) return stop(), false;
        std::unique_lock held(lock_);
        if (stopped_) return false;
        if (queue_.empty()) {
            held.unlock();
            look();
            held.lock();
            awake_ = true;
        }
        if (queue_.empty()) return false;
        call(held);
        return true;
    }
    // epoll_wait(): ended by the interrupter, which is sticky.
    void block() { interrupter_.wait(); }
    // The reactor calls the handler of an event.
    bool callFound() {
        Handler handler;
        {
            const std::lock_guard held(kernel_);
            handler = std::exchange(found_, nullptr);
        }
        if (!handler) return false;
        handler();
        workFinished();
        return true;
    }
    bool empty() {
        const std::lock_guard held(lock_);
        return queue_.empty();
    }

  private:
    // With the lock held.
    void interrupt() {
        if (!std::exchange(awake_, true)) interrupter_.signal();
    }
    void call(std::unique_lock<Mutex>& held) {
        const Handler handler = std::move(queue_.front());
        queue_.pop_front();
        taskRan_ = false;
        held.unlock();
        handler();
        workFinished();
    }

    Atomic<long> work_{0};
    Mutex lock_{"asio"};
    Event interrupter_{"interrupter"};
    std::deque<Handler> queue_;  // these four under the lock
    bool stopped_ = false;
    bool awake_ = true;
    bool taskRan_ = false;
    Mutex kernel_{"kernel"};
    Handler found_;  // under that lock
};

// A function in the loop's queue: an ExecutorTask, or a task of the loop itself.
struct Posted {
    Link<Posted> next;
    Plain<int> payload{0};
    bool ofTheContext = true;
    bool counted = false;  // in Asio's count
    std::function<void()> then;
};

enum class Defect {
    none,
    keepsItsWork,         // sleeps with the loop's own unit of work
    forgetsHeld,          // releases it while a function of its own waits, which Asio has not counted
    looksNowhere,         // at Asio's flag, neither before nor after the sleep, nor in the next turn
    wakesOnce,            // a wake-up that has arrived counts as still on its way
    dispatchesAsleep,     // Asio calls what is ready before the guard is left
    givesUpByAWake,       // which another thread may have claimed and not posted
    sleepsOnWithoutGuard,  // woken for nothing, Asio goes back to sleep, and the carrier counts as awake
    callsBeforeItLeaves,   // the reactor calls the handler of an event before the guard is left
    sleepsOnAfterCalls     // Asio sleeps again although handlers have run, which may have made work for the loop
};

template <Defect defect>
class Loop {
  public:
    explicit Loop(std::size_t functions) : wanted_(functions) {}

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
    // IoHandler::wakeup(), by somebody who has published work that hasWork() tells of.
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
    // By a handler: the loop runs it in its next turn. Not in the inbox, so no sleep is refused for it.
    void later(Posted& task) {
        task.payload = 1;
        tasks_.adopt(&task);
        tasks_.settle(8);
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
            tasks_.settle(8);
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
            while (!loop.held_.empty() && defect != Defect::forgetsHeld) {
                Posted* const function = loop.held_.front();
                loop.held_.pop_front();
                loop.runTask(*function);
                called = true;
            }
            while (loop.callOne(*this)) called = true;
        }
        bool calledNone() const { return !called; }
        bool stopSeen() const { return false; }
        bool stopped() { return defect != Defect::looksNowhere && loop.asio_.stopped(); }
        void letAllGo() {
            loop.serves_ = false;
            loop.releaseWork();
        }
        bool mayEnd() const { return true; }
        void releaseWork() {
            if (defect != Defect::keepsItsWork) loop.releaseWork();
        }
        void holdWork() { loop.holdWork(); }
        void callOne() { called |= loop.callOne(*this); }
        void letGoThoseWhoDoNotWait() {}
        bool maySleep() const { return true; }
        void sleep() { loop.sleep(*this); }

        Loop& loop;
        bool called = false;
    };
    struct Reactor {
        bool entered() const { return loop.entered_; }
        bool enter() { return defect == Defect::sleepsOnWithoutGuard || loop.enter(); }
        void leave() { loop.leave(); }
        void wait() { loop.asio_.block(); }
        void look() {}
        bool takeOwn() { return false; }
        bool callReady() {
            const bool called = loop.asio_.callFound();
            turn.called |= called;
            return called && defect != Defect::sleepsOnAfterCalls;
        }
        bool nothingForAsio() { return loop.asio_.empty(); }
        void giveUp() { defect == Defect::givesUpByAWake ? loop.wake() : loop.giveUp(); }

        Loop& loop;
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
            if (defect == Defect::dispatchesAsleep) return mayWait ? asio_.block() : void();
            Reactor reactor{*this, turn};
            if (defect == Defect::callsBeforeItLeaves) {
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
            if (defect != Defect::wakesOnce) wakePost_.arrived();
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

template <Defect defect>
class Scenarios {
    using Built = Loop<defect>;

  public:
    // The last work is released by another thread.
    static void release(ModelRun& run) {
        auto& loop = make(run, 0);
        loop.asio().workStarted();
        run.thread("owner", [&loop] { loop.asio().workFinished(); });
    }
    // A handler on a plain io_context executor.
    static void rawPost(ModelRun& run) {
        auto& loop = make(run, 1);
        loop.asio().workStarted();
        run.thread("poster", [&loop] {
            loop.awaitSleep();
            loop.asio().post([&loop] { loop.handlerRan(); });
            loop.asio().workFinished();
        });
    }
    // A function of the Context's executor.
    static void execute(ModelRun& run) {
        auto& loop = make(run, 1);
        auto& function = run.make<Posted>();
        loop.asio().workStarted();
        run.thread("poster", [&] {
            loop.execute(function);
            loop.asio().workFinished();
        });
    }
    // Two, one after the other: the second one's wake-up follows the first one's.
    static void executeTwice(ModelRun& run) {
        auto& loop = make(run, 2);
        auto& functions = run.make<std::array<Posted, 2>>();
        loop.asio().workStarted();
        run.thread("poster", [&] {
            loop.awaitSleep();
            loop.execute(functions[0]);
            loop.execute(functions[1]);
            loop.asio().workFinished();
        });
    }
    static void rawAndExecute(ModelRun& run) {
        auto& loop = make(run, 2);
        auto& function = run.make<Posted>();
        loop.asio().workStarted();
        loop.asio().workStarted();
        run.thread("raw", [&loop] {
            loop.asio().post([&loop] { loop.handlerRan(); });
            loop.asio().workFinished();
        });
        run.thread("poster", [&] {
            loop.execute(function);
            loop.asio().workFinished();
        });
    }
    // One that submits another in the loop, which Asio does not count.
    static void executeInside(ModelRun& run) {
        auto& loop = make(run, 2);
        auto& functions = run.make<std::array<Posted, 2>>();
        functions[0].then = [&] { loop.executeHere(functions[1]); };
        loop.asio().workStarted();
        run.thread("poster", [&] {
            loop.execute(functions[0]);
            loop.asio().workFinished();
        });
    }
    // A task of the loop, which has nothing to do with Asio, ends the work.
    static void foreignTask(ModelRun& run) {
        auto& loop = make(run, 0);
        auto& task = run.make<Posted>();
        task.ofTheContext = false;
        task.then = [&loop] { loop.asio().workFinished(); };
        loop.asio().workStarted();
        run.thread("poster", [&] { loop.post(task); });
    }
    // The wake-up of a post may be on its way when that of the work comes.
    static void publish(ModelRun& run) {
        auto& loop = make(run, 1);
        auto& function = run.make<Posted>();
        loop.asio().workStarted();
        loop.asio().workStarted();
        run.thread("poster", [&] {
            loop.awaitSleep();
            loop.execute(function);
            loop.asio().workFinished();
        });
        run.thread("publisher", [&loop] { loop.publish(); });
    }
    // Asio looks for events again before there is something to call.
    static void edge(ModelRun& run) {
        auto& loop = make(run, 1);
        auto& function = run.make<Posted>();
        loop.asio().workStarted();
        run.thread("kernel", [&loop] { loop.asio().edge(); });
        run.thread("poster", [&] {
            loop.awaitSleep();
            loop.execute(function);
            loop.asio().workFinished();
        });
    }
    // The handler of an event makes work for the loop's next turn.
    static void event(ModelRun& run) {
        auto& loop = make(run, 1);
        auto& task = run.make<Posted>();
        task.ofTheContext = false;
        task.then = [&loop] { loop.asio().workFinished(); };
        loop.asio().workStarted();
        loop.asio().workStarted();
        run.thread("kernel", [&] {
            loop.asio().event([&] {
                loop.handlerRan();
                loop.later(task);
            });
        });
    }
    static void eventAndExecute(ModelRun& run) {
        auto& loop = make(run, 2);
        auto& function = run.make<Posted>();
        loop.asio().workStarted();
        loop.asio().workStarted();
        run.thread("kernel", [&loop] { loop.asio().event([&loop] { loop.handlerRan(); }); });
        run.thread("poster", [&] {
            loop.execute(function);
            loop.asio().workFinished();
        });
    }
    static void stop(ModelRun& run) {
        auto& loop = make(run, 0);
        loop.asio().workStarted();
        run.thread("stopper", [&loop] { loop.asio().stop(); });
    }

  private:
    static Built& make(ModelRun& run, std::size_t functions) {
        auto& loop = run.make<Built>(functions);
        run.name({"work", "park", "stopRequested", "turnRequested", "readyPoller", "visitors", "carrierTray", "inbox",
                  "loopStop", "wakePost", "published"});
        run.thread("loop", [&loop] { loop.run(); });
        run.finally([&loop] { loop.checkAllRan(); });
        return loop;
    }
};

template <Defect defect = Defect::none>
std::vector<Case> cases() {
    using Built = Scenarios<defect>;
    return {makeCase("release", Built::release),
            makeCase("raw post", Built::rawPost),
            makeCase("execute", Built::execute),
            makeCase("execute twice", Built::executeTwice),
            makeCase("raw post and execute", Built::rawAndExecute),
            makeCase("execute inside", Built::executeInside),
            makeCase("foreign task", Built::foreignTask),
            makeCase("publish", Built::publish),
            makeCase("edge", Built::edge),
            makeCase("event", Built::event),
            makeCase("event and execute", Built::eventAndExecute),
            makeCase("stop", Built::stop)};
}

constexpr const char* protocol = "context turn";

TEST(ContextTurnModel, RunReturnsWhenAllIsDoneInTheSearchOfTwoPreemptions) {
    exploreAll(protocol, cases(), {.preemptions = 2, .executions = 300'000});
}
TEST(ContextTurnModel, RunReturnsWhenAllIsDoneInTheFullSearch) {
    exploreAll(protocol, cases(),
               {.search = Search::full, .executions = 50'000, .seconds = 200, .mustEnd = true,
                .unless = {"execute twice", "raw post and execute", "publish", "event and execute"}});
}
TEST(ContextTurnModel, RunReturnsWhenAllIsDoneAtRandom) {
    exploreAll(protocol, cases(), {.search = Search::random, .executions = 30'000});
    exploreAll(protocol, cases(), {.search = Search::pct, .executions = 30'000});
}

// --- twins

TEST(ContextTurnModel, EveryOrderIsNeeded) {
    expectOrdersNeeded(protocol, only("publish", cases()), {}, {.files = {"context_turn"}});
}
TEST(ContextTurnModel, ALoopThatSleepsWithItsOwnWorkIsNotWokenByTheEndOfTheUsers) {
    expectKilled("keeps its work", cases<Defect::keepsItsWork>());
}
TEST(ContextTurnModel, ALoopThatReleasesItsWorkWhileItHoldsFunctionsReturnsEarly) {
    expectKilled("forgets what it holds", only("execute inside", cases<Defect::forgetsHeld>()));
}
TEST(ContextTurnModel, ALoopThatDoesNotLookAtAsiosFlagNeverReturns) {
    expectKilled("looks nowhere", cases<Defect::looksNowhere>());
}
TEST(ContextTurnModel, AWakeUpThatHasArrivedMakesRoomForTheNext) {
    expectKilled("wakes once", only("execute twice", cases<Defect::wakesOnce>()));
}
TEST(ContextTurnModel, AReactorThatCallsBeforeItLeavesTheGuardRunsHandlersAsleep) {
    expectKilled("calls before it leaves", only("event", cases<Defect::callsBeforeItLeaves>()));
}
TEST(ContextTurnModel, AReactorThatLetsAsioSleepAfterCallsForgetsWhatTheyHaveLeftForTheLoop) {
    expectKilled("sleeps on after calls", only("event", cases<Defect::sleepsOnAfterCalls>()));
}
TEST(ContextTurnModel, AReactorThatKeepsTheGuardRunsHandlersAsleep) {
    expectKilled("dispatches asleep", only("raw post", cases<Defect::dispatchesAsleep>()));
}
TEST(ContextTurnModel, AReactorThatGivesUpByAWakeSpinsWhileAWakerIsAboutToPost) {
    expectKilled("gives up by a wake", only("edge", cases<Defect::givesUpByAWake>()));
}
TEST(ContextTurnModel, AReactorThatSleepsOnWithoutTheGuardIsNotWoken) {
    expectKilled("sleeps on without the guard", only("edge", cases<Defect::sleepsOnWithoutGuard>()));
}

}  // namespace
}  // namespace weft::model
