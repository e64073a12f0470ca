// A Context's turn and its sleep inside Asio (docs/explanation/protocol.md section 15): run() returns when the users'
// work is done and not before, the loop sleeps through nothing, and no handler runs while the carrier counts as asleep.
#include "context_turn_scenarios.hpp"

namespace weft::model {
namespace {

using Defect = ContextDefect;

constexpr const char* protocol = "context turn";

TEST(ContextTurnModel, RunReturnsWhenAllIsDoneInTheSearchOfTwoPreemptions) {
    exploreAll(protocol, contextCases(), {.preemptions = 2, .executions = 300'000});
}
TEST(ContextTurnModel, RunReturnsWhenAllIsDoneInTheFullSearch) {
    exploreAll(protocol, contextCases(),
               {.search = Search::full,
                .executions = 50'000,
                .seconds = 200,
                .mustEnd = true,
                .unless = {"execute twice", "raw post and execute", "publish", "event and execute"}});
}
TEST(ContextTurnModel, RunReturnsWhenAllIsDoneAtRandom) {
    exploreAll(protocol, contextCases(), {.search = Search::random, .executions = 30'000});
    exploreAll(protocol, contextCases(), {.search = Search::pct, .executions = 30'000});
}

// --- twins

TEST(ContextTurnModel, EveryOrderIsNeeded) {
    expectOrdersNeeded(protocol, only("publish", contextCases()), {}, {.files = {"context_turn"}});
}
TEST(ContextTurnModel, ALoopThatSleepsWithItsOwnWorkIsNotWokenByTheEndOfTheUsers) {
    expectKilled("keeps its work", contextCases<Defect::keepsItsWork>());
}
TEST(ContextTurnModel, ALoopThatReleasesItsWorkWhileItHoldsFunctionsReturnsEarly) {
    expectKilled("forgets what it holds", only("execute inside", contextCases<Defect::forgetsHeld>()));
}
TEST(ContextTurnModel, ALoopThatDoesNotLookAtAsiosFlagNeverReturns) {
    expectKilled("looks nowhere", contextCases<Defect::looksNowhere>());
}
TEST(ContextTurnModel, OnceAWakeUpHasArrivedTheNextOneMayBeSent) {
    expectKilled("wakes once", only("execute twice", contextCases<Defect::wakesOnce>()));
}
TEST(ContextTurnModel, AReactorThatCallsBeforeItLeavesTheGuardRunsHandlersAsleep) {
    expectKilled("calls before it leaves", only("event", contextCases<Defect::callsBeforeItLeaves>()));
}
TEST(ContextTurnModel, AReactorThatLetsAsioSleepAfterCallsSleepsThroughTheLoopsWork) {
    expectKilled("sleeps on after calls", only("event", contextCases<Defect::sleepsOnAfterCalls>()));
}
TEST(ContextTurnModel, AReactorThatKeepsTheGuardRunsHandlersAsleep) {
    expectKilled("dispatches asleep", only("raw post", contextCases<Defect::dispatchesAsleep>()));
}
TEST(ContextTurnModel, AReactorThatGivesUpByAWakeSpinsWhileAWakerIsAboutToPost) {
    expectKilled("gives up by a wake", only("edge", contextCases<Defect::givesUpByAWake>()));
}
TEST(ContextTurnModel, AReactorThatSleepsOnWithoutTheGuardIsNotWoken) {
    expectKilled("sleeps on without the guard", only("edge", contextCases<Defect::sleepsOnWithoutGuard>()));
}

}  // namespace
}  // namespace weft::model
