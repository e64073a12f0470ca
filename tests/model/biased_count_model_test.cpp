// The biased count (docs/protocol.md section 12): one thread counts by itself while others count together. What is
// counted ends once, after every use; no thread but the owner touches the owner's part.
#include "biased_count_scenarios.hpp"

namespace weft::model {
namespace {

using namespace biased;

constexpr const char* protocol = "biased count";

TEST(BiasedCountModel, TheLastOneEndsItInTheSearchOfFourPreemptions) {
    exploreAll(protocol, cases(), {.preemptions = 4, .seconds = 200, .mustEnd = true});
}
TEST(BiasedCountModel, TheLastOneEndsItInEveryInterleaving) {
    exploreAll(protocol, cases(), {.search = Search::full, .seconds = 200, .mustEnd = true});
}
TEST(BiasedCountModel, TheLastOneEndsItAtRandom) {
    exploreAll(protocol, cases(), {.search = Search::random, .executions = 20'000});
    exploreAll(protocol, cases(), {.search = Search::pct, .executions = 20'000});
}

TEST(BiasedCountModel, EveryOrderIsNeeded) {
    expectOrdersNeeded(protocol, cases(), {}, {.files = {"biased_count"}});
}

}  // namespace
}  // namespace weft::model
