// CarrierHelper and StealCrew: how a carrier, and the carriers that it helps, appear to the steal policy.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include <weft/scheduler/carrier.hpp>
#include <weft/scheduler/detail/steal_policy.hpp>

namespace weft::detail {

// The carriers of a cluster, which a group keeps until all their threads have ended. Filled before the first one starts.
class StealCrew {
  public:
    using Cluster = BasicStealCluster<NativeAtomics, StealCrew>;

    // Throws std::bad_alloc. `carriers` stay where they are.
    StealCrew(std::vector<Carrier*> carriers, const StealRules& rules);

    // What the policy asks; any thread, for each carrier by its number in the cluster.
    bool hasSpoils(unsigned member) const noexcept { return carriers_[member]->core_.queue().hasSpoils(); }
    std::size_t spoils(unsigned member) const noexcept { return carriers_[member]->core_.queue().spoils(); }
    std::uint64_t slices(unsigned member) const noexcept { return carriers_[member]->counters_.run.get(); }
    bool call(unsigned member, unsigned victim) noexcept;

    Carrier& carrier(unsigned member) const noexcept { return *carriers_[member]; }
    Cluster& cluster() noexcept { return cluster_; }

  private:
    const std::vector<Carrier*> carriers_;
    Cluster cluster_;
};

// A carrier's part.
class CarrierHelper {
  public:
    CarrierHelper(Carrier& carrier, StealCrew& crew, unsigned member);

    // What the policy asks. Context: the carrier.
    bool rob(unsigned victim) noexcept;
    TimePoint now() const noexcept { return Clock::steady().now(); }
    unsigned random() noexcept { return static_cast<unsigned>(random_()); }

    auto& policy() noexcept { return policy_; }
    // Any thread that keeps the carrier from ending: what it had published may not be taken soon.
    void callHelp() noexcept { crew_.cluster().published(member_); }

  private:
    Carrier& carrier_;
    StealCrew& crew_;
    const unsigned member_;
    std::minstd_rand random_;
    BasicStealPolicy<StealCrew::Cluster, CarrierHelper> policy_;
};

}  // namespace weft::detail
