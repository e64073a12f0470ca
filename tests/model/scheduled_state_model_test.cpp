// Timed tasks (docs/explanation/protocol.md section 9): a loop runs a task while other threads cancel it. The task
// never begins after a successful cancellation, and exactly one side releases it.
#include <weft/scheduler/detail/scheduled_state.hpp>

#include "protocol_test.hpp"

namespace weft::model {
namespace {

using weft::detail::CancelDuty;

// The entry, and what the loop and ScheduledTask::cancel() do with it.
struct Entry {
    detail::BasicScheduledState<Atomics> state;
    int runs = 0;
    int forgets = 0;
    int leaves = 0;
    bool ended = false;

    // EventLoop::runScheduled(); returns false when it will not be repeated.
    bool runOnce(bool periodic) {
        if (!state.beginRun()) return false;
        ++runs;
        if (!periodic) {
            state.end();
            ended = true;
            return false;
        }
        if (state.endRun()) return true;
        assertThat(leaves == 1, "a repetition fails only when it was cancelled");
        return false;
    }
    void cancel(bool periodic) {
        switch (state.cancel(periodic)) {
            case CancelDuty::forget:
                assertThat(!ended, "it can be forgotten while it waits only");
                ++forgets;
                break;
            case CancelDuty::leave:
                assertThat(periodic && !ended, "the run lets go of it");
                ++leaves;
                break;
            case CancelDuty::none: break;
        }
    }
};

Scenario cancels(bool periodic, int cancellers) {
    return [=](ModelRun& run) {
        run.name({"state"});
        auto& entry = run.make<Entry>();
        static constexpr const char* names[] = {"canceller1", "canceller2"};
        for (int i = 0; i < cancellers; ++i) {
            run.thread(names[i], [&entry, periodic] { entry.cancel(periodic); });
        }
        run.thread("loop", [&entry, periodic] {
            for (int turn = 0; turn < 2; ++turn) {
                if (!entry.runOnce(periodic)) return;
            }
        });
        run.finally([&entry, periodic] {
            const int cancelled = entry.forgets + entry.leaves;
            assertThat(cancelled <= 1, "one cancellation has an effect");
            assertThat(periodic || entry.runs + cancelled == 1, "it ran or was cancelled");
            assertThat(entry.state.isDone() == (cancelled == 1 || entry.ended), "done when cancelled or ended");
        });
    };
}

// The loop that finds a cancellation sees what the canceller has written before; a canceller that comes too late sees
// what the run has done.
void tellsEachOther(ModelRun& run) {
    struct State {
        detail::BasicScheduledState<Atomics> state;
        Plain<int> reason{0};
        Plain<int> result{0};
    };
    run.name({"state"});
    auto& entry = run.make<State>();
    run.thread("canceller", [&entry] {
        if (entry.state.isDone()) return assertThat(entry.result == 1, "an ended task's result");
        entry.reason = 1;
        if (entry.state.cancel(true) == CancelDuty::none) assertThat(entry.result == 1, "an ended task's result");
    });
    run.thread("loop", [&entry] {
        const bool began = entry.state.beginRun();
        if (began && entry.state.endRun() && entry.state.beginRun()) {
            entry.result = 1;
            return entry.state.end();
        }
        assertThat(entry.state.isDone() && entry.reason == 1, "why it was cancelled");
    });
}

std::vector<Case> cases() {
    return {makeCase("once", cancels(false, 1)), makeCase("once, two cancel", cancels(false, 2)),
            makeCase("periodic", cancels(true, 1)), makeCase("periodic, two cancel", cancels(true, 2)),
            makeCase("tell each other", tellsEachOther)};
}

constexpr const char* protocol = "timed task";

TEST(ScheduledStateModel, ExactlyOneSideReleasesTheTaskInTheFullSearch) {
    exploreAll(protocol, cases(),
               {.search = Search::full, .seconds = 200, .mustEnd = true, .unless = {"periodic, two cancel"}});
    exploreAll(protocol, cases(), {.preemptions = 3});
    exploreAll(protocol, cases(), {.search = Search::random, .executions = 10'000});
}

// --- twins

constexpr Survivor survivors[] = {
    {"scheduled_state move compare_exchange.success *", "the loop alone touches the task: it tells nobody anything"},
    {"scheduled_state cancel compare_exchange.success acq_rel->release",
     "a canceller that won touches nothing of the run's"},
};

TEST(ScheduledStateModel, EveryOrderIsNeeded) {
    expectOrdersNeeded(protocol, cases(), survivors, {.files = {"scheduled_state"}});
}

}  // namespace
}  // namespace weft::model
