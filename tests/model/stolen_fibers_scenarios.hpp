// The scenarios that explore the end of carriers that steal from each other (docs/explanation/protocol.md sections 7,
// 11, 13 and 16): fibers are submitted to the stealable lane of their home, another carrier steals them, they end there
// or at home, and the carriers are asked to stop meanwhile. The carriers have shipped parts: CarrierCore with both
// lanes, LiveList, CarrierTurn, and the steal policy; the functions that other threads call do what carrier.cpp,
// carrier_run.cpp and carrier_steal.cpp do.
#pragma once

#include <weft/scheduler/detail/carrier_core.hpp>
#include <weft/scheduler/detail/carrier_turn.hpp>
#include <weft/scheduler/detail/live_list.hpp>
#include <weft/scheduler/detail/steal_policy.hpp>

#include "protocol_test.hpp"
#include "simple_host.hpp"

namespace weft::model::stolen {

using weft::detail::CalledBy;
using weft::detail::Lanes;
using weft::detail::SleepEnd;
using weft::detail::SleepKind;
using weft::detail::StealResult;
using weft::detail::StealRules;

// Defects of the functions around the shipped parts.
enum class Defect {
    none,
    enlistsLate,       // a fiber is submitted before it is on its home's list
    departsInSilence,  // a fiber that ends on another carrier requests no turn of its home
    touchesTheEnded,   // it is touched there after its home has been notified
    leavesLate,        // a fiber on its way home is touched after it was submitted there
    publishesEarly,    // a fiber makes itself runnable before its context is saved, although thieves can take it [T4]
    handsBackQuietly,  // a thief does not wake the victim to which it has handed fibers back
    movesQuietly,      // a carrier runs what it takes from its backlog without checking the arrivals again
    stealsAtItsEnd,    // a carrier steals once more after it has closed its queue
    watchesToTheEnd,   // a carrier that stops remains the sentinel
};

// What a fiber does after a first slice away from home; at home all but `yields` end in one slice.
enum class Plan { ends, goesHome, yields };

class CarrierBase;

struct Fiber {
    Link<Fiber> next, nextLive, previousLive;
    Plain<int> frames{0};  // used by each slice and by the home's release of the fiber
    CarrierBase* home = nullptr;
    Plan plan = Plan::ends;
    Fiber* child = nullptr;  // spawned on the same home in the first slice

    // For the checks only.
    bool accepted = false;
    int slices = 0;
    bool ended = false;
    bool left = false;  // its home has released it
};

// A fiber's view of its home.
class CarrierBase {
  public:
    virtual void spawn(Fiber& fiber) = 0;
    virtual void enqueue(Fiber& fiber) = 0;
    virtual void takeBack(Fiber& fiber) = 0;
    virtual bool isOver() const = 0;

  protected:
    ~CarrierBase() = default;
};

template <class Member>
struct Group {
    Group(unsigned members, const StealRules& rules) : cluster(*this, members, rules) {}

    // What the policy needs.
    bool hasStealable(unsigned member) const { return members[member]->core().queue().hasStealable(); }
    std::size_t stealableCount(unsigned member) const { return members[member]->core().queue().stealableCount(); }
    std::uint64_t slices(unsigned member) const { return members[member]->slices; }
    bool call(unsigned member, unsigned victim) { return members[member]->call(victim); }

    detail::BasicStealCluster<Atomics, Group> cluster;
    std::array<Member*, 3> members{};
};

struct ShippedParts {
    using Core = detail::BasicCarrierCore<Atomics, Fiber, 1>;
    using Live = detail::BasicLiveList<Atomics, Fiber>;
};

template <class Parts = ShippedParts, Defect defect = Defect::none>
class Carrier final : public CarrierBase, public SimpleHost {
  public:
    using Core = typename Parts::Core;
    using SubmitGuard = typename ShippedParts::Core::SubmitGuard;
    using GroupType = Group<Carrier>;

    Carrier(GroupType& group, unsigned self)
        : core_(Lanes::both), group_(group), self_(self), policy_(*this, group.cluster, self) {
        group.members[self] = this;
    }

    // --- any thread
    // Carrier::submit() of a fiber that may be stolen.
    void spawn(Fiber& fiber) override {
        prepare(fiber);
        const SubmitGuard guard(core_);
        fiber.accepted = true;  // otherwise the fiber is never used again
        if (!submitNew(fiber)) {
            fiber.accepted = false;
            return;
        }
        wakeOrCallHelp();
    }
    // Carrier::enqueue()
    void enqueue(Fiber& fiber) override {
        const SubmitGuard guard(core_);
        const bool stealable = fiber.plan == Plan::yields;
        assertThat(stealable ? core_.submitStealable(fiber) : core_.submit(fiber), "a fiber never meets a closed home");
        stealable ? wakeOrCallHelp() : wakeIfParked();
    }
    // Carrier::endAway()
    void takeBack(Fiber& fiber) override {
        const SubmitGuard guard(core_);
        if (defect == Defect::departsInSilence) {
            live_.depart(fiber);
        } else {
            core_.endedRemotely(fiber, live_);
        }
        wakeIfParked();
    }
    void requestStop() {
        core_.requestStop();
        wakeIfParked();
    }
    // StealGroup::call()
    bool call(unsigned victim) {
        const SubmitGuard guard(core_);
        const SleepKind sleep = core_.call(victim);
        endSleep(sleep);
        return sleep != SleepKind::none;
    }
    bool hasEnded() const { return ended_.load(std::memory_order_acquire); }  // thread::join()
    bool isOver() const override { return over_; }

    // --- its own thread
    // Carrier::submit() on the carrier itself.
    void spawnHere(Fiber& fiber) {
        if (stopping()) return spawn(fiber);
        prepare(fiber);
        fiber.accepted = true;
        live_.add(fiber);
        publish(fiber);
    }
    // CarrierHelper::stealFromMember()
    bool stealFromMember(unsigned victim) {
        if (stopping()) return false;
        return stealFrom(*group_.members[victim]);
    }
    void run() {
        detail::CarrierTurn<Carrier>(*this).runUntilEnd();
        over_ = true;
        ended_.store(true, std::memory_order_release);
    }

    // --- what CarrierTurn needs besides SimpleHost
    struct NoPoller {
        bool closeIfFree() { return true; }
        void countWake() {}
    };
    Core& core() { return core_; }
    auto& live() { return live_; }
    NoPoller poller() { return {}; }
    Fiber* nextTask(bool& moved) {
        Fiber* const next = core_.queue().pop(moved);
        if (defect == Defect::movesQuietly) moved = false;
        return next;
    }
    void run(Fiber& fiber) {
        policy_.getsBusy();
        ++slices;
        runSlice(fiber);
    }
    void left(Fiber& fiber) {
        assertThat(fiber.ended && !fiber.left, "a fiber leaves once, after its end");
        fiber.left = true;
        fiber.frames = -1;
    }
    void published() { policy_.published(); }
    bool pull() { return !stopping() && policy_.pull(); }
    bool mustNotSleep() {
        if (!stopping()) return policy_.mustNotSleep(true);
        if (defect != Defect::watchesToTheEnd) policy_.getsBusy();
        return false;
    }
    void leavesSleep() { policy_.leavesSleep(); }
    void answer(CalledBy call) { policy_.answer(call); }
    void blockInFutex() {
        if (policy_.due() != never) {  // runs before anything else
            clock_ = policy_.due();
            return;
        }
        while (core_.asleepIn(SleepKind::futex)) futexWait(core_.sleepWord(), 1);
    }
    void countWake(SleepEnd) {}
    void abort(Fiber&) { assertThat(++aborted_ <= 3, "each fiber is on the list once"); }
    void answerTurnRequest() {}
    void beforeEnd() {
        policy_.getsBusy();
        if (defect != Defect::stealsAtItsEnd) return;
        for (Carrier* other : group_.members) {
            if (other != nullptr && other != this) stealFrom(*other);
        }
    }
    void pause() {
        await([this] { return !core_.hasSubmitters(); });
    }

    // --- what the policy needs
    TimePoint now() const { return clock_; }
    unsigned random() { return 0; }

    std::uint64_t slices = 0;

  private:
    bool stopping() const {
        return core_.ShippedParts::Core::stopping();
    }  // also where a twin hides it from CarrierTurn
    void prepare(Fiber& fiber) {
        fiber.home = this;
        fiber.frames = 0;
    }
    bool submitNew(Fiber& fiber) {
        if (defect != Defect::enlistsLate) return core_.submitNewStealable(fiber, live_);
        if (core_.stopRequested() || !core_.submitStealable(fiber)) return false;
        assertThat(live_.enlist(fiber), "the list of a carrier with a fiber is open");
        return true;
    }
    void publish(Fiber& fiber) {
        core_.queue().pushStealable(fiber);
        policy_.published();
    }
    void wakeIfParked() { endSleep(core_.wake()); }
    void wakeOrCallHelp() {
        const SleepKind sleep = core_.wake();
        if (sleep == SleepKind::none) return group_.cluster.published(self_);
        endSleep(sleep);
    }
    void endSleep(SleepKind sleep) {
        if (sleep == SleepKind::futex) futexWake(core_.sleepWord());
    }
    bool stealFrom(Carrier& victimCarrier) {
        const StealResult stealResult = core_.queue().stealFrom(victimCarrier.core_.queue());
        if (stealResult == StealResult::handedBack && defect != Defect::handsBackQuietly) victimCarrier.wakeIfParked();
        return stealResult != StealResult::nothing;
    }
    // Carrier::run() and afterSwitch().
    void runSlice(Fiber& fiber) {
        CarrierBase& home = *fiber.home;
        const bool away = &home != this;
        assertThat(!home.isOver(), "a home outlives its fibers");
        assertThat(!fiber.ended && fiber.frames == fiber.slices, "each slice goes on where the last one stopped");
        fiber.frames = ++fiber.slices;
        if (fiber.slices == 1) {
            if (fiber.child != nullptr) away ? home.spawn(*fiber.child) : spawnHere(*fiber.child);
            if (away && fiber.plan != Plan::ends) {
                home.enqueue(fiber);
                if (defect == Defect::leavesLate) fiber.frames = 1;
                return;
            }
            if (fiber.plan == Plan::yields) {
                publish(fiber);
                if (defect == Defect::publishesEarly) fiber.frames = 1;
                return;
            }
        }
        fiber.ended = true;
        if (!away) {
            live_.remove(fiber);
            return left(fiber);
        }
        home.takeBack(fiber);
        if (defect == Defect::touchesTheEnded) fiber.frames = 0;
    }

    Core core_;
    typename Parts::Live live_;
    GroupType& group_;
    const unsigned self_;
    TimePoint clock_{std::chrono::seconds(1)};
    detail::BasicStealPolicy<decltype(GroupType::cluster), Carrier> policy_;
    Atomic<bool> ended_{false};
    // For the checks only.
    bool over_ = false;
    int aborted_ = 0;
};

}  // namespace weft::model::stolen
