// A Context's turn and its sleep inside Asio (docs/explanation/protocol.md section 15): run() returns when the users'
// work is done and not before, the loop sleeps through nothing, and no handler runs while the carrier counts as asleep.
#include "reactor_turn_scenarios.hpp"

namespace weft::model {
namespace {

using Defect = ContextDefect;

constexpr const char* protocol = "reactor turn";

TEST(ReactorTurnModel, RunReturnsWhenAllIsDoneInTheSearchOfTwoPreemptions) {
    exploreAll(protocol, reactorCases(), {.preemptions = 2, .executions = 300'000});
}
TEST(ReactorTurnModel, RunReturnsWhenAllIsDoneInTheFullSearch) {
    exploreAll(protocol, reactorCases(),
               {.search = Search::full, .executions = 50'000, .seconds = 200, .mustEnd = true});
}
TEST(ReactorTurnModel, RunReturnsWhenAllIsDoneAtRandom) {
    exploreAll(protocol, reactorCases(), {.search = Search::random, .executions = 30'000});
    exploreAll(protocol, reactorCases(), {.search = Search::pct, .executions = 30'000});
}

// --- twins

// The reactor has no atomics of its own.
constexpr const char* ofTheCarrier =
    "park_model_test.cpp kills it; this loop checks for work by RMWs and seq_cst loads";
constexpr Survivor survivors[] = {
    {"park_state leave exchange *", ofTheCarrier},
    {"park_state wakeAs compare_exchange.*", ofTheCarrier},
};

TEST(ReactorTurnModel, TheSleepNeedsTheOrdersOfTheCarriersState) {
    expectOrdersNeeded(protocol, only("task", reactorCases()), survivors, {.files = {"park_state"}});
}
TEST(ReactorTurnModel, AReactorThatCallsBeforeItLeavesTheGuardRunsHandlersAsleep) {
    expectKilled("calls asleep", only("event", reactorCases<Defect::callsAsleep>()));
}
TEST(ReactorTurnModel, AReactorThatKeepsTheGuardRunsHandlersAsleep) {
    expectKilled("keeps the guard", only("handler", reactorCases<Defect::keepsTheGuard>()));
}
TEST(ReactorTurnModel, AReactorThatSleepsWithoutTheGuardIsNotWoken) {
    expectKilled("never enters", only("task", reactorCases<Defect::neverEnters>()));
}
TEST(ReactorTurnModel, AReactorThatLooksInsideTheGuardConsumesItsWakeUp) {
    expectKilled("looks in the guard", only("task", reactorCases<Defect::looksInTheGuard>()));
}
TEST(ReactorTurnModel, AReactorThatLooksOnlyWhenItSleepsLeavesEventsWaitingForEver) {
    expectKilled("never looks", only("endless handler", reactorCases<Defect::neverLooks>()));
    expectKilled("never looks", only("endless task", reactorCases<Defect::neverLooks>()));
}
TEST(ReactorTurnModel, AReactorThatSleepsAfterCallsSleepsThroughTheLoopsWork) {
    expectKilled("sleeps after calls", only("event", reactorCases<Defect::sleepsAfterCalls>()));
}
TEST(ReactorTurnModel, AReactorThatSleepsAgainInTheSameTurnSleepsThroughTheLoopsTimers) {
    expectKilled("sleeps again", only("timer", reactorCases<Defect::sleepsAgain>()));
}
TEST(ReactorTurnModel, AReactorThatSleepsAgainWithoutTheGuardIsNotWoken) {
    expectKilled("sleeps again unguarded", only("edge", reactorCases<Defect::sleepsAgainUnguarded>()));
}
TEST(ReactorTurnModel, AReactorThatDoesNotGiveUpSpins) {
    expectKilled("never gives up", only("task", reactorCases<Defect::neverGivesUp>()));
}
TEST(ReactorTurnModel, ATurnWhoseEndCountsAsAHandlerEndsTheUsersWork) {
    expectKilled("return finishes work", only("edge", reactorCases<Defect::returnFinishesWork>()));
}

}  // namespace
}  // namespace weft::model
