// Stranded work (docs/explanation/protocol.md section 16, D4 and D6): the two schedules in which a carrier sleeps while
// work waits behind another one's long slice, step by step on one thread. The policy that Weft's descends from strands
// the work in both: it wakes one idle carrier at a time, and a carrier does not search the others again once it has
// announced its sleep. The shipped policy does not. tests/model/steal_policy_model_test.cpp explores all the other
// schedules.
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <vector>

#include <weft/scheduler/detail/steal_policy.hpp>

namespace weft::detail {
namespace {

constexpr unsigned most = 4;

// The carriers by number: which have work that others could take, and which sleep.
struct Carriers {
    explicit Carriers(unsigned count) : count(count) {}

    bool hasStealable(unsigned member) const { return work[member] > 0; }
    std::size_t stealableCount(unsigned member) const { return work[member]; }
    std::uint64_t slices(unsigned) const { return 0; }
    bool call(unsigned member, unsigned victim) {
        if (!asleep[member]) return false;
        asleep[member] = false;
        called[member] = CalledBy(victim);
        return true;
    }
    // A carrier sleeps, none searches, and some work has not begun.
    bool strandWork() const {
        bool waits = false, sleeps = false;
        for (unsigned i = 0; i < count; ++i) {
            waits = waits || work[i] > 0;
            sleeps = sleeps || asleep[i];
            if (called[i]) return false;
        }
        return waits && sleeps;
    }

    const unsigned count;
    std::array<std::size_t, most> work{};
    std::array<bool, most> asleep{};
    std::array<CalledBy, most> called{};
};

// What a policy needs of its carrier.
class Host {
  public:
    explicit Host(Carriers& carriers) : carriers_(carriers) {}
    // The carrier begins the work that it takes.
    bool stealFromMember(unsigned victim) {
        if (carriers_.work[victim] == 0) return false;
        --carriers_.work[victim];
        return true;
    }
    TimePoint now() const { return TimePoint(std::chrono::seconds(1)); }
    unsigned random() const { return 0; }

  private:
    Carriers& carriers_;
};

class Shipped {
  public:
    using Cluster = BasicStealCluster<NativeAtomics, Carriers>;
    Shipped(Host& host, Cluster& cluster, unsigned self) : policy_(host, cluster, self) {}
    static void makeCluster(std::optional<Cluster>& made, Carriers& carriers) {
        made.emplace(carriers, carriers.count, StealRules{.depth = 1, .age = Duration::zero()});
    }
    void published() { policy_.published(); }
    bool pull() { return policy_.pull(); }
    bool mustNotSleep() { return policy_.mustNotSleep(true); }
    void leavesSleep() { policy_.leavesSleep(); }
    void answer(CalledBy call) { policy_.answer(call); }

  private:
    BasicStealPolicy<Cluster, Host> policy_;
};

class Ancestor {
  public:
    struct Cluster {
        explicit Cluster(Carriers& group) : group(group) {}
        Carriers& group;
        bool searching = false;  // a carrier has been woken and has not taken anything yet
        std::array<bool, most> idle{};
    };
    Ancestor(Host& host, Cluster& cluster, unsigned self) : host_(host), cluster_(cluster), self_(self) {}
    static void makeCluster(std::optional<Cluster>& made, Carriers& carriers) { made.emplace(carriers); }

    // Does nothing while a search is in flight, or when no idle bit is visible.
    void published() { signal(self_); }
    bool pull() {
        for (unsigned other = 0; other < cluster_.group.count; ++other) {
            if (other != self_ && host_.stealFromMember(other)) return true;
        }
        return false;
    }
    // Checks only its own queue again.
    bool mustNotSleep() {
        cluster_.idle[self_] = true;
        return cluster_.group.hasStealable(self_);
    }
    void leavesSleep() { cluster_.idle[self_] = false; }
    // After a search, it also checks its victim's queue.
    void answer(CalledBy call) {
        (void)host_.stealFromMember(call.victim());
        cluster_.searching = false;
        if (cluster_.group.hasStealable(call.victim())) signal(call.victim());
    }

  private:
    void signal(unsigned victim) {
        if (std::exchange(cluster_.searching, true)) return;
        for (unsigned member = 0; member < cluster_.group.count; ++member) {
            if (cluster_.idle[member] && cluster_.group.call(member, victim)) return;
        }
        cluster_.searching = false;
    }

    Host& host_;
    Cluster& cluster_;
    const unsigned self_;
};

template <class Policy>
class Bench {
  public:
    explicit Bench(unsigned count) : carriers(count) {
        Policy::makeCluster(cluster_, carriers);
        hosts_.reserve(count);
        for (unsigned i = 0; i < count; ++i) policies_[i].emplace(hosts_.emplace_back(carriers), *cluster_, i);
    }
    // A carrier in a long slice gets work.
    void publishes(unsigned carrier) {
        ++carriers.work[carrier];
        policies_[carrier]->published();
    }
    // A carrier without work searches before it announces its sleep.
    bool findsWork(unsigned carrier) { return policies_[carrier]->pull(); }
    // It announces its sleep and does what follows.
    void goesToSleep(unsigned carrier) {
        carriers.asleep[carrier] = true;
        if (!policies_[carrier]->mustNotSleep()) return;
        policies_[carrier]->leavesSleep();
        carriers.asleep[carrier] = false;
        if (!findsWork(carrier)) goesToSleep(carrier);
    }
    // A carrier that was called leaves its sleep and begins the work that it finds.
    void answers(unsigned carrier) {
        policies_[carrier]->leavesSleep();
        policies_[carrier]->answer(std::exchange(carriers.called[carrier], CalledBy()));
    }

    Carriers carriers;

  private:
    std::optional<typename Policy::Cluster> cluster_;
    std::vector<Host> hosts_;
    std::array<std::optional<Policy>, most> policies_;
};

template <class Policy>
bool strandsWorkThatComesBeforeTheAnnouncement() {
    Bench<Policy> bench(2);
    EXPECT_FALSE(bench.findsWork(1));
    bench.publishes(0);  // no carrier is idle, so none is called
    bench.goesToSleep(1);
    return bench.carriers.strandWork();
}

TEST(StrandedWork, WorkBetweenTheLastSearchAndTheAnnouncementOfASleepIsFoundAfterIt) {
    EXPECT_TRUE(strandsWorkThatComesBeforeTheAnnouncement<Ancestor>());
    EXPECT_FALSE(strandsWorkThatComesBeforeTheAnnouncement<Shipped>());
}

template <class Policy>
bool strandsWorkThatComesDuringASearch() {
    Bench<Policy> bench(4);
    bench.goesToSleep(2);
    bench.goesToSleep(3);
    bench.publishes(0);
    const unsigned called = bench.carriers.called[2] ? 2 : 3;
    EXPECT_TRUE(bench.carriers.called[called]);
    bench.publishes(1);  // a search is already in flight, so no other carrier is called
    EXPECT_FALSE(bench.carriers.called[5 - called]);
    bench.answers(called);  // takes the work it was called for, and is busy
    EXPECT_EQ(bench.carriers.work[0], 0u);
    return bench.carriers.strandWork();
}

TEST(StrandedWork, WorkPublishedDuringASearchIsPassedOnToTheNextIdleCarrier) {
    EXPECT_TRUE(strandsWorkThatComesDuringASearch<Ancestor>());
    EXPECT_FALSE(strandsWorkThatComesDuringASearch<Shipped>());
}

}  // namespace
}  // namespace weft::detail
