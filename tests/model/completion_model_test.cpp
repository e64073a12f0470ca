// Completion (docs/explanation/protocol.md section 10): a promise completes while other threads wait for it, listen to
// it and release it. A listener is called once, after the value is visible; no thread sleeps through the completion;
// the shared state is freed once and not touched afterwards.
#include "completion_scenarios.hpp"

namespace weft::model {
namespace {

using namespace completion;

constexpr const char* protocol = "completion";

TEST(CompletionModel, NoWaiterMissesTheCompletionInTheSearchOfThreePreemptions) {
    exploreAll(protocol, cases(), {.preemptions = 3, .executions = 200'000});
}
TEST(CompletionModel, NoWaiterMissesTheCompletionInTheFullSearch) {
    exploreAll(protocol, cases(),
               {.search = Search::full,
                .executions = 100'000,
                .seconds = 200,
                .mustEnd = true,
                .unless = {"ordered", "in the loop", "listens", "two end it", "awaits", "awaits, timeout"}});
}
TEST(CompletionModel, NoWaiterMissesTheCompletionAtRandom) {
    exploreAll(protocol, cases(), {.search = Search::random, .executions = 20'000});
    exploreAll(protocol, cases(), {.search = Search::pct, .executions = 20'000});
}

TEST(CompletionModel, EveryOrderIsNeeded) {
    expectOrdersNeeded(protocol, cases(), {}, {.files = {"completion", "reference_count"}});
}

}  // namespace
}  // namespace weft::model
