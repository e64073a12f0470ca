// CarrierHelper and StealGroup: the adapters between the steal policy and the carriers.
#pragma once

#include <cstdint>
#include <vector>

#include <weft/scheduler/carrier.hpp>
#include <weft/scheduler/detail/lehmer_generator.hpp>
#include <weft/scheduler/detail/steal_policy.hpp>

namespace weft::detail {

// The carriers of a steal cluster. The CarrierGroup creates it before the first thread starts and destroys it after all
// threads have ended.
class StealGroup {
  public:
    using Cluster = BasicStealCluster<NativeAtomics, StealGroup>;

    // Throws std::bad_alloc. The carriers must stay at their addresses while their threads run.
    StealGroup(std::vector<Carrier*> carriers, const StealRules& rules);

    // Called by the policy. Any thread. Carriers are identified by their number in the cluster.
    bool hasStealable(unsigned member) const noexcept { return carriers_[member]->core_.queue().hasStealable(); }
    std::size_t stealableCount(unsigned member) const noexcept {
        return carriers_[member]->core_.queue().stealableCount();
    }
    std::uint64_t slices(unsigned member) const noexcept { return carriers_[member]->counters_.run.get(); }
    bool call(unsigned member, unsigned victim) noexcept;

    Carrier& carrier(unsigned member) const noexcept { return *carriers_[member]; }
    Cluster& cluster() noexcept { return cluster_; }

  private:
    const std::vector<Carrier*> carriers_;
    Cluster cluster_;
};

// The host of one carrier's steal policy.
class CarrierHelper {
  public:
    CarrierHelper(Carrier& carrier, StealGroup& group, unsigned member);

    // Called by the policy. Context: the carrier.
    bool stealFromMember(unsigned victim) noexcept;
    TimePoint now() const noexcept { return Clock::steady().now(); }
    unsigned random() noexcept { return random_(); }

    auto& policy() noexcept { return policy_; }
    void answer(CalledBy call) noexcept {
        directed_ = true;
        policy_.answer(call);
        directed_ = false;
    }
    // Has this carrier's work stolen by an idle carrier, or watched by the sentinel, because this carrier is busy. Any
    // thread that keeps the carrier from ending.
    void callHelp() noexcept { group_.cluster().published(member_); }

  private:
    Carrier& carrier_;
    StealGroup& group_;
    const unsigned member_;
    LehmerGenerator random_;
    bool directed_ = false;  // true while it answers a call; recorded with each steal
    BasicStealPolicy<StealGroup::Cluster, CarrierHelper> policy_;
};

}  // namespace weft::detail
