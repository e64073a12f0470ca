// Stealing (docs/explanation/protocol.md section 11), with rings of two: an owner, threads that submit to it, and
// thieves that take from its ring, its backlog and its in-tray. Each task runs once and sees what its submitter wrote;
// thieves can take all waiting tasks; a task that a thief hands back wakes a sleeping owner and is not lost to a closed
// queue.
#include "stealing_scenarios.hpp"

namespace weft::model {
namespace {

using namespace stealing;

// A value read before it is written: only speculated loads reveal an order of a load before a later store.
std::vector<Case> speculativeCases() {
    using Built = Scenarios<Shipped>;
    using Refill = Built::Refill;
    std::vector<Case> all = {makeCase("used again by a push", Built::reuses(Refill::push)),
                             makeCase("used again by a list", Built::reuses(Refill::accept)),
                             makeCase("used again by a stealResult", Built::reuses(Refill::steal)),
                             makeCase("used again by a stolen list", Built::reuses(Refill::stealList))};
    for (Case& speculative : all) speculative.options.memory.speculateLoads = true;
    return all;
}

constexpr const char* protocol = "stealing";

TEST(StealingModel, EachTaskRunsOnceInTheSearchOfThreePreemptions) {
    exploreAll(protocol, cases(), {.preemptions = 3, .executions = 200'000});
}
TEST(StealingModel, EachTaskRunsOnceInTheFullSearch) {
    exploreAll(protocol, only("the last task", cases()),
               {.search = Search::full, .executions = 200'000, .seconds = 200, .mustEnd = true});
}
TEST(StealingModel, EachTaskRunsOnceAtRandom) {
    exploreAll(protocol, cases(), {.search = Search::random, .executions = 60'000});
    exploreAll(protocol, cases(), {.search = Search::pct, .executions = 60'000});
}
TEST(StealingModel, ASlotIsReadBeforeItIsUsedAgain) {
    exploreAll(protocol, speculativeCases(), {.search = Search::random, .executions = 20'000});
}

constexpr Survivor survivors[] = {
    {"in_tray closeIfEmpty compare_exchange.success *", "as in run_queue_model_test"},
    {"stealable_queue push load#3 *", "a read before a write: see the next test"},
    {"stealable_queue accept load#2 *", "a read before a write: see the next test"},
    {"stealable_queue keepHalf load#2 *", "a read before a write: see the next test"},
    {"stealable_queue claimFrom load#2 *", "a read before a write: see the next test"},
    {"stealable_queue claimFrom compare_exchange.success *", "a read before a write: see the next test"},
    {"stealable_queue hasStealable *", "what a thief sees before it sleeps: see steal_policy_model_test"},
    {"stealable_queue publish exchange seq_cst->release", "as hasStealable"},
    {"stealable_queue publish exchange seq_cst->acq_rel", "as hasStealable"},
    {"stealable_queue putBacklog compare_exchange.success seq_cst->release", "as hasStealable"},
    {"stealable_queue putBacklog compare_exchange.success seq_cst->acq_rel", "as hasStealable"},
};

TEST(StealingModel, EveryOrderIsNeeded) {
    std::vector<Case> small = cases();
    small.resize(6);
    expectOrdersNeeded(protocol, small, survivors,
                       {.random = 5'000, .pct = 5'000, .depthFirst = 10'000, .files = {"stealable_queue", "in_tray"}});
}
TEST(StealingModel, WithoutTheOrdersOfAClaimASlotIsReadAfterItIsUsedAgain) {
    const auto expectKilledIn = [](const char* where, std::string_view order) {
        const Hunt hunt{.random = 20'000, .pct = 0, .depthFirst = 0, .files = {"stealable_queue"}};
        expectKilledTogether(only(where, speculativeCases()), {order}, hunt);
    };
    expectKilledIn("used again by a push", "stealable_queue claimFrom compare_exchange.success release->relaxed");
    expectKilledIn("used again by a push", "stealable_queue push load#3 acquire->relaxed");
    expectKilledIn("used again by a list", "stealable_queue accept load#2 acquire->relaxed");
    expectKilledIn("used again by a stealResult", "stealable_queue claimFrom load#2 acquire->relaxed");
    expectKilledIn("used again by a stolen list", "stealable_queue keepHalf load#2 acquire->relaxed");
}

}  // namespace
}  // namespace weft::model
