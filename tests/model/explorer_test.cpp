// The explorer itself: its searches, its reports, and what threads can block on.
#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "atomics.hpp"
#include "blocking.hpp"
#include "explorer.hpp"
#include "protocol_test.hpp"
#include "twins.hpp"

namespace weft::model {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using enum std::memory_order;

Options options(Search search, unsigned preemptions = 100) {
    Options chosen;
    chosen.search = search;
    chosen.preemptions = preemptions;
    chosen.steps = 300;
    return chosen;
}

struct Pair {
    Atomic<int> x{0};
    Atomic<int> y{0};
    Plain<int> data{0};
};

// Two threads that each store twice, to one variable or to one each.
Scenario fourStores(bool sameVariable) {
    return [=](ModelRun& run) {
        auto& pair = run.make<Pair>();
        run.thread("A", [&pair] { pair.x.store(1, relaxed), pair.x.store(2, relaxed); });
        run.thread("B", [&pair, sameVariable] {
            Atomic<int>& other = sameVariable ? pair.x : pair.y;
            other.store(3, relaxed), other.store(4, relaxed);
        });
    };
}

// Both threads add one by a load and a store: an update is lost if one is preempted between the two.
void lostUpdate(ModelRun& run) {
    auto& pair = run.make<Pair>();
    run.name({"x", "y"});
    for (const char* name : {"A", "B"}) {
        run.thread(name, [&pair] { pair.x.store(pair.x.load(seq_cst) + 1, seq_cst); });
    }
    run.finally([&pair] { assertThat(pair.x.load(relaxed) == 2, "no update is lost"); });
}

Result run(Scenario scenario, Search search = Search::depthFirst) {
    return explore(options(search), scenario);
}

FailureKind failureOf(const Result& result) {
    return result.failure ? result.failure->kind : FailureKind::none;
}

// --- searches

TEST(Explorer, DepthFirstCountsEveryInterleavingOnce) {
    const Result result = run(fourStores(true));
    EXPECT_TRUE(result.complete);
    EXPECT_EQ(result.executions, 6u);  // 4! / (2! 2!)
}

TEST(Explorer, APreemptionBoundLeavesOutWhatNeedsMore) {
    EXPECT_EQ(explore(options(Search::depthFirst, 0), fourStores(true)).executions, 2u);
    EXPECT_EQ(explore(options(Search::depthFirst, 1), fourStores(true)).executions, 4u);
    EXPECT_TRUE(explore(options(Search::depthFirst, 0), lostUpdate).passed());
    EXPECT_FALSE(explore(options(Search::depthFirst, 1), lostUpdate).passed());
}

TEST(Explorer, AFullSearchSkipsInterleavingsOfIndependentSteps) {
    EXPECT_EQ(run(fourStores(true), Search::full).executions, 6u);
    EXPECT_EQ(run(fourStores(false), Search::full).executions, 1u);
}

TEST(Explorer, ASeedMeansTheSameExecutions) {
    for (const Search search : {Search::random, Search::pct}) {
        const Result once = run(lostUpdate, search);
        const Result again = run(lostUpdate, search);
        ASSERT_EQ(failureOf(once), FailureKind::assertion);
        EXPECT_EQ(once.executions, again.executions);
        EXPECT_EQ(once.failure->token, again.failure->token);
    }
}

TEST(Explorer, TheBudgetEndsASearchThatIsNotComplete) {
    Options chosen = options(Search::depthFirst);
    chosen.executions = 3;
    const Result result = explore(chosen, fourStores(true));
    EXPECT_EQ(result.executions, 3u);
    EXPECT_FALSE(result.complete);
}

TEST(Explorer, ASearchThatExploresTooLittleFails) {
    Result result;
    EXPECT_EQ(shortfall({}, result), "nothing was explored");
    result.complete = true;  // although nothing was explored
    EXPECT_EQ(shortfall({}, result), "nothing was explored");
    result.executions = 7;
    EXPECT_EQ(shortfall({.mustEnd = true}, result), "") << "a search that ended has seen all there is";
    result.complete = false;
    EXPECT_EQ(shortfall({}, result), "only 7 interleavings were explored; at least 10000 are wanted");
    EXPECT_EQ(shortfall({.executions = 7}, result), "");
    EXPECT_EQ(shortfall({.mustEnd = true}, result), "the search did not end, after 7 interleavings");
}

TEST(Explorer, TheEnvironmentOverridesTheBudget) {
    ::setenv("WEFT_MODEL_EXECUTIONS", "2", 1);
    const Result result = run(fourStores(true));
    ::unsetenv("WEFT_MODEL_EXECUTIONS");
    EXPECT_EQ(result.executions, 2u);
}

TEST(Explorer, TheEffortScalesTheBudgetsOfSearchesThatNeedNotEnd) {
    ::setenv("WEFT_MODEL_EFFORT", "0.5", 1);
    EXPECT_EQ(budgetFor("a", {.executions = 100, .seconds = 8}).executions, 50u);
    EXPECT_EQ(budgetFor("a", {.executions = 100, .seconds = 8}).seconds, 4);
    EXPECT_EQ(budgetFor("a", {.executions = 100, .mustEnd = true}).executions, 100u);
    EXPECT_EQ(budgetFor("a", {.executions = 100, .mustEnd = true, .unless = {"a"}}).executions, 50u);
    ::setenv("WEFT_MODEL_EFFORT", "half", 1);
    EXPECT_NONFATAL_FAILURE((void)searchEffort(), "WEFT_MODEL_EFFORT is 'half': expected a number from 0.01 to 1000");
    ::unsetenv("WEFT_MODEL_EFFORT");
}

// --- replay

TEST(Explorer, ATokenReplaysTheFailureExactly) {
    for (const Search search : {Search::depthFirst, Search::full, Search::random, Search::pct}) {
        const Result found = run(lostUpdate, search);
        ASSERT_FALSE(found.passed());
        testing::internal::CaptureStdout();
        const Result again = replay(options(search), lostUpdate, found.failure->token);
        EXPECT_EQ(testing::internal::GetCapturedStdout(), found.failure->trace);
        ASSERT_FALSE(again.passed());
        EXPECT_EQ(again.failure->message, found.failure->message);
        EXPECT_EQ(again.failure->trace, found.failure->trace);
    }
}

TEST(Explorer, TheEnvironmentReplaysTheScenarioOfThatName) {
    const Result found = run(lostUpdate);
    ::setenv("WEFT_MODEL_REPLAY", found.failure->token.c_str(), 1);
    testing::internal::CaptureStdout();
    const Result again = run(lostUpdate);
    testing::internal::GetCapturedStdout();
    Options other = options(Search::depthFirst);
    other.name = "another";
    const Result unaffected = explore(other, fourStores(true));
    ::unsetenv("WEFT_MODEL_REPLAY");
    EXPECT_EQ(again.executions, 1u);
    EXPECT_FALSE(again.passed());
    EXPECT_EQ(unaffected.executions, 6u);
}

TEST(Explorer, ATraceShowsThreadOperationNameValueOrderAndSource) {
    const Result found = run(lostUpdate);
    EXPECT_THAT(found.failure->trace, AllOf(HasSubstr("A           store            x = 1  seq_cst"),
                                            HasSubstr("B           load             x 0"),
                                            HasSubstr("explorer_test.cpp:"), HasSubstr("pair.x.store(pair.x.load")));
}

// --- what it reports

TEST(Explorer, ADeadlockReportSaysWhatEachThreadWaitsFor) {
    const Result result = run([](ModelRun& run) {
        auto& event = run.make<Event>("bell");
        auto& word = run.make<Atomic<std::uint32_t>>(7u);
        run.name({"word"});
        run.thread("listener", [&event] { event.wait(); });
        run.thread("sleeper", [&word] { futexWait(word, 7); });
    });
    ASSERT_EQ(failureOf(result), FailureKind::deadlock);
    EXPECT_THAT(result.failure->message,
                AllOf(HasSubstr("listener waits for the event bell"), HasSubstr("sleeper waits in the futex word")));
}

TEST(Explorer, ALoopWithoutAnEndIsALivelock) {
    const Result result = run([](ModelRun& run) {
        auto& pair = run.make<Pair>();
        run.thread("A", [&pair] {
            while (pair.x.load(relaxed) == 0) yield();
        });
    });
    EXPECT_EQ(failureOf(result), FailureKind::livelock);
}

TEST(Explorer, PlainDataThatTwoThreadsUseIsARace) {
    const auto bothUse = [](bool write) {
        return [=](ModelRun& run) {
            auto& pair = run.make<Pair>();
            run.thread("A", [&pair, write] { write ? void(pair.data = 1) : void(pair.data.get()); });
            run.thread("B", [&pair] { (void)pair.data.get(); });
        };
    };
    EXPECT_EQ(failureOf(run(bothUse(true))), FailureKind::race);
    EXPECT_EQ(failureOf(run(bothUse(false))), FailureKind::none);
}

TEST(Explorer, ARaceIsFoundInWhateverOrderTheThreadsRun) {
    const Scenario racing = [](ModelRun& run) {
        auto& pair = run.make<Pair>();
        run.thread("A", [&pair] { pair.data = 1, pair.x.store(1, relaxed); });
        run.thread("B", [&pair] { pair.y.store(1, relaxed), pair.data = 2; });
    };
    EXPECT_EQ(explore(options(Search::depthFirst, 0), racing).executions, 1u);
}

TEST(Explorer, DataThatWasNeverWrittenIsReported) {
    const Result result = run([](ModelRun& run) {
        auto& data = run.make<Plain<int>>();
        run.thread("A", [&data] { (void)data.get(); });
    });
    EXPECT_EQ(failureOf(result), FailureKind::uninitialised);
}

Result usedWhileDestroyed(bool synchronized, bool after) {
    return run([=](ModelRun& run) {
        auto& pair = run.make<Pair>();
        auto& done = run.make<Atomic<bool>>(false);
        run.thread("user", [=, &pair, &done] {
            pair.x.fetch_add(1, relaxed);
            done.store(true, synchronized ? release : relaxed);
            if (after) pair.x.fetch_add(1, relaxed);
        });
        run.thread("owner", [&pair, &done] {
            await([&done] { return done.load(acquire); });
            destroy(pair);
        });
    });
}

TEST(Explorer, AUseThatDoesNotHappenBeforeTheDestructionIsReported) {
    EXPECT_EQ(failureOf(usedWhileDestroyed(true, false)), FailureKind::none);
    EXPECT_EQ(failureOf(usedWhileDestroyed(false, false)), FailureKind::lifetime);
    EXPECT_EQ(failureOf(usedWhileDestroyed(true, true)), FailureKind::lifetime);
}

TEST(Explorer, ASecondDestructionIsReported) {
    const Result result = run([](ModelRun& run) {
        auto& word = run.make<Atomic<int>>(0);
        run.thread("owner", [&word] { destroy(word), destroy(word); });
    });
    EXPECT_EQ(failureOf(result), FailureKind::lifetime);
}

// --- waiting

TEST(Explorer, AThreadThatAwaitsAChangeSeesItInTheEnd) {
    const Result result = run([](ModelRun& run) {
        auto& pair = run.make<Pair>();
        run.thread("A", [&pair] { pair.x.store(1, relaxed), pair.x.store(2, relaxed); });
        run.thread("B", [&pair] { await([&pair] { return pair.x.load(relaxed) == 2; }); });
    });
    EXPECT_TRUE(result.passed() && result.complete) << result;
}

TEST(Explorer, AThreadDoesNotReadAnOldStoreForEver) {
    const Result result = run([](ModelRun& run) {
        auto& pair = run.make<Pair>();
        run.thread("A", [&pair] { pair.x.store(1, relaxed); });
        run.thread("B", [&pair] {
            while (pair.x.load(relaxed) == 0) yield();
        });
    });
    EXPECT_TRUE(result.passed() && result.complete) << result;
}

TEST(Explorer, AFutexComparesAndSleepsAtOnce) {
    const auto sleeping = [](bool wakes) {
        return [=](ModelRun& run) {
            auto& word = run.make<Atomic<std::uint32_t>>(0u);
            run.thread("sleeper", [&word] { futexWait(word, 0); });
            run.thread("waker", [&word, wakes] {
                word.store(1, relaxed);
                if (wakes) futexWake(word);
            });
        };
    };
    EXPECT_TRUE(run(sleeping(true)).passed());
    EXPECT_EQ(failureOf(run(sleeping(false))), FailureKind::deadlock);
}

TEST(Explorer, ATimedWaitEndsByItself) {
    const Result result = run([](ModelRun& run) {
        auto& word = run.make<Atomic<std::uint32_t>>(0u);
        auto& event = run.make<Event>("bell");
        run.thread("sleeper", [&word, &event] {
            const int woken = futexWait(word, 0, Timeout::possible);
            observe({woken, event.wait(Timeout::possible)});
        });
        run.thread("waker", [&word, &event] { futexWake(word), event.signal(); });
    });
    EXPECT_TRUE(result.passed() && result.complete) << result;
    EXPECT_EQ(result.outcomes.size(), 4u);
}

TEST(Explorer, SignalsBeforeAWaitCountAsOne) {
    const auto waiting = [](int times) {
        return [=](ModelRun& run) {
            auto& event = run.make<Event>("bell");
            run.thread("A", [&event] { event.signal(), event.signal(); });
            run.thread("B", [&event, times] {
                for (int i = 0; i < times; ++i) event.wait();
            });
        };
    };
    EXPECT_TRUE(run(waiting(1)).passed());
    EXPECT_EQ(failureOf(run(waiting(2))), FailureKind::deadlock);
}

TEST(Explorer, AMutexExcludesAndOrders) {
    const Result result = run([](ModelRun& run) {
        struct Shared {
            Mutex mutex{"lock"};
            Plain<int> count{0};
        };
        auto& shared = run.make<Shared>();
        for (const char* name : {"A", "B", "C"}) {
            run.thread(name, [&shared] {
                shared.mutex.lock();
                shared.count = shared.count + 1;
                shared.mutex.unlock();
            });
        }
        run.finally([&shared] { assertThat(shared.count == 3, "all have counted"); });
    });
    EXPECT_TRUE(result.passed() && result.complete) << result;
}

// --- twins

// A flag that publishes data [E1].
void publishing(ModelRun& run) {
    auto& pair = run.make<Pair>();
    run.thread("A", [&pair] { pair.data = 1, pair.x.store(1, seq_cst); });  // [E2]
    run.thread("B", [&pair] {
        if (pair.x.load(acquire) == 1) assertThat(pair.data == 1, "the data");  // [E3]
    });
}

TEST(Twins, EachOrderOfEachSiteIsWeakened) {
    Case tested;
    tested.scenario = publishing;
    const std::vector<Twin> twins = weakenings({&tested, 1});
    std::vector<std::string> killed;
    std::vector<std::string> survived;
    for (const Twin& twin : twins) (twin.killed() ? killed : survived).push_back(twin.name);
    EXPECT_THAT(killed, ElementsAre("explorer_test publishing store seq_cst->relaxed",
                                    "explorer_test publishing load acquire->relaxed"));
    EXPECT_THAT(survived, ElementsAre("explorer_test publishing store seq_cst->release"));
    EXPECT_THAT(twins.front().edges, ElementsAre("E2"));
    EXPECT_THAT(twins.back().edges, ElementsAre("E3"));
}

TEST(Twins, ComplaintsNameUnlistedSurvivorsAndWrongEntries) {
    Twin twins[2];
    twins[0].name = "a load acquire->relaxed";
    twins[0].killedBy = FailureKind::race;
    twins[1].name = "b load acquire->relaxed";
    const Survivor right[] = {{"b load *", "because"}};
    const Survivor wrong[] = {{"a load *", "because"}, {"c load *", "because"}};
    EXPECT_THAT(complaints(twins, right), IsEmpty());
    EXPECT_EQ(complaints(twins, wrong).size(), 3u);
}

// --- speed

TEST(Explorer, ReportsItsSpeed) {
    Options chosen = options(Search::random);
    chosen.executions = 100'000;
    const Result result = explore(chosen, [](ModelRun& run) {
        auto& pair = run.make<Pair>();
        for (const char* name : {"A", "B", "C"}) {
            run.thread(name, [&pair] {
                for (int i = 0; i < 5; ++i) pair.x.fetch_add(1, acq_rel), (void)pair.y.load(acquire);
            });
        }
    });
    EXPECT_EQ(result.executions, 100'000u);
    std::cout << "model | speed | 3 threads of 10 operations | " << static_cast<int>(100 / result.seconds)
              << " thousand executions a second\n";
}

}  // namespace
}  // namespace weft::model
