// Carrier sleep and wake (docs/explanation/protocol.md sections 1 and 5): the shipped CarrierTurn takes the turns of a
// carrier whose parts are the shipped CarrierCore, ParkState, RunQueue and PollerGate. No work is lost, each sleep that
// a waker ends is ended by one wake, and nothing touches a wakeup callback once its poller is gone. The carrier's list
// of fibers is a stub without atomics, because its edges would hide those of the in-tray; carrier_end_model_test.cpp
// has the list.
#include <weft/scheduler/detail/carrier_core.hpp>
#include <weft/scheduler/detail/carrier_turn.hpp>
#include <weft/scheduler/detail/poller_gate.hpp>

#include "protocol_test.hpp"
#include "simple_host.hpp"

namespace weft::model {
namespace {

using weft::detail::SleepEnd;
using weft::detail::SleepKind;

struct Work {
    Link<Work> next;
    Plain<int> payload{0};
};

using ShippedCore = detail::BasicCarrierCore<Atomics, Work, 2>;

enum class Defect {
    none,
    noSecondLook,    // sleeps right after it has advertised its sleep
    leavesByStore,   // a load and a store instead of the exchange
    wakesByStore,    // a load and a store instead of the compare-exchange
    wakesFirst,      // checks the state before the work is published
    publishesLater,  // fills the poller's slot after the check
    sleepsOnAndOn,   // sleeps again without having left the former sleep
};

// The shipped core with one defect.
template <Defect defect>
class TwinCore : public ShippedCore {
  public:
    [[nodiscard]] SleepKind wake() {
        if (defect != Defect::wakesByStore) return ShippedCore::wake();
        const SleepKind seen = current();
        if (seen != SleepKind::none) sleepWord().store(0, std::memory_order_seq_cst);
        return seen;
    }
    template <class MoreWork>
    [[nodiscard]] bool trySleep(SleepKind kind, MoreWork moreWork) {
        const bool mayBlock = ShippedCore::trySleep(kind, moreWork);
        return mayBlock || (defect == Defect::noSecondLook && asleepIn(kind));
    }
    SleepEnd leaveSleep() {
        if (defect != Defect::leavesByStore) return ShippedCore::leaveSleep();
        const bool woken = current() == SleepKind::none;
        sleepWord().store(0, std::memory_order_seq_cst);
        const SleepEnd end = ShippedCore::leaveSleep();
        return end == SleepEnd::notAsleep || woken ? end : SleepEnd::byItself;
    }

  private:
    SleepKind current() { return static_cast<SleepKind>(sleepWord().load(std::memory_order_seq_cst)); }
};

// The carrier's task until it stops.
struct Duty {
    SleepKind sleepsIn = SleepKind::futex;  // its poller hosts it there, if it has one
    int wanted = 0;                         // pieces of work
    bool untilStop = false;
    bool untilReport = false;
    int pollers = 1;         // one after the other, each for its share of the work
    bool forgetful = false;  // the pollers do not call unpark() after their blocking call
};

template <class CoreType, Defect defect>
class Carrier : public NonStealingHost {
  public:
    using Core = CoreType;

    explicit Carrier(const Duty& duty) : duty_(duty) {}

    // --- any thread
    void submit(Work& work) {
        work.payload = 1;
        if (defect == Defect::wakesFirst) wakeIfParked();
        assertThat(core_.submit(work), "the tray is open");
        if (defect != Defect::wakesFirst) wakeIfParked();
    }
    void enqueuePoller(Work& poller) {
        poller.payload = 1;
        if (defect == Defect::publishesLater) wakeIfParked();
        core_.submitPoller(poller);
        if (defect != Defect::publishesLater) wakeIfParked();
    }
    void requestStop() {
        core_.requestStop();
        wakeIfParked();
    }
    void requestReport() {
        reportWanted_.store(true, std::memory_order_relaxed);  // as Carrier::requestStragglers()
        core_.requestTurn();
        wakeIfParked();
    }

    // --- the carrier's thread: as CarrierTurn::runUntilEnd(), but without a stop it ends when its work is done
    void run() {
        if (duty_.sleepsIn == SleepKind::poller) hostPoller();
        Turn turn(*this);
        while (!turn.finished() && !isOver()) turn.turn();
    }
    void checkWakes() const { assertThat(sent_ == counted_, "one wake for each sleep that a waker ended"); }

    // --- what CarrierTurn needs besides SimpleHost
    Core& core() { return core_; }
    auto& live() { return live_; }
    auto& poller() { return gate_; }
    Work* nextTask(bool& moved) { return core_.queue().pop(moved); }
    void run(Work& work) {
        if (&work == &poller_) return runPoller();
        assertThat(work.payload == 1, "each piece of work is done once, with what its submitter wrote");
        work.payload = 2;
        ++live_.done;
    }
    void left(Work&) {}
    void abort(Work&) {}
    void answerTurnRequest() {
        assertThat(reportWanted_.exchange(false, std::memory_order_relaxed), "a turn shows what it was asked for");
        reported_ = true;
    }
    void blockInFutex() {
        while (core_.asleepIn(SleepKind::futex)) futexWait(core_.sleepWord(), 1);
    }
    void countWake(SleepEnd end) { counted_ += end == SleepEnd::byItself ? 0 : 1; }

  private:
    using Gate = detail::BasicPollerGate<Atomics>;
    using Turn = detail::CarrierTurn<Carrier>;

    // Its fibers: each piece of work ends one.
    struct Fibers {
        template <class Left>
        void settle(Left) {}
        template <class Visit>
        void forEach(Visit) {}
        bool empty() const { return done >= wanted; }
        bool closeIfEmpty() const { return empty(); }
        const int wanted;
        int done = 0;
    };

    bool isOver() const { return duty_.untilReport ? reported_ : !duty_.untilStop && live_.empty(); }

    // --- a poller
    void hostPoller() {
        assertThat(gate_.claim() == Gate::Claimed::yes, "the gate is free");
        wakeup_ = ++hosted_;  // PollerSlot::fill()
        core_.setReadyPoller(poller_);
    }
    // One slice of its body: it sleeps until there is work, which maybeYield() lets run.
    void runPoller() {
        do {
            if (pollerIsDone()) return endPoller();
            sleepInPoller();
        } while (!core_.hasWork());
        core_.setReadyPoller(poller_);
    }
    bool pollerIsDone() const {
        return live_.done * duty_.pollers >= duty_.wanted * hosted_ && (!duty_.untilStop || core_.stopRequested());
    }
    // Carrier::trySleepInPoller(), the blocking call and PinnedPoller::unpark()
    void sleepInPoller() {
        if (defect != Defect::sleepsOnAndOn) leaveSleep();  // a sleep that was not left
        if (core_.trySleep(SleepKind::poller, [] { return false; })) {
            wakeFd_.wait();
            if (duty_.forgetful) return;
        }
        leaveSleep();
    }
    // Carrier::end() and PollerSlot::release()
    void endPoller() {
        leaveSleep();
        await([this] { return gate_.settled(); });
        wakeup_ = 0;
        gate_.unclaim();
        if (hosted_ < duty_.pollers) hostPoller();
    }
    void leaveSleep() { (void)Turn(*this).leaveSleep(); }

    void wakeIfParked() {
        switch (core_.wake()) {
            case SleepKind::none: return;
            case SleepKind::futex: ++sent_; return futexWake(core_.sleepWord());
            case SleepKind::poller:
                ++sent_;
                (void)wakeup_.get();  // the callback
                wakeFd_.signal();
                return gate_.noteDelivered();
        }
    }

    const Duty duty_;
    Core core_;
    Gate gate_;
    Atomic<bool> reportWanted_{false};
    Plain<int> wakeup_{0};
    Event wakeFd_{"wakeFd"};
    Work poller_;
    Fibers live_{duty_.wanted};
    int hosted_ = 0;
    bool reported_ = false;
    int sent_ = 0;
    int counted_ = 0;
};

// The scenarios, for a carrier with a given core.
template <class Core, Defect defect>
struct Scenarios {
    using CarrierType = Carrier<Core, defect>;

    // Two submitters of one piece each.
    static Scenario twoSubmitters(SleepKind kind) {
        return [=](ModelRun& run) {
            auto& carrier = make(run, {.sleepsIn = kind, .wanted = 2});
            for (const char* name : {"submitter1", "submitter2"}) {
                auto& work = run.make<Work>();
                run.thread(name, [&carrier, &work] { carrier.submit(work); });
            }
        };
    }
    // One thread makes the poller runnable, which waits for something else; another one requests the stop.
    static void pollerAndStop(ModelRun& run) {
        auto& carrier = make(run, {.wanted = 1, .untilStop = true});
        auto& poller = run.make<Work>();
        run.thread("waker", [&carrier, &poller] { carrier.enqueuePoller(poller); });
        run.thread("stopper", [&carrier] { carrier.requestStop(); });
    }
    // One thread submits, another one requests the stop; the carrier sleeps in its poller, which then ends.
    static void workAndStop(ModelRun& run) {
        auto& carrier = make(run, {.sleepsIn = SleepKind::poller, .wanted = 1, .untilStop = true});
        auto& work = run.make<Work>();
        run.thread("submitter", [&carrier, &work] { carrier.submit(work); });
        run.thread("stopper", [&carrier] { carrier.requestStop(); });
    }
    static Scenario reporting(SleepKind kind) {
        return [=](ModelRun& run) {
            auto& carrier = make(run, {.sleepsIn = kind, .untilReport = true});
            run.thread("reporter", [&carrier] { carrier.requestReport(); });
        };
    }
    // One thread submits twice: a late wake must not break the next sleep, nor the callback of the next poller.
    static Scenario twice(const Duty& duty) {
        return [=](ModelRun& run) {
            auto& carrier = make(run, duty);
            auto& work = run.make<std::array<Work, 2>>();
            run.thread("submitter", [&carrier, &work] { carrier.submit(work[0]), carrier.submit(work[1]); });
        };
    }

  private:
    static CarrierType& make(ModelRun& run, const Duty& duty) {
        auto& carrier = run.make<CarrierType>(duty);
        run.name({"park", "stopRequested", "turnRequested", "readyPoller", "submitters", "tray", "gate", "delivered",
                  "reportWanted"});
        run.thread("carrier", [&carrier] { carrier.run(); });
        run.finally([&carrier] { carrier.checkWakes(); });
        return carrier;
    }
};

// Two threads try to host a poller, and a carrier ends as soon as the slot is free.
void claimTheGate(ModelRun& run) {
    struct Slot {
        detail::BasicPollerGate<Atomics> gate;
        Plain<int> contents{0};
        int hosted = 0;
    };
    using Claimed = detail::BasicPollerGate<Atomics>::Claimed;
    auto& slot = run.make<Slot>();
    run.name({"gate", "delivered"});
    for (const char* name : {"host1", "host2"}) {
        run.thread(name, [&slot] {
            if (slot.gate.claim() != Claimed::yes) return;
            assertThat(slot.contents == 0, "nobody else is in the slot");
            slot.contents = 1;
            slot.contents = 0;
            ++slot.hosted;
            slot.gate.unclaim();
        });
    }
    run.thread("carrier", [&slot] {
        if (!slot.gate.closeIfFree()) return;
        slot.contents = 2;
        assertThat(slot.gate.closeIfFree() && slot.gate.claim() == Claimed::closed, "closed for good");
    });
}

template <class Core = ShippedCore, Defect defect = Defect::none>
std::vector<Case> cases() {
    using Built = Scenarios<Core, defect>;
    return {
        makeCase("futex", Built::twoSubmitters(SleepKind::futex)),
        makeCase("poller", Built::twoSubmitters(SleepKind::poller)),
        makeCase("stop, futex", Built::pollerAndStop),
        makeCase("stop, poller", Built::workAndStop),
        makeCase("twice, futex", Built::twice({.wanted = 2})),
        makeCase("twice, poller", Built::twice({.sleepsIn = SleepKind::poller, .wanted = 2})),
        makeCase("report, futex", Built::reporting(SleepKind::futex)),
        makeCase("two pollers", Built::twice({.sleepsIn = SleepKind::poller, .wanted = 2, .pollers = 2})),
        makeCase("gate", claimTheGate),
        makeCase("forgetful poller",
                 Built::twice({.sleepsIn = SleepKind::poller, .wanted = 2, .pollers = 2, .forgetful = true})),
    };
}

constexpr const char* protocol = "carrier sleep";

TEST(ParkModel, NoWorkIsLostInTheSearchOfThreePreemptions) {
    exploreAll(protocol, cases(), {.preemptions = 3, .executions = 2'000'000, .seconds = 200, .mustEnd = true});
}
TEST(ParkModel, NoWorkIsLostInTheFullSearch) {
    exploreAll(protocol, cases(),
               {.search = Search::full,
                .executions = 200'000,
                .seconds = 200,
                .mustEnd = true,
                .unless = {"futex", "poller"}});
}
TEST(ParkModel, NoWorkIsLostAtRandom) {
    exploreAll(protocol, cases(), {.search = Search::random, .executions = 30'000});
    exploreAll(protocol, cases(), {.search = Search::pct, .executions = 30'000});
}

// --- twins

constexpr Survivor survivors[] = {
    {"carrier_core stopRequested load *", "a flag: nothing is published with it, and a stale look is repeated"},
    {"park_state leave exchange *", "one RMW decides who ended the sleep; the work itself is ordered by Q1, K3 and K5"},
    {"park_state wakeAs compare_exchange.success seq_cst->acquire", "the work is published by K1, not by the wake"},
    {"park_state wakeAs compare_exchange.success seq_cst->acq_rel", "the load [K1] is what must not miss a sleep"},
    {"park_state wakeAs compare_exchange.failure *",
     "feeds the next attempt; the load [K1] has excluded a missed sleep"},
    {"park_state current load *", "a hint: the futex compares the word itself"},
    {"in_tray closeIfEmpty compare_exchange.success *", "as in run_queue_model_test"},
};

TEST(ParkModel, EveryOrderIsNeeded) {
    expectOrdersNeeded(protocol, cases(), survivors,
                       {.files = {"carrier_core", "park_state", "in_tray", "poller_gate"}});
}

template <Defect defect>
std::vector<Case> broken() {
    return cases<TwinCore<defect>, defect>();
}

TEST(ParkModel, TheTwinWithoutADefectPasses) {
    exploreAll("carrier sleep (twin)", broken<Defect::none>(), {.preemptions = 2});
}
TEST(ParkModel, ACarrierThatDoesNotCheckAgainLosesWork) {
    expectKilled("no second look", broken<Defect::noSecondLook>());
}
TEST(ParkModel, ACarrierThatLeavesItsSleepByAStoreMissesAWake) {
    expectKilled("leaves by store", broken<Defect::leavesByStore>());
}
TEST(ParkModel, SleepingAgainWithoutLeavingTheFormerSleepMiscountsItsWake) {
    expectKilled("sleeps on and on", only("forgetful poller", broken<Defect::sleepsOnAndOn>()));
}
TEST(ParkModel, WakersWithoutACompareExchangeWakeTwice) {
    expectKilled("wakes by store", broken<Defect::wakesByStore>());
}
TEST(ParkModel, ASubmitterThatChecksTheStateBeforeItPublishesLosesItsWork) {
    expectKilled("wakes first", broken<Defect::wakesFirst>());
    expectKilled("publishes the poller later", broken<Defect::publishesLater>());
}

}  // namespace
}  // namespace weft::model
