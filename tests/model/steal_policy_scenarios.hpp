// The scenarios that explore the steal policy (docs/explanation/protocol.md section 16), for the shipped cluster and
// for its twins: carriers in long slices with work that others could do, and carriers that sleep. All of the work must
// be done.
#pragma once

#include <weft/scheduler/detail/carrier_core.hpp>
#include <weft/scheduler/detail/carrier_turn.hpp>
#include <weft/scheduler/detail/steal_policy.hpp>

#include "protocol_test.hpp"
#include "simple_host.hpp"

namespace weft::model::helping {

using weft::detail::CalledBy;
using weft::detail::Lanes;
using weft::detail::SleepEnd;
using weft::detail::SleepKind;
using weft::detail::StealResult;
using weft::detail::StealRules;

// The defects of a carrier.
enum class Defect {
    none,
    looksOnce,         // does not search the others again once its sleep is announced
    looksFirst,        // searches them before its sleep is announced, and not after
    publishesQuietly,  // does not publish work that others could now take
    movesQuietly,      // does not publish work that it has moved from its in-tray or its backlog
    submitsQuietly,    // a submitter that finds the carrier awake calls no carrier
    forgetsCalls,      // wakes up and does not go to the victim it was called for
    keepsWatching,     // is busy, and still the sentinel on which the others rely
    handsBackQuietly,  // does not wake the victim that it has handed work back to
};

struct Task {
    Link<Task> next;
    Plain<int> data{0};
    int runs = 0;
    int awaits = -1;  // another task, which must have run before this one ends
    int number = 0;
};

template <template <class, class> class ClusterOf, Defect defect>
class Carrier;

// Who steals from whom, and the work to do.
template <template <class, class> class ClusterOf, Defect defect>
class Group {
  public:
    using Member = Carrier<ClusterOf, defect>;
    using Cluster = ClusterOf<Atomics, Group>;

    Group(unsigned members, int tasks, const StealRules& rules) : cluster(*this, members, rules), total_(tasks) {
        for (int i = 0; i < tasks; ++i) this->tasks[static_cast<std::size_t>(i)].number = i;
    }

    // What the policy needs.
    bool hasStealable(unsigned member) const { return members[member]->core().queue().hasStealable(); }
    std::size_t stealableCount(unsigned member) const { return members[member]->core().queue().stealableCount(); }
    std::uint64_t slices(unsigned member) const { return members[member]->slices; }
    bool call(unsigned member, unsigned victim) {
        const SleepKind sleep = members[member]->core().call(victim);
        members[member]->endSleep(sleep);
        return sleep != SleepKind::none;
    }

    void run(Task& task) {
        assertThat(task.data == 1, "a task runs once, with what its submitter wrote");
        task.data = 2;
        ++task.runs;
        if (task.awaits >= 0) await([&] { return (done.load(std::memory_order_relaxed) >> task.awaits & 1u) != 0; });
        const unsigned all = (1u << total_) - 1;
        if ((done.fetch_or(1u << task.number, std::memory_order_relaxed) | 1u << task.number) != all) return;
        for (Member* member : members) {
            if (member != nullptr) member->requestStop();
        }
    }
    void awaitAll() {
        await([this] { return done.load(std::memory_order_relaxed) == (1u << total_) - 1; });
    }
    Task& prepared(int task) {
        tasks[static_cast<std::size_t>(task)].data = 1;
        return tasks[static_cast<std::size_t>(task)];
    }
    void checkAllRan() const {
        for (int i = 0; i < total_; ++i)
            assertThat(tasks[static_cast<std::size_t>(i)].runs == 1, "each task has run once");
    }

    Cluster cluster;
    Atomic<unsigned> done{0};
    std::array<Member*, 3> members{};
    std::array<Task, 3> tasks;

  private:
    const int total_;
};

// A carrier of shipped parts, without a live list.
template <template <class, class> class ClusterOf, Defect defect>
class Carrier : public SimpleHost {
  public:
    using Core = detail::BasicCarrierCore<Atomics, Task, 1>;
    using GroupType = Group<ClusterOf, defect>;

    Carrier(GroupType& group, unsigned self)
        : core_(Lanes::both), group_(group), self_(self), policy_(*this, group.cluster, self) {
        group.members[self] = this;
    }

    // --- any thread
    void submit(Task& task) {
        assertThat(core_.submit(task), "it is open");
        endSleep(core_.wake());
    }
    void submitStealable(Task& task) {
        assertThat(core_.submitStealable(task), "it is open");
        const SleepKind sleep = core_.wake();
        if (sleep != SleepKind::none) return endSleep(sleep);
        if (defect != Defect::submitsQuietly) group_.cluster.published(self_);
    }
    void requestStop() {
        core_.requestStop();
        endSleep(core_.wake());
    }
    void endSleep(SleepKind sleep) {
        if (sleep == SleepKind::futex) futexWake(core_.sleepWord());
    }

    // --- its own thread
    void pushOwn(Task& task) {
        core_.queue().pushStealable(task);
        if (defect != Defect::publishesQuietly) policy_.published();
    }
    void help() {
        detail::CarrierTurn<Carrier> turn(*this);
        while (!core_.stopRequested()) turn.turn();
    }

    // --- what CarrierTurn needs besides SimpleHost
    struct NoLiveTasks {
        template <class Release>
        void settle(Release) {}
        bool empty() const { return true; }
    };
    struct NoPoller {
        bool closeIfFree() { return true; }
        void countWake() {}
    };
    Core& core() { return core_; }
    NoLiveTasks live() { return {}; }
    NoPoller poller() { return {}; }
    Task* nextTask(bool& moved) { return core_.queue().pop(moved); }
    void run(Task& task) {
        if (defect != Defect::keepsWatching) policy_.getsBusy();
        ++slices;
        group_.run(task);
    }
    void left(Task&) {}
    void published() {
        if (defect != Defect::movesQuietly) policy_.published();
    }
    bool pull() { return policy_.pull(); }
    bool mustNotSleep() {
        if (defect == Defect::looksFirst && policy_.mustNotSleep(false)) return true;
        if (defect != Defect::looksOnce && defect != Defect::looksFirst) return policy_.mustNotSleep(true);
        group_.cluster.addIdle(self_);
        return false;
    }
    void leavesSleep() { policy_.leavesSleep(); }
    void answer(CalledBy call) {
        if (defect != Defect::forgetsCalls) policy_.answer(call);
    }
    void blockInFutex() {
        if (policy_.due() != never) {  // runs before anything else
            clock_ = policy_.due();
            return;
        }
        while (core_.asleepIn(SleepKind::futex)) futexWait(core_.sleepWord(), 1);
    }
    void countWake(SleepEnd) {}

    // --- what the policy needs
    bool stealFromMember(unsigned victim) {
        Carrier& victimCarrier = *group_.members[victim];
        const StealResult stealResult = core_.queue().stealFrom(victimCarrier.core_.queue());
        if (stealResult == StealResult::handedBack && defect != Defect::handsBackQuietly)
            victimCarrier.endSleep(victimCarrier.core_.wake());
        return stealResult != StealResult::nothing;
    }
    TimePoint now() const { return clock_; }
    unsigned random() { return 0; }

    std::uint64_t slices = 0;

  private:
    Core core_;
    GroupType& group_;
    const unsigned self_;
    TimePoint clock_{std::chrono::seconds(1)};
    detail::BasicStealPolicy<typename GroupType::Cluster, Carrier> policy_;
};

template <template <class, class> class ClusterOf, Defect defect>
struct Scenarios {
    using GroupType = Group<ClusterOf, defect>;
    using CarrierType = Carrier<ClusterOf, defect>;

    struct State {
        State(unsigned members, int tasks, const StealRules& rules) : group(members, tasks, rules) {
            for (unsigned i = 0; i < members; ++i) carriers[i].emplace(group, i);
        }
        CarrierType& operator[](unsigned carrier) { return *carriers[carrier]; }
        GroupType group;
        std::array<std::optional<CarrierType>, 3> carriers;
    };

    // One carrier has a task and is in a long slice; the other one sleeps, or is about to.
    static void oneInNeed(ModelRun& run) {
        State& state = make(run, 2, 1, atOnce);
        inNeed(run, state, 0, "victim", {0});
        helper(run, state, 1, "helper");
    }
    // As before, but the task is worth stealing only after a while.
    static void tooYoung(ModelRun& run) {
        State& state = make(run, 2, 1, later);
        inNeed(run, state, 0, "victim", {0});
        helper(run, state, 1, "helper");
    }
    // The task that one helper took waits for one that it left.
    static void moreThanOneCanDo(ModelRun& run) {
        State& state = make(run, 3, 2, atOnce);
        state.group.tasks[0].awaits = 1;
        inNeed(run, state, 0, "victim", {0, 1});
        helper(run, state, 1, "helper1");
        helper(run, state, 2, "helper2");
    }
    // Two carriers have a task each, and only one search may be in flight.
    static void twoInNeed(ModelRun& run) {
        State& state = make(run, 3, 2, atOnce);
        inNeed(run, state, 0, "victim1", {0});
        inNeed(run, state, 1, "victim2", {1});
        helper(run, state, 2, "helper");
    }
    // The sentinel that watches the victim gets its own work, which lasts until the victim's is done.
    static void theWatcherGetsBusy(ModelRun& run) {
        State& state = make(run, 3, 2, later);
        state.group.tasks[1].awaits = 0;
        inNeed(run, state, 0, "victim", {0});
        helper(run, state, 1, "helper1");
        helper(run, state, 2, "helper2");
        run.thread("producer", [&state] { state[1].submit(state.group.prepared(1)); });
    }
    // Some of its own work waits behind the rest, while the former victim is idle.
    static void theWatcherIsInNeed(ModelRun& run) {
        State& state = make(run, 2, 3, later);
        state.group.tasks[1].awaits = 2;
        run.thread("victim", [&state] {
            state[0].pushOwn(state.group.prepared(0));
            state[0].help();
        });
        helper(run, state, 1, "watcher");
        run.thread("producer", [&state] {
            state[1].submitStealable(state.group.prepared(1));
            state[1].submitStealable(state.group.prepared(2));
        });
    }
    // The victim itself runs the watched task, and then has a new one.
    static void theWatcherGivesUp(ModelRun& run) {
        State& state = make(run, 2, 2, later);
        run.thread("victim", [&state] {
            state[0].pushOwn(state.group.prepared(0));
            bool moved = false;
            if (Task* task = state[0].core().queue().pop(moved)) state[0].run(*task);
            state[0].pushOwn(state.group.prepared(1));
            state.group.awaitAll();
        });
        helper(run, state, 1, "helper");
    }
    // The work of a carrier in a long slice comes from outside.
    static void submitted(ModelRun& run) {
        State& state = make(run, 2, 1, atOnce);
        inNeed(run, state, 0, "victim", {});
        helper(run, state, 1, "helper");
        run.thread("producer", [&state] { state[0].submitStealable(state.group.prepared(0)); });
    }
    // Work comes from outside to a carrier that takes it and begins a long slice with the first task.
    static void movedByTheOwner(ModelRun& run) {
        State& state = make(run, 2, 2, atOnce);
        state.group.tasks[0].awaits = 1;
        state.group.tasks[1].awaits = -1;
        helper(run, state, 0, "owner");
        helper(run, state, 1, "helper");
        run.thread("producer", [&state] {
            state[0].submitStealable(state.group.prepared(0));
            state[0].submitStealable(state.group.prepared(1));
        });
    }
    // As before, with more work than the ring holds, so that a pop moves the rest.
    static void movedByAPop(ModelRun& run) {
        State& state = make(run, 2, 3, atOnce);
        state.group.tasks[1].awaits = 2;
        helper(run, state, 0, "owner");
        helper(run, state, 1, "helper");
        run.thread("producer", [&state] {
            for (const int task : {0, 1, 2}) state[0].submitStealable(state.group.prepared(task));
        });
    }

  private:
    static constexpr StealRules atOnce{.depth = 8, .age = Duration::zero()};
    static constexpr StealRules later{.depth = 8, .age = std::chrono::microseconds(100)};

    static State& make(ModelRun& run, unsigned members, int tasks, const StealRules& rules) {
        State& state = run.make<State>(members, tasks, rules);
        run.name({"idle",     "searching",   "sentinel", "relied",  "done",  //
                  "park0",    "stop0",       "turn0",    "poller0", "submitters0", "tray0",       "head0",
                  "backlog0", "tail0",       "ring0",    "home0",   "park1",       "stop1",       "turn1",
                  "poller1",  "submitters1", "tray1",    "head1",   "backlog1",    "tail1",       "ring1",
                  "home1",    "park2",       "stop2",    "turn2",   "poller2",     "submitters2", "tray2",
                  "head2",    "backlog2",    "tail2",    "ring2",   "home2"});
        run.finally([&state] { state.group.checkAllRan(); });
        return state;
    }
    static void inNeed(ModelRun& run, State& state, unsigned carrier, const char* name, std::vector<int> tasks) {
        run.thread(name, [&state, carrier, tasks] {
            for (const int task : tasks) state[carrier].pushOwn(state.group.prepared(task));
            state.group.awaitAll();
        });
    }
    static void helper(ModelRun& run, State& state, unsigned carrier, const char* name) {
        run.thread(name, [&state, carrier] { state[carrier].help(); });
    }
};

template <template <class, class> class ClusterOf = detail::BasicStealCluster, Defect defect = Defect::none>
std::vector<Case> cases() {
    using Built = Scenarios<ClusterOf, defect>;
    return {makeCase("one in need", Built::oneInNeed),
            makeCase("submitted", Built::submitted),
            makeCase("too young", Built::tooYoung),
            makeCase("the watcher gives up", Built::theWatcherGivesUp),
            makeCase("the watcher is in need", Built::theWatcherIsInNeed),
            makeCase("moved by the owner", Built::movedByTheOwner),
            makeCase("moved by a pop", Built::movedByAPop),
            makeCase("two in need", Built::twoInNeed),
            makeCase("more than one can do", Built::moreThanOneCanDo),
            makeCase("the watcher gets busy", Built::theWatcherGetsBusy)};
}

}  // namespace weft::model::helping
