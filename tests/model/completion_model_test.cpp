// Completion (docs/protocol.md section 10): a promise that ends while others wait for it, listen to it and let go of
// it. A listener is called once, after the value can be seen; nobody sleeps through the end; what waiters and the one
// who ends it share is freed once and then left alone.
#include "completion_scenarios.hpp"

namespace weft::model {
namespace {

using namespace completion;

constexpr const char* protocol = "completion";

TEST(CompletionModel, NobodyMissesTheEndInTheSearchOfThreePreemptions) {
    exploreAll(protocol, cases(), {.preemptions = 3, .executions = 200'000});
}
TEST(CompletionModel, NobodyMissesTheEndInTheFullSearch) {
    exploreAll(protocol, cases(),
               {.search = Search::full, .executions = 100'000, .seconds = 200, .mustEnd = true,
                .unless = {"ordered", "in the loop", "listens", "two end it", "awaits", "awaits, timeout"}});
}
TEST(CompletionModel, NobodyMissesTheEndAtRandom) {
    exploreAll(protocol, cases(), {.search = Search::random, .executions = 20'000});
    exploreAll(protocol, cases(), {.search = Search::pct, .executions = 20'000});
}

TEST(CompletionModel, EveryOrderIsNeeded) {
    expectOrdersNeeded(protocol, cases(), {}, {.files = {"completion", "reference_count"}});
}

}  // namespace
}  // namespace weft::model
