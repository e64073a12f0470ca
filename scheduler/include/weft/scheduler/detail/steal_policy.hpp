// StealPolicy: when a carrier steals from another one, and which one it calls for help. The carriers, the model
// explorer and the simulator all run this code. docs/explanation/protocol.md section 16, docs/adr/0019.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include <weft/scheduler/deadline.hpp>
#include <weft/scheduler/detail/atomics.hpp>
#include <weft/scheduler/detail/idle_set.hpp>
#include <weft/scheduler/detail/least.hpp>
#include <weft/scheduler/detail/park_state.hpp>

namespace weft::detail {

// A carrier's stealable lane is worth stealing from once it holds `depth` tasks, or once it holds any and the carrier
// has been in one slice for `age`.
struct StealRules {
    std::size_t depth = 4;
    Duration age = std::chrono::microseconds(100);
    unsigned searchers = 1;  // maximum number of searches for a victim in progress per cluster
    bool push = true;        // a carrier with work calls an idle one
    bool pull = true;        // a carrier without work checks others on its own
    bool lingers = true;     // a sentinel stays while published work relies on it
};

// The state that the carriers of a cluster share. Group: the carriers, by their number in the cluster. It provides
//   hasStealable(m): by seq_cst loads, true if there are tasks to steal; stealableCount(m): their number, may be stale
//   slices(m): number of slices that m has begun, may be stale
//   call(m, victim): wakes m to help `victim`; false if m does not sleep
template <class P, class Group>
class BasicStealCluster {
  public:
    // Throws std::bad_alloc. `group` outlives it.
    BasicStealCluster(Group& group, unsigned members, const StealRules& rules)
        : group(group), members(members), rules(rules), idle_(members) {}

    // Call it after a seq_cst operation that made work of `victim` reachable for thieves [D4]. Any thread that keeps
    // the group from ending.
    void published(unsigned victim) noexcept {
        if (!rules.push || !idle_.any()) return;
        if (watched() && group.stealableCount(victim) < rules.depth) return relyOnSentinel();  // [D7]
        search(victim);
    }

    // Starts a search for `victim`, unless the maximum is in progress, by calling an idle member. The called member
    // holds the search and checks all members after it. If no member accepts the call, all are awake and check before
    // they sleep [D4]; the search then ends, and repeats for a caller that was refused one meanwhile. [D6]
    void search(unsigned victim) noexcept {
        while (takeSearch()) {
            const bool accepted =
                idle_.offer(victim, [&](unsigned member) { return member != victim && group.call(member, victim); });
            if (accepted || !endSearch()) return;
            victim = needy(members);
            if (victim == members) return;
        }
    }
    // The holder of a search calls it before it checks all members. True if a caller was refused a search since the
    // last end. [D6]
    bool endSearch() noexcept {
        std::uint32_t seen = searching_.load(std::memory_order_relaxed);  // the compare-exchange decides
        while (!searching_.compare_exchange_weak(seen, (seen - 1) & ~refused, std::memory_order_acq_rel,  // [D6]
                                                 std::memory_order_relaxed)) {
        }
        return (seen & refused) != 0;
    }

    // A member other than `self` (self == members: any member) that has tasks to steal; `members` if there is none.
    unsigned needy(unsigned self) const noexcept {
        for (unsigned i = 1; i <= members; ++i) {
            const unsigned member = (self + i) % members;
            if (member != self && group.hasStealable(member)) return member;
        }
        return members;
    }

    bool anyIdle() const noexcept { return idle_.any(); }
    void addIdle(unsigned member) noexcept { idle_.add(member); }
    void removeIdle(unsigned member) noexcept { idle_.remove(member); }

    // The sentinel: the member that sleeps with a deadline, to check again work that was not worth stealing yet. [D7]
    bool watched() const noexcept { return sentinel_.load(std::memory_order_seq_cst) != noMember; }
    bool becomeSentinel(unsigned member) noexcept {
        std::uint32_t none = noMember;
        return sentinel_.compare_exchange_strong(none, member, std::memory_order_seq_cst,
                                                 std::memory_order_seq_cst);  // [D7]
    }
    void resignSentinel() noexcept { sentinel_.store(noMember, std::memory_order_seq_cst); }  // [D7]
    // Call it after resignSentinel() if `member` is about to be busy: starts a search for the work that it watched, or
    // else for its own work, which others have left to the sentinel, too.
    void callSuccessor(unsigned member) noexcept {
        if (!idle_.any()) return;
        const unsigned other = needy(member);
        if (other != members) return search(other);
        if (group.hasStealable(member)) search(member);
    }
    // True if a carrier has relied on the sentinel since the last call. relaxed: never needed for correctness.
    bool takeReliance() noexcept {
        return reliedOn_.load(std::memory_order_relaxed) && reliedOn_.exchange(false, std::memory_order_relaxed);
    }

    Group& group;
    const unsigned members;
    const StealRules rules;

  private:
    static constexpr std::uint32_t noMember = ~std::uint32_t{0};

    static constexpr std::uint32_t refused = std::uint32_t{1} << 31;

    void relyOnSentinel() noexcept {
        // Stored only if needed: all carriers share the cache line.
        if (!reliedOn_.load(std::memory_order_relaxed)) reliedOn_.store(true, std::memory_order_relaxed);
    }
    // False: the maximum is in progress. The `refused` bit then makes a holder search again when it ends its search.
    bool takeSearch() noexcept {
        std::uint32_t seen = searching_.load(std::memory_order_relaxed);  // the compare-exchange decides
        for (;;) {
            const bool free = (seen & ~refused) < rules.searchers;
            const std::uint32_t next = free ? seen + 1 : seen | refused;
            if (searching_.compare_exchange_weak(seen, next, std::memory_order_acq_rel,  // [D6]
                                                 std::memory_order_relaxed)) {
                return free;
            }
        }
    }

    BasicIdleSet<P> idle_;
    alignas(cacheLine) typename P::template Atomic<std::uint32_t> searching_{0};  // number of searches, and the mark
    alignas(cacheLine) typename P::template Atomic<std::uint32_t> sentinel_{noMember};
    typename P::template Atomic<bool> reliedOn_{false};  // a hint
};

// The policy of one carrier. Host: the carrier, which provides
//   stealFromMember(victim): moves some of the victim's tasks into its own queue; false if there were none; now();
//   random()
// Context: the carrier's thread.
template <class Cluster, class Host>
class BasicStealPolicy {
  public:
    // Throws std::bad_alloc.
    BasicStealPolicy(Host& host, Cluster& cluster, unsigned self)
        : host_(host), cluster_(cluster), self_(self), seen_(std::make_unique<Seen[]>(cluster.members)) {}

    // The carrier has made work reachable for thieves.
    void published() noexcept { cluster_.published(self_); }

    // The carrier has nothing to do: tries to steal from the member that kept it from sleeping, then from the better of
    // two random members. True: its queue has work.
    bool pull() noexcept {
        const unsigned kept = std::exchange(needy_, noMember);
        if (kept != noMember && help(kept)) return true;
        return cluster_.rules.pull && cluster_.members > 1 && help(better());
    }

    // The carrier has announced a sleep. True: it must not sleep, because there is work to steal or its deadline has
    // changed. `callable`: other carriers may call it for help during this sleep.
    bool mustNotSleep(bool callable) noexcept {
        if (callable) cluster_.addIdle(self_);  // [D4]
        for (;;) {
            const Scan found = scan();
            if (found.victim != noMember) {
                needy_ = found.victim;
                return true;
            }
            if (found.due != never) return !ensureSentinel(found.due);
            if (!watching_ || staysOn()) return false;
            stopWatching();  // then check once more: a carrier may have relied on this one [D7]
        }
    }
    // If this carrier is the sentinel, the time at which it must check again; otherwise `never`.
    Deadline due() const noexcept { return due_; }

    // The announced sleep is over. Called before the carrier leaves the park state.
    void leavesSleep() noexcept { cluster_.removeIdle(self_); }
    // Called after the carrier has left the park state: helps the victim that it was called for. [D5]
    void answer(CalledBy call) noexcept {
        if (!call) return;
        const bool helped = takeFrom(call.victim());
        static_cast<void>(cluster_.endSearch());  // this carrier checks all members in any case
        if (helped) return passOn(call.victim());
        Scan found = scan();
        for (unsigned tries = cluster_.members; tries > 0 && found.victim != noMember && !help(found.victim); --tries)
            found = scan();  // another thief was there first
        if (found.victim != noMember) return;
        // The work that it was called for is gone, but there is likely to be more: become the sentinel.
        if (cluster_.rules.lingers) found.due = least(found.due, deadlineAfter(host_.now(), cluster_.rules.age));
        if (found.due != never) static_cast<void>(ensureSentinel(found.due));
    }
    // The carrier is about to work: a sentinel resigns and calls a successor.
    void getsBusy() noexcept {
        if (!watching_) return;
        stopWatching();
        cluster_.callSuccessor(self_);
    }
    bool watching() const noexcept { return watching_; }

  private:
    static constexpr unsigned noMember = ~0u;

    struct Seen {
        std::uint64_t slices = 0;
        TimePoint since{};  // when `slices` was first seen
    };
    struct Scan {
        unsigned victim = noMember;
        Deadline due = never;  // when the first member with work that is not worth stealing yet becomes overdue
    };

    auto& group() noexcept { return cluster_.group; }

    // Of two random other members, the one with more tasks to steal.
    unsigned better() noexcept {
        const unsigned others = cluster_.members - 1;
        const unsigned first = host_.random() % others;
        const unsigned second = others == 1 ? first : (first + 1 + host_.random() % (others - 1)) % others;
        const auto member = [this](unsigned other) { return (self_ + 1 + other) % cluster_.members; };
        return group().stealableCount(member(second)) > group().stealableCount(member(first)) ? member(second)
                                                                                              : member(first);
    }

    Scan scan() noexcept {
        Scan found;
        for (unsigned i = 1; i < cluster_.members; ++i) {
            const unsigned member = (self_ + i) % cluster_.members;
            if (!group().hasStealable(member)) continue;  // [D4]
            if (worthStealing(member)) {
                found.victim = member;
                return found;
            }
            found.due = least(found.due, deadlineAfter(seen_[member].since, cluster_.rules.age));
        }
        return found;
    }
    bool worthStealing(unsigned member) noexcept {
        return group().stealableCount(member) >= cluster_.rules.depth || overdue(member);
    }
    // True if the member has been in the same slice for `age`, as far as this carrier has seen.
    bool overdue(unsigned member) noexcept {
        Seen& seen = seen_[member];
        const std::uint64_t slices = group().slices(member);
        const TimePoint now = host_.now();
        if (seen.slices != slices || seen.since == TimePoint{}) seen = {slices, now};
        return now - seen.since >= cluster_.rules.age;
    }

    bool help(unsigned member) noexcept {
        if (!takeFrom(member)) return false;
        passOn(member);
        return true;
    }
    bool takeFrom(unsigned member) noexcept {
        return group().hasStealable(member) && worthStealing(member) && host_.stealFromMember(member);
    }
    // After a steal: calls another idle carrier if there is still work to steal, at the victim, here or elsewhere.
    void passOn(unsigned victim) noexcept {
        if (!cluster_.anyIdle()) return;
        if (group().hasStealable(victim)) return cluster_.published(victim);
        if (group().hasStealable(self_)) return cluster_.published(self_);
        const unsigned needy = cluster_.needy(self_);
        if (needy != cluster_.members) cluster_.published(needy);
    }

    // Makes sure that there is a sentinel for work that becomes overdue at `due`. Returns whether this carrier may
    // sleep. False: it is the sentinel and its deadline has become earlier, so it must not sleep with the old one.
    bool ensureSentinel(Deadline due) noexcept {
        if (!watching_ && !cluster_.becomeSentinel(self_)) return true;
        watching_ = true;
        return std::exchange(due_, due) <= due;
    }
    // True while a sentinel with nothing to watch stays: until its deadline, and for another `age` whenever a carrier
    // has relied on it since.
    bool staysOn() noexcept {
        if (!cluster_.rules.lingers) return false;
        const TimePoint now = host_.now();
        if (now < due_) return true;
        if (!cluster_.takeReliance()) return false;
        due_ = deadlineAfter(now, cluster_.rules.age);
        return true;
    }
    void stopWatching() noexcept {
        watching_ = false;
        due_ = never;
        cluster_.resignSentinel();
    }

    Host& host_;
    Cluster& cluster_;
    const unsigned self_;
    unsigned needy_ = noMember;  // the member that kept it from sleeping
    bool watching_ = false;
    Deadline due_ = never;
    const std::unique_ptr<Seen[]> seen_;
};

}  // namespace weft::detail
