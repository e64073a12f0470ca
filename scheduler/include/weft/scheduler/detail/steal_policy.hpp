// StealPolicy: when a carrier helps another one, and whom it calls for help. Carriers, explorer and simulator run this
// file. docs/protocol.md section 16, docs/adr/0019.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include <weft/scheduler/deadline.hpp>
#include <weft/scheduler/detail/atomics.hpp>
#include <weft/scheduler/detail/idle_set.hpp>
#include <weft/scheduler/detail/park_state.hpp>

namespace weft::detail {

// What of a carrier's work is worth the way: all of its lane, once it is as deep as `depth`, or once the carrier has been
// in one slice for `age`.
struct StealRules {
    std::size_t depth = 8;
    Duration age = std::chrono::microseconds(100);
    unsigned searchers = 1;  // carriers of a cluster that are on their way to a victim, at most
    bool push = true;        // a carrier with work calls an idle one
    bool pull = true;        // a carrier without work looks at others by itself
};

// What the carriers of a cluster share. Crew: the carriers, by their number in the cluster:
//   hasSpoils(m): by seq_cst loads, whether a thief could take something; spoils(m): how much, a figure
//   slices(m): how many slices it has begun, a figure
//   call(m, victim): wakes m for `victim`; false when it does not sleep
template <class P, class Crew>
class BasicStealCluster {
  public:
    // Throws std::bad_alloc. `crew` outlives it.
    BasicStealCluster(Crew& crew, unsigned members, const StealRules& rules)
        : crew(crew), members(members), rules(rules), idle_(members) {}

    // After a seq_cst operation that put work of `victim` within a thief's reach [D4]. Any thread that keeps the crew from
    // ending.
    void published(unsigned victim) noexcept {
        if (!rules.push || !idle_.any()) return;
        if (watched() && crew.spoils(victim) < rules.depth) return;  // [D7]
        search(victim);
    }

    // Hands out a search for `victim`, unless there are enough; who has one looks at everybody after it. When nobody takes
    // it, all are awake, and look before they sleep [D4]; then it is for who was refused one meanwhile. [D6]
    void search(unsigned victim) noexcept {
        while (takeSearch()) {
            const bool accepted =
                idle_.offer(victim, [&](unsigned member) { return member != victim && crew.call(member, victim); });
            if (accepted || !endSearch()) return;
            victim = needy(members);
            if (victim == members) return;
        }
    }
    // The holder of a search, before it looks at everybody. True when somebody was refused one since the last end. [D6]
    bool endSearch() noexcept {
        std::uint32_t seen = searching_.load(std::memory_order_relaxed);  // the compare-exchange decides
        while (!searching_.compare_exchange_weak(seen, (seen - 1) & ~refused, std::memory_order_acq_rel,  // [D6]
                                                 std::memory_order_relaxed)) {
        }
        return (seen & refused) != 0;
    }

    // Some member with work for thieves, other than `self`; `members` when there is none.
    unsigned needy(unsigned self) const noexcept {
        for (unsigned i = 1; i <= members; ++i) {
            const unsigned member = (self + i) % members;
            if (member != self && crew.hasSpoils(member)) return member;
        }
        return members;
    }

    bool anyIdle() const noexcept { return idle_.any(); }
    void addIdle(unsigned member) noexcept { idle_.add(member); }
    void removeIdle(unsigned member) noexcept { idle_.remove(member); }

    // The one that sleeps with a deadline, to look again at what was not worth it yet. [D7]
    bool watched() const noexcept { return sentinel_.load(std::memory_order_seq_cst) != nobody; }
    bool becomeSentinel(unsigned member) noexcept {
        std::uint32_t none = nobody;
        return sentinel_.compare_exchange_strong(none, member, std::memory_order_seq_cst, std::memory_order_seq_cst);  // [D7]
    }
    void resignSentinel() noexcept { sentinel_.store(nobody, std::memory_order_seq_cst); }  // [D7]

    Crew& crew;
    const unsigned members;
    const StealRules rules;

  private:
    static constexpr std::uint32_t nobody = ~std::uint32_t{0};

    static constexpr std::uint32_t refused = std::uint32_t{1} << 31;

    // False: there are enough, and one of them knows by the mark that it is not to be the last.
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
    alignas(cacheLine) typename P::template Atomic<std::uint32_t> searching_{0};  // how many, and whether one was refused
    alignas(cacheLine) typename P::template Atomic<std::uint32_t> sentinel_{nobody};
};

// One carrier's part. Host: the carrier, which has
//   rob(victim): takes some of the victim's work into its own queue; false when there was none; now(); random()
// Context: the carrier's thread.
template <class Cluster, class Host>
class BasicStealPolicy {
  public:
    // Throws std::bad_alloc.
    BasicStealPolicy(Host& host, Cluster& cluster, unsigned self)
        : host_(host), cluster_(cluster), self_(self), seen_(std::make_unique<Seen[]>(cluster.members)) {}

    // The carrier has put work within thieves' reach.
    void published() noexcept { cluster_.published(self_); }

    // Nothing to do: looks at the better of two others, by chance, and at the one that kept it from sleeping. True: its
    // queue has work.
    bool pull() noexcept {
        const unsigned kept = std::exchange(needy_, nobody);
        if (kept != nobody && help(kept)) return true;
        return cluster_.rules.pull && cluster_.members > 1 && help(better());
    }

    // The carrier has announced a sleep. True: there is something that it must not sleep over. `callable`: others may call
    // it out of this sleep.
    bool mayNotSleep(bool callable) noexcept {
        if (callable) cluster_.addIdle(self_);  // [D4]
        for (;;) {
            const Look look = lookAround();
            if (look.worth != nobody) {
                needy_ = look.worth;
                return true;
            }
            if (look.due != never) return !watches(look.due);
            if (!watching_) return false;
            stopWatching();  // then once more: somebody may have relied on it [D7]
        }
    }
    // When what was not worth it yet is looked at again, if that is this carrier's part; else `never`.
    Deadline due() const noexcept { return due_; }

    // The sleep is over, or did not come about; before the park state is left.
    void leavesSleep() noexcept { cluster_.removeIdle(self_); }
    // ... and after it: goes where it was called to. [D5]
    void answer(CalledBy call) noexcept {
        if (!call) return;
        const bool helped = takeFrom(call.victim());
        static_cast<void>(cluster_.endSearch());  // it looks at everybody anyway
        if (helped) return passOn(call.victim());
        Look look = lookAround();
        for (unsigned tries = cluster_.members; tries > 0 && look.worth != nobody && !help(look.worth); --tries)
            look = lookAround();  // another thief was there first
        if (look.worth == nobody && look.due != never) static_cast<void>(watches(look.due));
    }
    // The carrier is about to do something else than to go to sleep again.
    void getsBusy() noexcept {
        if (!watching_) return;
        stopWatching();
        if (!cluster_.anyIdle()) return;
        const unsigned needy = cluster_.needy(self_);
        if (needy != cluster_.members) cluster_.search(needy);
    }
    bool watching() const noexcept { return watching_; }

  private:
    static constexpr unsigned nobody = ~0u;

    struct Seen {
        std::uint64_t slices = 0;
        TimePoint since{};  // when that was seen first
    };
    struct Look {
        unsigned worth = nobody;
        Deadline due = never;  // the earliest of those that have something which is not worth it yet
    };

    auto& crew() noexcept { return cluster_.crew; }

    // Of two members by chance, other than this one, that with more for thieves.
    unsigned better() noexcept {
        const unsigned others = cluster_.members - 1;
        const unsigned first = host_.random() % others;
        const unsigned second = others == 1 ? first : (first + 1 + host_.random() % (others - 1)) % others;
        const auto member = [this](unsigned other) { return (self_ + 1 + other) % cluster_.members; };
        return crew().spoils(member(second)) > crew().spoils(member(first)) ? member(second) : member(first);
    }

    Look lookAround() noexcept {
        Look look;
        for (unsigned i = 1; i < cluster_.members; ++i) {
            const unsigned member = (self_ + i) % cluster_.members;
            if (!crew().hasSpoils(member)) continue;  // [D4]
            if (worth(member)) {
                look.worth = member;
                return look;
            }
            look.due = std::min(look.due, deadlineAfter(seen_[member].since, cluster_.rules.age));
        }
        return look;
    }
    bool worth(unsigned member) noexcept { return crew().spoils(member) >= cluster_.rules.depth || overdue(member); }
    // In one slice since it was seen first, and for long.
    bool overdue(unsigned member) noexcept {
        Seen& seen = seen_[member];
        const std::uint64_t slices = crew().slices(member);
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
        return crew().hasSpoils(member) && worth(member) && host_.rob(member);
    }
    // There may be more than one carrier can do: there, or here by now.
    void passOn(unsigned victim) noexcept {
        if (!cluster_.anyIdle()) return;
        if (crew().hasSpoils(victim)) return cluster_.published(victim);
        if (crew().hasSpoils(self_)) return cluster_.published(self_);
        const unsigned needy = cluster_.needy(self_);
        if (needy != cluster_.members) cluster_.published(needy);
    }

    // Somebody sleeps with a deadline for it; false when that is this carrier, which has to take an earlier one along first.
    bool watches(Deadline due) noexcept {
        if (!watching_ && !cluster_.becomeSentinel(self_)) return true;
        watching_ = true;
        return std::exchange(due_, due) <= due;
    }
    void stopWatching() noexcept {
        watching_ = false;
        due_ = never;
        cluster_.resignSentinel();
    }

    Host& host_;
    Cluster& cluster_;
    const unsigned self_;
    unsigned needy_ = nobody;  // who kept it from sleeping
    bool watching_ = false;
    Deadline due_ = never;
    const std::unique_ptr<Seen[]> seen_;
};

}  // namespace weft::detail
