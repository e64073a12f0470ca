// The biased count (docs/explanation/protocol.md section 12): one thread counts in its own part, the others share one.
// The counted object ends once, after every use; only the owner touches the owner's part.
#include "biased_count_scenarios.hpp"

namespace weft::model {
namespace {

using namespace biased;

constexpr const char* protocol = "biased count";

TEST(BiasedCountModel, TheLastReferenceEndsTheObjectInTheSearchOfFourPreemptions) {
    exploreAll(protocol, cases(), {.preemptions = 4, .seconds = 200, .mustEnd = true});
}
TEST(BiasedCountModel, TheLastReferenceEndsTheObjectInEveryInterleaving) {
    exploreAll(protocol, cases(), {.search = Search::full, .seconds = 200, .mustEnd = true});
}
TEST(BiasedCountModel, TheLastReferenceEndsTheObjectAtRandom) {
    exploreAll(protocol, cases(), {.search = Search::random, .executions = 20'000});
    exploreAll(protocol, cases(), {.search = Search::pct, .executions = 20'000});
}

TEST(BiasedCountModel, EveryOrderIsNeeded) {
    expectOrdersNeeded(protocol, cases(), {}, {.files = {"biased_count"}});
}

}  // namespace
}  // namespace weft::model
