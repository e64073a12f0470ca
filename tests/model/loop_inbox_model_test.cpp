// An event loop's inbox and stop request (docs/explanation/protocol.md section 8), in a loop that sleeps as EventLoop
// does. A post runs or is refused, the party that holds a task may destroy it, and the loop sleeps through no post, no
// stop and no work of the handler.
#include <weft/scheduler/detail/carrier_core.hpp>
#include <weft/scheduler/detail/loop_inbox.hpp>
#include <weft/scheduler/detail/task_fifo.hpp>

#include "protocol_test.hpp"

namespace weft::model {
namespace {

using weft::detail::SleepKind;

struct Work {
    Link<Work> next;
};

// An intrusive task, as LoopTask is. Its holder destroys it: the loop when it runs, its owner when it was refused.
struct Posted {
    Link<Posted> next;
    Plain<int> payload{0};
};

enum class Defect {
    none,
    looksOnce,
    closesBlindly,
    asksTheHandlerEarly,  // before it has announced its sleep, and not after
    readsTheNextLate,     // from a task that has run
};

template <Defect defect>
class Loop {
  public:
    // --- any thread
    void post(Posted& task) {
        task.payload = 1;
        if (!inbox_.post(task)) return destroy(task);
        ++accepted_;
        wakeIfParked();
    }
    void stop() {
        inbox_.requestStop();
        wakeIfParked();
    }
    // Only the handler's hasWork() reports this work.
    void handToHandler(Work& work) {
        if (handlersWork_.push(work)) ++accepted_;
        wakeIfParked();
    }

    // --- the loop
    void run() {
        while (!inbox_.stopRequested()) turn();
        inbox_.noteStop();
        runTasks();
        Posted* rest = inbox_.closeNewestFirst();
        assertThat(inbox_.closed(), "closed");
        if (defect != Defect::closesBlindly) tasks_.adopt(rest);
        while (!tasks_.empty()) runTasks();
    }
    void runUntilTheHandlerHadWork() {
        while (ran_ == 0) turn();
    }

    void checkAllRan() const { assertThat(ran_ == accepted_, "what was accepted has run"); }

  private:
    void turn() {
        sleep();
        for (Work* work = handlersWork_.takeAll(); work != nullptr; work = work->next) ++ran_;
        if (tasks_.reversed()) tasks_.adopt(inbox_.takeNewestFirst());
        runTasks();
    }
    // One step at a time, as a loop does whose budget is short.
    void runTasks() {
        tasks_.reverse(1);
        if (defect == Defect::readsTheNextLate) {
            for (Posted* task = tasks_.pop(); task != nullptr; task = task->next) runTask(*task);
        }
        while (Posted* task = tasks_.pop()) runTask(*task);
    }
    void runTask(Posted& task) {
        assertThat(task.payload == 1, "what was posted");
        ++ran_;
        destroy(task);
    }
    void sleep() {
        if (!tasks_.empty()) return;
        bool announced = false;
        const auto moreWork = [&] {
            const bool second = std::exchange(announced, true);
            if (defect == Defect::looksOnce && second) return false;
            const bool asks = second != (defect == Defect::asksTheHandlerEarly);
            return inbox_.hasWork() || (asks && !handlersWork_.empty());
        };
        if (core_.trySleep(SleepKind::poller, moreWork)) wakeFd_.wait();
        core_.leaveSleep();
    }
    void wakeIfParked() {
        if (core_.wake() == SleepKind::poller) wakeFd_.signal();
    }

    detail::BasicLoopInbox<Atomics, Posted> inbox_;
    detail::BasicCarrierCore<Atomics, Work, 2> core_;
    detail::BasicInTray<Atomics, Work> handlersWork_;
    detail::TaskFifo<Posted> tasks_;
    Event wakeFd_{"wakeFd"};
    int accepted_ = 0;
    int ran_ = 0;
};

void nameAtomics(ModelRun& run) {
    run.name({"inbox", "stop", "park", "carrierStop", "turnRequested", "readyPoller", "submitters", "carrierTray",
              "handlersWork"});
}

template <Defect defect>
Scenario postsAndStop(int posters) {
    return [=](ModelRun& run) {
        nameAtomics(run);
        auto& loop = run.make<Loop<defect>>();
        static constexpr const char* names[] = {"poster1", "poster2"};
        for (int i = 0; i < posters; ++i) {
            auto& task = run.make<Posted>();
            run.thread(names[i], [&loop, &task] { loop.post(task); });
        }
        run.thread("stopper", [&loop] { loop.stop(); });
        run.thread("loop", [&loop] { loop.run(); });
        run.finally([&loop] { loop.checkAllRan(); });
    };
}

// Only the handler's work ends the loop's sleep.
template <Defect defect>
Scenario handlersOwnWork() {
    return [](ModelRun& run) {
        nameAtomics(run);
        auto& loop = run.make<Loop<defect>>();
        auto& work = run.make<Work>();
        run.thread("other", [&loop, &work] { loop.handToHandler(work); });
        run.thread("loop", [&loop] { loop.runUntilTheHandlerHadWork(); });
        run.finally([&loop] { loop.checkAllRan(); });
    };
}

template <Defect defect = Defect::none>
std::vector<Case> cases() {
    return {makeCase("one poster", postsAndStop<defect>(1)), makeCase("two posters", postsAndStop<defect>(2)),
            makeCase("the handler's own work", handlersOwnWork<defect>())};
}

constexpr const char* protocol = "loop inbox";

TEST(LoopInboxModel, NothingIsSleptThroughInTheSearchOfThreePreemptions) {
    exploreAll(protocol, cases(), {.preemptions = 3, .executions = 300'000});
}
TEST(LoopInboxModel, NothingIsSleptThroughInTheFullSearch) {
    exploreAll(
        protocol, cases(),
        {.search = Search::full, .executions = 100'000, .seconds = 200, .mustEnd = true, .unless = {"two posters"}});
}
TEST(LoopInboxModel, NothingIsSleptThroughAtRandom) {
    exploreAll(protocol, cases(), {.search = Search::random, .executions = 30'000});
    exploreAll(protocol, cases(), {.search = Search::pct, .executions = 30'000});
}

// --- twins

constexpr Survivor survivors[] = {
    {"loop_inbox stopRequested load *", "a flag: nothing is published with it, and a stale look is repeated"},
};

TEST(LoopInboxModel, EveryOrderIsNeeded) {
    expectOrdersNeeded(protocol, cases(), survivors, {.files = {"loop_inbox", "in_tray"}});
}
TEST(LoopInboxModel, ALoopThatChecksOnceSleepsThroughItsStop) {
    expectKilled("looks once", cases<Defect::looksOnce>());
}
TEST(LoopInboxModel, ALoopThatClosesWithoutACheckForgetsAPost) {
    expectKilled("closes blindly", cases<Defect::closesBlindly>());
}

TEST(LoopInboxModel, ALoopThatChecksItsHandlerOnlyBeforeAnnouncingItsSleepMissesTheHandlersWork) {
    expectKilled("asks the handler early", cases<Defect::asksTheHandlerEarly>());
}
TEST(LoopInboxModel, ALoopThatReadsTheNextTaskFromOneThatHasRunIsFound) {
    expectKilled("reads the next late", cases<Defect::readsTheNextLate>());
}

}  // namespace
}  // namespace weft::model
