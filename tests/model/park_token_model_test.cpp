// ParkToken (docs/explanation/protocol.md sections 2 and 6): one task, its scheduler, and the parties that race to end
// its wait. Exactly one of them wins and exactly one makes the task runnable, after its context has been saved. The
// task sees what the winner has written; a late claim does not touch the next wait. The task: parking_fiber.hpp.
#include <array>
#include <atomic>
#include <string_view>
#include <utility>
#include <vector>

#include "parking_fiber.hpp"
#include "protocol_test.hpp"
#include "thread_task.hpp"

namespace weft::model {
namespace {

using namespace parking;

template <class Token, Defect defect>
struct Scenarios {
    using FiberType = Fiber<Token, defect>;

    // A resource, a cancellation and a timeout at once; the fiber has registered with all of them.
    static void threeWakers(ModelRun& run) {
        run.name({"token", "queue"});
        auto& fiber = run.make<FiberType>();
        const Epoch epoch = fiber.token.prepare();
        addWakers(run, fiber, epoch, 3);
        run.thread("carrier", [&fiber, epoch] { fiber.park(epoch); });
        run.finally([&fiber] { assertThat(fiber.won() == 1, "one winner"); });
    }
    // A second wait begins while the losers of the first are still running.
    static void twoWaits(ModelRun& run) {
        struct State {
            FiberType fiber;
            Atomic<Epoch> second{0};
        };
        run.name({"token", "queue", "second"});
        auto& state = run.make<State>();
        const Epoch epoch = state.fiber.token.prepare();
        addWakers(run, state.fiber, epoch, 2);
        run.thread("second", [&state] {
            Epoch wanted = 0;
            await([&] { return (wanted = state.second.load(std::memory_order_acquire)) != 0; });
            assertThat(state.fiber.wake(wanted, 2) != Claim::lost, "the only waker of the second wait");
        });
        run.thread("carrier", [&state, epoch] {
            assertThat(state.fiber.park(epoch) < 2, "one of the first wait's branches");
            const Epoch next = state.fiber.token.prepare();
            state.second.store(next, std::memory_order_release);
            assertThat(state.fiber.park(next) == 2, "no waker of the first wait ends the second");
        });
    }
    // The carrier ends each wait by itself.
    static void shutdown(ModelRun& run) {
        run.name({"token", "queue"});
        auto& fiber = run.make<FiberType>();
        const Epoch epoch = fiber.token.prepare();
        addWakers(run, fiber, epoch, 2);
        run.thread("carrier", [&fiber, epoch] { fiber.park(epoch, true); });
    }
    // Only the cancellation ends the wait.
    static void cancelled(ModelRun& run) {
        run.name({"token", "queue", "state", "shields"});
        auto& fiber = run.make<FiberType>();
        const Epoch epoch = fiber.token.prepare();
        run.thread("canceller", [&fiber] { fiber.cancel(); });
        run.thread("carrier",
                   [&fiber, epoch] { assertThat(fiber.park(epoch) == cancelledBranch, "the cancellation"); });
    }
    // Either may end the first wait, only the cancellation the second one.
    static void cancelledLater(ModelRun& run) {
        run.name({"token", "queue", "state", "shields"});
        auto& fiber = run.make<FiberType>();
        const Epoch epoch = fiber.token.prepare();
        addWakers(run, fiber, epoch, 1);
        run.thread("canceller", [&fiber] { fiber.cancel(); });
        run.thread("carrier", [&fiber, epoch] {
            const Branch first = fiber.park(epoch);
            assertThat(first == 0 || first == cancelledBranch, "one of the two");
            const Epoch next = fiber.token.prepare();
            assertThat(fiber.park(next) == cancelledBranch, "a cancelled fiber waits no more");
        });
    }
    // As before, with a shield over the first wait.
    static void shielded(ModelRun& run) {
        run.name({"token", "queue", "state", "shields"});
        auto& fiber = run.make<FiberType>();
        run.thread("canceller", [&fiber] { fiber.cancel(); });
        auto& key = run.make<Atomic<Epoch>>(0);
        run.name({"key"});
        run.thread("resource", [&fiber, &key] {
            Epoch epoch = 0;
            await([&] { return (epoch = key.load(std::memory_order_acquire)) != 0; });
            assertThat(fiber.wake(epoch, 0) != Claim::lost, "nobody else ends a shielded wait");
        });
        run.thread("carrier", [&fiber, &key] {
            fiber.shield();
            const Epoch epoch = fiber.token.prepare();
            key.store(epoch, std::memory_order_release);
            assertThat(fiber.park(epoch) == 0, "the resource");
            fiber.unshield();
            const Epoch next = fiber.token.prepare();
            assertThat(fiber.park(next) == cancelledBranch, "the cancellation has waited");
        });
    }
    // Neither a cancellation nor the shutdown, from this thread or another, ends the first wait. The one that came
    // meanwhile ends the second wait.
    static Scenario uninterruptible(bool abortedRemotely) {
        return [=](ModelRun& run) {
            run.name({"token", "queue", "state", "mask", "key"});
            auto& fiber = run.make<FiberType>();
            auto& key = run.make<Atomic<Epoch>>(0);
            run.thread("canceller", [&fiber] { fiber.cancel(); });
            if (abortedRemotely) run.thread("home", [&fiber] { fiber.abortParked(); });
            run.thread("resource", [&fiber, &key] {
                Epoch epoch = 0;
                await([&] { return (epoch = key.load(std::memory_order_acquire)) != 0; });
                assertThat(fiber.wake(epoch, 0) != Claim::lost, "nobody else ends an uninterruptible wait");
            });
            run.thread("carrier", [&fiber, &key, abortedRemotely] {
                const Epoch epoch = fiber.token.prepare();
                key.store(epoch, std::memory_order_release);
                assertThat(fiber.parkUninterruptibly(epoch, !abortedRemotely) == 0, "the resource");
                const Epoch next = fiber.token.prepare();
                const Branch second = fiber.park(next);
                assertThat(second == cancelledBranch || (abortedRemotely && second == shutdownBranch),
                           "what came meanwhile has waited");
            });
        };
    }

  private:
    static void addWakers(ModelRun& run, FiberType& fiber, Epoch epoch, Branch count) {
        static constexpr const char* names[] = {"resource", "cancel", "timeout"};
        for (Branch branch = 0; branch < count; ++branch) {
            run.thread(names[branch],
                       [&fiber, key = std::pair(epoch, branch)] { (void)fiber.wake(key.first, key.second); });
        }
    }
};

// The fiber finds that it need not wait and does not park.
void aborting(ModelRun& run) {
    struct State {
        ParkToken token;
        std::array<Plain<int>, 2> results;
        int won = 0;
        bool aborted = false;
    };
    auto& state = run.make<State>();
    const Epoch epoch = state.token.prepare();
    run.name({"token"});
    for (const Branch branch : {Branch{0}, Branch{1}}) {
        run.thread(branch == 0 ? "resource" : "cancel", [&state, key = std::pair(epoch, branch)] {
            state.results[key.second] = key.second + 1;
            const Claim claim = state.token.claim(key.first, key.second);
            assertThat(claim != Claim::enqueue, "the task runs");
            if (claim == Claim::early) ++state.won;
        });
    }
    run.thread("task", [&state, epoch] {
        state.aborted = state.token.abort(epoch);
        if (state.aborted) return;
        const Branch winner = state.token.finish();
        assertThat(state.results[winner] == winner + 1, "the winner's result");
    });
    run.finally([&state] { assertThat(state.won == (state.aborted ? 0 : 1), "one winner, or the abort"); });
}

// A plain thread that waits twice with a timeout: a wake ends only the wait that it was meant for.
void threadParks(ModelRun& run) {
    struct State {
        ThreadTask task;
        Atomic<Epoch> second{0};
        Plain<int> result{0};
    };
    auto& state = run.make<State>();
    const Epoch epoch = state.task.prepare();
    run.name({"token", "runnable", "second"});
    run.thread("first", [&state, epoch] { state.result = 1, state.task.wake(epoch, ThreadTask::resource); });
    run.thread("second", [&state] {
        Epoch wanted = 0;
        await([&] { return (wanted = state.second.load(std::memory_order_acquire)) != 0; });
        assertThat(state.task.wake(wanted, ThreadTask::resource), "it won");
    });
    run.thread("waiter", [&state, epoch] {
        const Branch first = state.task.park(epoch, Timeout::possible);
        if (first == ThreadTask::resource) assertThat(state.result == 1, "the waker's result");
        const Epoch next = state.task.prepare();
        state.second.store(next, std::memory_order_release);
        assertThat(state.task.park(next, Timeout::never) == ThreadTask::resource, "the second wait's own wake");
    });
}

template <class Token = ParkToken, Defect defect = Defect::none>
std::vector<Case> fiberCases() {
    using Built = Scenarios<Token, defect>;
    return {makeCase("three wakers", Built::threeWakers), makeCase("two waits", Built::twoWaits)};
}

template <Defect defect = Defect::none>
std::vector<Case> cancellationCases() {
    using Built = Scenarios<ParkToken, defect>;
    return {makeCase("cancelled", Built::cancelled), makeCase("cancelled later", Built::cancelledLater),
            makeCase("shielded", Built::shielded)};
}

template <Defect defect = Defect::none>
std::vector<Case> uninterruptibleCases() {
    using Built = Scenarios<ParkToken, defect>;
    return {makeCase("uninterruptible", Built::uninterruptible(false)),
            makeCase("uninterruptible, aborted elsewhere", Built::uninterruptible(true))};
}

std::vector<Case> cases() {
    std::vector<Case> all = fiberCases();
    for (Case& tested : cancellationCases()) all.push_back(std::move(tested));
    for (Case& tested : uninterruptibleCases()) all.push_back(std::move(tested));
    all.push_back(makeCase("shutdown", Scenarios<ParkToken, Defect::none>::shutdown));
    all.push_back(makeCase("abort", aborting));
    all.push_back(makeCase("thread", threadParks));
    return all;
}

constexpr const char* protocol = "park token";

TEST(ParkTokenModel, OneWinnerInTheSearchOfThreePreemptions) {
    exploreAll(protocol, cases(), {.preemptions = 3, .executions = 600'000});
}
TEST(ParkTokenModel, OneWinnerInTheFullSearch) {
    exploreAll(protocol, cases(),
               {.search = Search::full,
                .executions = 200'000,
                .seconds = 200,
                .mustEnd = true,
                .unless = {"three wakers", "two waits", "cancelled later", "shielded", "uninterruptible",
                           "uninterruptible, aborted elsewhere", "shutdown", "thread"}});
}
TEST(ParkTokenModel, OneWinnerAtRandom) {
    exploreAll(protocol, cases(), {.search = Search::random, .executions = 30'000});
    exploreAll(protocol, cases(), {.search = Search::pct, .executions = 30'000});
}

// --- twins

constexpr Survivor survivors[] = {
    {"park_token abort compare_exchange.success *", "then it reads the task's own store"},
    {"park_token abort compare_exchange.failure *", "finish() acquires too; see below"},
    {"park_token commit compare_exchange.failure *", "finish() acquires too; see below"},
    {"park_token isClaimed load *", "finish() acquires too; see below"},
    {"park_token finish load *", "isClaimed(), abort(), commit() or the run queue have acquired; see below"},
};

TEST(ParkTokenModel, EveryOrderIsNeeded) {
    expectOrdersNeeded(protocol, cases(), survivors, {.files = {"park_token", "thread_task", "park_token_model_test"}});
}
TEST(ParkTokenModel, OneOfTwoAcquiresIsNeededOnEachWayToAResult) {
    const std::string_view finish = "park_token finish load acquire->relaxed";
    expectKilledTogether(cases(), {finish, "park_token isClaimed load acquire->relaxed"});
    expectKilledTogether(cases(), {finish, "park_token commit compare_exchange.failure acquire->relaxed"});
    expectKilledTogether(cases(), {finish, "park_token abort compare_exchange.failure acquire->relaxed"});
}

template <Defect defect>
std::vector<Case> broken() {
    return fiberCases<TwinToken<defect>, defect>();
}

TEST(ParkTokenModel, TheTwinWithoutADefectPasses) {
    exploreAll("park token (twin)", broken<Defect::none>(), {});
}
TEST(ParkTokenModel, AContextSavedAfterTheCommitIsResumedTooEarly) {
    expectKilled("saves the context after the commit", broken<Defect::commitsFirst>());
}
TEST(ParkTokenModel, ACommitByStoreLosesAClaim) {
    expectKilled("commits by store", broken<Defect::commitByStore>());
}
TEST(ParkTokenModel, AClaimByStoreHasTwoWinners) {
    expectKilled("claims by store", broken<Defect::claimByStore>());
}
TEST(ParkTokenModel, TheOrdersOfACancellationAreNeeded) {
    for (const std::string_view order :
         {"task_state requestCancel fetch_or seq_cst->acq_rel", "task_state isCancelRequested load seq_cst->acquire"}) {
        expectKilledTogether(cancellationCases(), {order});
    }
}
TEST(ParkTokenModel, ACommitThatDoesNotCheckForACancellationLosesIt) {
    expectKilled("commits without a look", cancellationCases<Defect::commitsBlindly>());
}
TEST(ParkTokenModel, ACancellerThatIgnoresTheShieldEndsAShieldedWait) {
    expectKilled("cancels without a look", cancellationCases<Defect::cancelsBlindly>());
    expectKilled("cancels without a look", uninterruptibleCases<Defect::cancelsBlindly>());
}
TEST(ParkTokenModel, ACancellerThatReadsTheMaskBeforeTheParkWordEndsAnUninterruptibleWait) {
    expectKilled("reads the mask first", uninterruptibleCases<Defect::looksEarly>());
}
TEST(ParkTokenModel, AnUninterruptibleWaitThatIsMarkedAfterTheCommitIsInterrupted) {
    expectKilled("masks after the commit", uninterruptibleCases<Defect::masksLate>());
}
TEST(ParkTokenModel, AShutdownThatDoesNotReadTheMaskEndsAnUninterruptibleWait) {
    expectKilled("aborts without a look", only("uninterruptible", uninterruptibleCases<Defect::abortsBlindly>()));
    expectKilled("aborts without a look, elsewhere",
                 only("uninterruptible, aborted elsewhere", uninterruptibleCases<Defect::abortsBlindly>()));
}
TEST(ParkTokenModel, AnUninterruptibleWaitThatIsRefusedIsInterrupted) {
    expectKilled("refuses uninterruptible waits", uninterruptibleCases<Defect::refusesBlindly>());
}
TEST(ParkTokenModel, AReusedEpochLetsALateWakerEndTheNextWait) {
    expectKilled("epochs repeat", broken<Defect::sameEpoch>());
}

}  // namespace
}  // namespace weft::model
