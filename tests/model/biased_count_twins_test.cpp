// Biased counts with one defect each; the scenarios of the biased count must detect it.
#include "biased_count_scenarios.hpp"

namespace weft::model {
namespace {

using namespace biased;

enum class Defect {
    none,
    weightless,      // no weight keeps the shared part above 0 while there is an owner
    inTwoSteps,      // takes the weight away, then adds the owner's part
    dropsItsPart,    // takes only the weight away
    keepsItsPart,    // adds the owner's part, and again the next time
    resignsLate,     // the owner clears its name after it has ended its part
    neverTheLast,    // the end of the owner's part never reports that it was the last
    anybodyOwns,     // any thread counts in the owner's part
    sharedOnly,      // checks only the shared part for remaining references
    retainsBlindly,  // takes a reference although there is none
    checksFirst,     // checks that there is a reference, then takes one
    countsByStore,   // a load and a store instead of the read-modify-write
};

// A copy of the count in which one thing can be wrong.
template <Defect defect>
class TwinCount {
  public:
    explicit TwinCount(std::uint64_t count) : shared_(count) {}
    TwinCount(std::uint64_t count, const void* owner) : owner_(owner), shared_(count + weight) {}

    void retain(const void* me) {
        if (isOwner(me)) {
            local_ = local_ + 1;
        } else {
            shared_.fetch_add(1, std::memory_order_relaxed);
        }
    }
    bool retainUnlessZero() {
        std::uint64_t count = shared_.load(std::memory_order_relaxed);
        if (defect == Defect::retainsBlindly || (defect == Defect::checksFirst && count != 0)) {
            shared_.fetch_add(1, std::memory_order_relaxed);
            return true;
        }
        while (count != 0) {
            if (shared_.compare_exchange_weak(count, count + 1, std::memory_order_relaxed, std::memory_order_relaxed))
                return true;
        }
        return false;
    }
    bool release(const void* me) {
        if (isOwner(me)) {
            local_ = local_ - 1;
            return false;
        }
        if (defect == Defect::countsByStore) {
            const std::uint64_t before = shared_.load(std::memory_order_acquire);
            shared_.store(before - 1, std::memory_order_release);
            return before == 1;
        }
        return shared_.fetch_sub(1, std::memory_order_acq_rel) == 1;
    }
    void bias(const void* owner) {
        if (weight != 0) shared_.fetch_add(weight, std::memory_order_relaxed);
        owner_.store(owner, std::memory_order_relaxed);
    }
    bool unbias() {
        if (defect != Defect::resignsLate) owner_.store(this, std::memory_order_relaxed);
        const auto part = static_cast<std::uint64_t>(local_);
        if (defect != Defect::keepsItsPart) local_ = 0;
        bool last = false;
        if (defect == Defect::inTwoSteps) {
            last = shared_.fetch_sub(weight, std::memory_order_acq_rel) == weight;
            last = shared_.fetch_add(part, std::memory_order_acq_rel) + part == 0 || last;
        } else {
            const std::uint64_t change = (defect == Defect::dropsItsPart ? 0 : part) - weight;
            last = shared_.fetch_add(change, std::memory_order_acq_rel) + change == 0;
        }
        if (defect == Defect::resignsLate) owner_.store(this, std::memory_order_relaxed);
        return last && defect != Defect::neverTheLast;
    }
    bool biased() const { return owner_.load(std::memory_order_relaxed) != this; }
    bool none() const {
        std::uint64_t rest = biased() ? weight : 0;
        if (rest != 0 && defect != Defect::sharedOnly) rest -= static_cast<std::uint64_t>(local_);
        return shared_.load(std::memory_order_acquire) == rest;
    }

  private:
    static constexpr std::uint64_t weight = defect == Defect::weightless ? 0 : std::uint64_t{1} << 62;

    bool isOwner(const void* me) const {
        const void* named = owner_.load(std::memory_order_relaxed);
        return defect == Defect::anybodyOwns ? named != this : named == me;
    }

    Atomic<const void*> owner_{this};
    Plain<std::int64_t> local_{0};
    Atomic<std::uint64_t> shared_;
};

template <Defect defect>
void expectKilledIn(const char* name, const char* where) {
    expectKilled(name, only(where, cases<TwinCount<defect>>()));
}

TEST(BiasedCountModel, TheTwinWithoutADefectPasses) {
    exploreAll("biased count (twin)", cases<TwinCount<Defect::none>>(), {});
}
TEST(BiasedCountModel, WithoutAWeightTheSharedPartReachesZeroTooEarly) {
    expectKilledIn<Defect::weightless>("weightless", "gives away");
}
TEST(BiasedCountModel, EndingTheOwnersPartInTwoStepsExposesAFalseSum) {
    expectKilledIn<Defect::inTwoSteps>("in two steps", "holds on");
}
TEST(BiasedCountModel, AnOwnerWhoDropsItsPartEndsItTooEarly) {
    expectKilledIn<Defect::dropsItsPart>("drops its part", "holds on");
}
TEST(BiasedCountModel, AnOwnerWhoKeepsItsPartCountsItTwice) {
    expectKilledIn<Defect::keepsItsPart>("keeps its part", "again");
}
TEST(BiasedCountModel, AnOwnerThatResignsLateTouchesAnEndedObject) {
    expectKilledIn<Defect::resignsLate>("resigns late", "closes");
}
TEST(BiasedCountModel, AnOwnerWhoIsNeverTheLastForgetsIt) {
    expectKilledIn<Defect::neverTheLast>("never the last", "closes");
}
TEST(BiasedCountModel, OnlyTheOwnerMayCountInItsPart) {
    expectKilledIn<Defect::anybodyOwns>("anybody owns", "closes");
}
TEST(BiasedCountModel, CheckingOnlyTheSharedPartFreesARunningHandler) {
    expectKilledIn<Defect::sharedOnly>("shared only", "unpins");
}
TEST(BiasedCountModel, TakingAReferenceBlindlyRevivesAnObjectThatEnds) {
    expectKilledIn<Defect::retainsBlindly>("retains blindly", "takes weakly");
}
TEST(BiasedCountModel, CheckingBeforeTakingAReferenceRevivesAnObjectThatEnds) {
    expectKilledIn<Defect::checksFirst>("checks first", "takes weakly");
}
TEST(BiasedCountModel, AnObjectThatEndsWithoutTheLockIsUsedAfterItsEnd) {
    expectKilled("ends without the lock",
                 {makeCase("takes weakly", Scenarios<Shipped>::takesWeaklyFromOneThatEndsWithoutTheLock)});
}
TEST(BiasedCountModel, ACountByStoreEndsItTwiceOrNever) {
    expectKilledIn<Defect::countsByStore>("counts by store", "two others");
}

}  // namespace
}  // namespace weft::model
