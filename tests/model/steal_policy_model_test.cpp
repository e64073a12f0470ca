// When carriers steal from each other (docs/explanation/protocol.md section 16): no work that a thief could take waits
// behind a long slice while a carrier sleeps without a deadline.
#include "steal_policy_scenarios.hpp"

namespace weft::model {
namespace {

using namespace helping;

constexpr const char* protocol = "helping";

TEST(StealPolicyModel, NoWorkIsStrandedInTheSearchOfTwoPreemptions) {
    exploreAll(protocol, cases(), {.preemptions = 2, .executions = 200'000});
}
TEST(StealPolicyModel, NoWorkIsStrandedAtRandom) {
    exploreAll(protocol, cases(), {.search = Search::random, .executions = 40'000});
    exploreAll(protocol, cases(), {.search = Search::pct, .executions = 40'000});
}

template <Defect defect>
void expectNoticed(const char* name) {
    expectKilled(name, cases<detail::BasicStealCluster, defect>());
}

TEST(StealPolicyModel, CarriersWithOneDefectAreNoticed) {
    expectNoticed<Defect::looksOnce>("a carrier sleeps without another look at the others");
    expectNoticed<Defect::looksFirst>("a carrier looks at the others before it announces its sleep");
    expectNoticed<Defect::publishesQuietly>("a carrier calls nobody");
    expectNoticed<Defect::movesQuietly>("a carrier calls nobody to what it has taken out of its in-tray");
    expectNoticed<Defect::submitsQuietly>("a submitter calls nobody");
    expectNoticed<Defect::forgetsCalls>("a carrier that is called does not search");
    expectNoticed<Defect::keepsWatching>("a busy carrier is still relied on");
}

// Clusters with one defect.
template <class P, class Group>
struct KeepsSearches : detail::BasicStealCluster<P, Group> {
    using detail::BasicStealCluster<P, Group>::BasicStealCluster;
    bool endSearch() noexcept { return false; }
};
template <class P, class Group>
struct AlwaysSentinel : detail::BasicStealCluster<P, Group> {
    using detail::BasicStealCluster<P, Group>::BasicStealCluster;
    bool becomeSentinel(unsigned) noexcept { return false; }  // as if another carrier had to do it
};
template <class P, class Group>
struct NeverResigns : detail::BasicStealCluster<P, Group> {
    using detail::BasicStealCluster<P, Group>::BasicStealCluster;
    void resignSentinel() noexcept {}
};
template <class P, class Group>
struct NeverIdle : detail::BasicStealCluster<P, Group> {
    using detail::BasicStealCluster<P, Group>::BasicStealCluster;
    bool anyIdle() const noexcept { return false; }  // nothing is passed on
};
template <class P, class Group>
struct ForgetsItself : detail::BasicStealCluster<P, Group> {
    using Base = detail::BasicStealCluster<P, Group>;
    using Base::Base;
    void callSuccessor(unsigned member) noexcept {
        const unsigned other = Base::anyIdle() ? Base::needy(member) : Base::members;
        if (other != Base::members) Base::search(other);
    }
};
template <class P, class Group>
struct HasNoSuccessor : detail::BasicStealCluster<P, Group> {
    using detail::BasicStealCluster<P, Group>::BasicStealCluster;
    void callSuccessor(unsigned) noexcept {}
};

TEST(StealPolicyModel, ClustersWithOneDefectAreNoticed) {
    expectKilled("a search that has ended is still counted", cases<KeepsSearches>());
    expectKilled("nobody looks again at what is too young", cases<AlwaysSentinel>());
    expectKilled("a busy sentinel is still counted on", cases<NeverResigns>());
    expectKilled("nothing is passed on", cases<NeverIdle>());
    expectKilled("a sentinel that gets busy calls no successor", cases<HasNoSuccessor>());
    expectKilled("a sentinel that gets busy forgets its own work", cases<ForgetsItself>());
}

constexpr Survivor survivors[] = {
    {"steal_policy takeSearch compare_exchange.success *",
     "the looks after it are seq_cst, made in the order of time here"},
    {"steal_policy becomeSentinel compare_exchange.success *",
     "who becomes it looks once more; only failing needs the order, and GCC wants no weaker one beside it"},
    {"steal_policy endSearch compare_exchange.success *", "as takeSearch"},
};

TEST(StealPolicyModel, EveryOrderIsNeeded) {
    expectOrdersNeeded(protocol, cases(), survivors,
                       {.random = 5'000, .pct = 5'000, .depthFirst = 10'000, .files = {"steal_policy", "idle_set"}});
}

// Orders of the queue that only a thief's check needs.
TEST(StealPolicyModel, PublicationOrdersWhatAThiefReads) {
    const auto expectKilledIn = [](const char* where, std::string_view order) {
        const Hunt hunt{.random = 20'000, .pct = 20'000, .depthFirst = 20'000, .files = {"stealable_queue"}};
        expectKilledTogether(only(where, cases()), {order}, hunt);
    };
    expectKilledIn("one in need", "stealable_queue hasStealable load seq_cst->acquire");
    expectKilledIn("moved by the owner", "stealable_queue hasStealable load#3 seq_cst->acquire");
    expectKilledIn("one in need", "stealable_queue publish exchange seq_cst->acq_rel");
    expectKilledIn("moved by the owner", "stealable_queue putBacklog compare_exchange.success seq_cst->acq_rel");
}

}  // namespace
}  // namespace weft::model
