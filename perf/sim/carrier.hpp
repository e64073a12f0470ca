// Group and Carrier of the simulator: the shipped turn, queue, park state and steal policy on the simulated machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include <weft/scheduler/detail/carrier_core.hpp>
#include <weft/scheduler/detail/carrier_turn.hpp>
#include <weft/scheduler/detail/steal_policy.hpp>

#include "machine.hpp"
#include "simulation.hpp"

namespace weft::perf::sim {

using detail::CalledBy;
using detail::Lanes;
using detail::SleepEnd;
using detail::SleepKind;
using detail::StealResult;
using detail::StealRules;

inline TimePoint asTimePoint(Nanoseconds time) {
    return TimePoint(Duration(time));
}
inline Nanoseconds asNanoseconds(Deadline time) {
    return time == never ? forever : time.time_since_epoch().count();
}

// A request and its slices: a handler on its home carrier, a fiber that may be stolen, an answer on the home carrier.
struct Task {
    enum class Stage : std::uint8_t { handler, fiber, answer, hog };

    Task* next = nullptr;
    Nanoseconds due = 0;
    Nanoseconds work = 0;  // of the fiber, or of the hog
    unsigned home = 0;
    Stage stage = Stage::handler;
};

// Totals over all carriers.
struct Counters {
    std::uint64_t calls = 0;
    std::uint64_t steals = 0;
    std::uint64_t stolen = 0;
    std::uint64_t deadlines = 0;  // sleeps of a sentinel that timed out
    Nanoseconds useful = 0;       // time in handlers, fibers and answers
    Nanoseconds awake = 0;
};

class Carrier;

// The carriers of a steal cluster, for the policy.
class Group {
  public:
    using Cluster = detail::BasicStealCluster<SimulatedAtomics, Group>;

    Group(std::vector<Carrier*> members, const StealRules& rules)
        : cluster(*this, static_cast<unsigned>(members.size()), rules), members_(std::move(members)) {}

    bool hasStealable(unsigned member) const;
    std::size_t stealableCount(unsigned member) const;
    std::uint64_t slices(unsigned member) const;
    bool call(unsigned member, unsigned victim);
    Carrier& carrier(unsigned member) const { return *members_[member]; }

    Cluster cluster;

  private:
    const std::vector<Carrier*> members_;
};

// The costs of a request's slices, and the callback for finished requests.
class Workload {
  public:
    virtual ~Workload() = default;
    virtual Carrier& carrier(unsigned index) = 0;
    virtual void completed(Task& task) = 0;

    Nanoseconds handler = 0;
    Nanoseconds answer = 0;
    bool answersAtHome = true;
    std::uint32_t most = 256;  // fibers that a thief takes at once
    Nanoseconds drainBudget = 50'000;
    Counters counters;
};

class Carrier {
  public:
    using Core = detail::BasicCarrierCore<SimulatedAtomics, Task>;

    Carrier(Simulation& simulation, Workload& workload, unsigned index, bool steals)
        : simulation_(simulation),
          workload_(workload),
          index_(index),
          core_(steals ? Lanes::both : Lanes::homeOnly),
          process_(static_cast<int>(index)),
          random_(index + 1) {}

    void join(Group& group, unsigned member) {
        group_ = &group;
        member_ = member;
        policy_ = std::make_unique<Policy>(*this, group.cluster, member);
    }
    void start() {
        simulation_.start(process_, [this] { runUntilStop(); });
    }

    // Called from the source of load or from another carrier.
    void submit(Task& task) {
        static_cast<void>(core_.submit(task));
        endSleep(core_.wake());
    }
    void submitStealable(Task& task) {
        if (policy_ == nullptr) return submit(task);
        static_cast<void>(core_.submitStealable(task));
        const SleepKind sleep = core_.wake();
        if (sleep != SleepKind::none) return endSleep(sleep);
        group_->cluster.published(member_);
    }
    void stop() {
        core_.requestStop();
        endSleep(core_.wake());
    }
    void endSleep(SleepKind sleep) {
        if (sleep == SleepKind::none) return;
        const Costs& costs = Machine::current().costs;
        if (simulation_.cpu() >= 0) simulation_.advance(costs.wakeCall);
        simulation_.wake(process_, simulation_.now() + costs.wakeLatency);
    }
    std::size_t depth() const { return core_.queue().depth(); }

    // --- required by CarrierTurn
    struct NoList {
        template <class Release>
        void settle(Release) {}
        bool empty() const { return false; }
    };
    struct NoPoller {
        void countWake() {}
        bool closeIfFree() { return false; }
    };
    Core& core() { return core_; }
    NoList live() const { return {}; }
    NoPoller poller() { return {}; }
    void fireTimers() { simulation_.advance(Machine::current().costs.poll); }
    void noteDepth(std::size_t) {}
    void beginFiberRun() { fiberRunBegan_ = simulation_.now(); }
    void endFiberRun() {}
    bool fiberRunIsOver() { return simulation_.now() - fiberRunBegan_ >= workload_.drainBudget; }
    void prefetchNext() {}
    Task* nextTask(bool& moved) { return core_.queue().pop(moved); }
    void run(Task& task);
    void left(Task&) {}
    void published() { policy_->published(); }
    bool pull() { return policy_ != nullptr && policy_->pull(); }
    bool mustNotSleep() { return policy_ != nullptr && policy_->mustNotSleep(true); }
    void leavesSleep() {
        if (policy_ != nullptr) policy_->leavesSleep();
    }
    void answer(CalledBy call) {
        if (!call) return;
        ++workload_.counters.calls;
        policy_->answer(call);
    }
    void beforeSleep() {}
    void blockInFutex();
    void countWake(SleepEnd) {}

    // --- required by the steal policy
    bool stealFromMember(unsigned victim);
    TimePoint now() const { return asTimePoint(simulation_.now()); }
    unsigned random() { return static_cast<unsigned>(random_()); }
    std::uint64_t slices() const { return slices_.load(std::memory_order_relaxed); }

  private:
    using Policy = detail::BasicStealPolicy<Group::Cluster, Carrier>;

    void runUntilStop();
    void runFiber(Task& task);
    void complete(Task& task);
    void work(Nanoseconds time) {
        simulation_.advance(time);
        workload_.counters.useful += time;
    }

    Simulation& simulation_;
    Workload& workload_;
    const unsigned index_;
    Core core_;
    Process process_;
    std::minstd_rand random_;
    Group* group_ = nullptr;
    unsigned member_ = 0;
    std::unique_ptr<Policy> policy_;
    SimulatedAtomics::Atomic<std::uint64_t> slices_{0};
    Nanoseconds fiberRunBegan_ = 0;
    Nanoseconds slept_ = 0;
};

inline bool Group::hasStealable(unsigned member) const {
    return members_[member]->core().queue().hasStealable();
}
inline std::size_t Group::stealableCount(unsigned member) const {
    return members_[member]->core().queue().stealableCount();
}
inline std::uint64_t Group::slices(unsigned member) const {
    return members_[member]->slices();
}
inline bool Group::call(unsigned member, unsigned victim) {
    const SleepKind sleep = members_[member]->core().call(victim);
    members_[member]->endSleep(sleep);
    return sleep != SleepKind::none;
}

inline void Carrier::runUntilStop() {
    detail::CarrierTurn<Carrier> turn(*this);
    while (!core_.stopRequested()) turn.turn();
    workload_.counters.awake += simulation_.now() - slept_;
}

inline void Carrier::run(Task& task) {
    if (policy_ != nullptr) policy_->getsBusy();
    slices_.store(slices_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    simulation_.advance(Machine::current().costs.fiberSwitch);
    switch (task.stage) {
        case Task::Stage::hog:
            work(task.work);
            workload_.completed(task);
            break;
        case Task::Stage::handler:
            work(workload_.handler);
            task.stage = Task::Stage::fiber;
            if (policy_ == nullptr) return core_.queue().push(task);
            core_.queue().pushStealable(task);
            policy_->published();
            break;
        case Task::Stage::fiber: runFiber(task); break;
        case Task::Stage::answer: complete(task); break;
    }
}

inline void Carrier::runFiber(Task& task) {
    const bool away = task.home != index_;
    if (away) simulation_.advance(Machine::current().move(task.home, index_));
    work(task.work);
    if (!away || !workload_.answersAtHome) return complete(task);
    task.stage = Task::Stage::answer;
    workload_.carrier(task.home).submit(task);
}

inline void Carrier::complete(Task& task) {
    work(workload_.answer);
    workload_.completed(task);
}

inline void Carrier::blockInFutex() {
    const Nanoseconds deadline = policy_ == nullptr ? forever : asNanoseconds(policy_->due());
    const Nanoseconds began = simulation_.now();
    while (core_.asleepIn(SleepKind::futex) && simulation_.now() < deadline) simulation_.wait(deadline);
    workload_.counters.deadlines += core_.asleepIn(SleepKind::futex);
    slept_ += simulation_.now() - began;
}

inline bool Carrier::stealFromMember(unsigned victim) {
    Carrier& victimCarrier = group_->carrier(victim);
    const std::size_t before = core_.queue().stealableCount();
    const StealResult stealResult = core_.queue().stealFrom(victimCarrier.core_.queue(), workload_.most);
    if (stealResult == StealResult::nothing) return false;
    if (stealResult == StealResult::handedBack) victimCarrier.endSleep(victimCarrier.core_.wake());
    ++workload_.counters.steals;
    workload_.counters.stolen += core_.queue().stealableCount() - before;
    return true;
}

}  // namespace weft::perf::sim
