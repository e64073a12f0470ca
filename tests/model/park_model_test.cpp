// Carrier sleep and wake (docs/protocol.md sections 1 and 5): the shipped CarrierCore, ParkState, RunQueue and
// PollerGate, driven as carrier.cpp, carrier_run.cpp and carrier_park.cpp drive them. No work is lost, each sleep that
// a waker ends is ended by one wake, and no wakeup callback is touched once its poller has gone.
#include <weft/scheduler/detail/carrier_core.hpp>
#include <weft/scheduler/detail/poller_gate.hpp>

#include "protocol_test.hpp"

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
    noSecondLook,    // sleeps right after advertising
    leavesByStore,   // a load and a store in place of the exchange
    wakesByStore,    // a load and a store in place of the compare-exchange
    wakesFirst,      // looks at the state before the work is published
    publishesLater,  // the poller's slot is filled after the look
    sleepsOnAndOn,   // goes to sleep again without having left the sleep before
};

// What the test needs of CarrierCore, written again so that one thing can be wrong with it.
template <Defect defect>
class TwinCore {
  public:
    [[nodiscard]] bool submit(Work& work) { return queue_.submit(work); }
    void submitPoller(Work& poller) { readyPoller_.store(&poller, std::memory_order_seq_cst); }
    void requestStop() { stopRequested_.store(true, std::memory_order_seq_cst); }
    void requestTurn() { turnRequested_.store(true, std::memory_order_seq_cst); }
    SleepKind wake() {
        if (defect != Defect::wakesByStore) return park_.wake();
        const SleepKind seen = park_.current();
        if (seen != SleepKind::none) park_.word().store(0, std::memory_order_seq_cst);
        return seen;
    }

    auto& queue() { return queue_; }
    auto& sleepWord() { return park_.word(); }
    Work* takeReadyPoller() {
        Work* poller = readyPoller_.load(std::memory_order_acquire);
        if (poller != nullptr) readyPoller_.store(nullptr, std::memory_order_relaxed);
        return poller;
    }
    bool hasWork() const {
        return !queue_.empty() || readyPoller_.load(std::memory_order_seq_cst) != nullptr ||
               (stopRequested_.load(std::memory_order_seq_cst) && !stopping_) ||
               turnRequested_.load(std::memory_order_seq_cst);
    }
    template <class MoreWork>
    bool trySleep(SleepKind kind, MoreWork) {
        if (hasWork()) return false;
        park_.advertise(kind);
        sleep_ = kind;
        return defect == Defect::noSecondLook || !hasWork();
    }
    SleepEnd leaveSleep() {
        const SleepKind kind = std::exchange(sleep_, SleepKind::none);
        if (kind == SleepKind::none) return SleepEnd::notAsleep;
        if (!leavePark()) return SleepEnd::byItself;
        return kind == SleepKind::poller ? SleepEnd::pollerWoken : SleepEnd::futexWoken;
    }
    bool asleepIn(SleepKind kind) const { return sleep_ == kind && park_.current() == kind; }
    void beginStop() { stopping_ = stopping_ || stopRequested_.load(std::memory_order_acquire); }
    bool stopping() const { return stopping_; }
    bool takeTurnRequest() { return turnRequested_.exchange(false, std::memory_order_acquire); }

  private:
    bool leavePark() {
        if (defect != Defect::leavesByStore) return park_.leave();
        const bool woken = park_.current() == SleepKind::none;
        park_.word().store(0, std::memory_order_seq_cst);
        return woken;
    }

    detail::BasicParkState<Atomics> park_;
    Atomic<bool> stopRequested_{false};
    Atomic<bool> turnRequested_{false};
    Atomic<Work*> readyPoller_{nullptr};
    detail::BasicRunQueue<Atomics, Work, 2> queue_;
    SleepKind sleep_ = SleepKind::none;
    bool stopping_ = false;
};

template <class Core, Defect defect>
class Carrier {
  public:
    explicit Carrier(SleepKind sleepsIn) : sleepsIn_(sleepsIn) {}
    // As a poller that does not call unpark() after its blocking call.
    void forgetToLeave() { forgetful_ = true; }

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

    // --- the carrier's thread
    // Works until `wanted` pieces are done and, if asked for, a stop request has come.
    void run(int wanted, bool untilStop) {
        while (!finished(wanted, untilStop)) {
            const bool ranFibers = drain();
            const bool ranPoller = runPoller();
            if (!ranFibers && !ranPoller) sleep();
        }
    }
    // Sleeps until a report is asked for.
    void runUntilReport() {
        while (!core_.takeTurnRequest()) sleep();
        assertThat(reportWanted_.exchange(false, std::memory_order_relaxed), "a turn shows what it was asked for");
    }
    // Hosts `count` pollers one after the other; each goes when one more piece of work is done.
    void runPollers(int count) {
        for (int poller = 1; poller <= count; ++poller) {
            assertThat(gate_.claim() == Gate::Claimed::yes, "the gate is free");
            wakeup_ = poller;  // PollerSlot::fill()
            run(poller, false);
            leaveSleep();  // Carrier::afterSwitch()
            await([this] { return gate_.settled(); });
            wakeup_ = 0;  // PollerSlot::unclaim()
            gate_.unclaim();
        }
    }

    void checkWakes() const { assertThat(sent_ == counted_, "one wake for each sleep that a waker ended"); }

  private:
    using Gate = detail::BasicPollerGate<Atomics>;

    bool finished(int wanted, bool untilStop) {
        if (untilStop) core_.beginStop();
        return done_ >= wanted && core_.stopping() == untilStop;
    }

    bool drain() {
        core_.queue().takeSubmitted();
        bool ran = false;
        for (Work* work = core_.queue().pop(); work != nullptr; work = core_.queue().pop()) ran = consume(*work);
        return ran;
    }
    bool runPoller() {
        Work* poller = core_.takeReadyPoller();
        return poller != nullptr && consume(*poller);
    }
    bool consume(Work& work) {
        assertThat(work.payload == 1, "each piece of work is done once, with what its submitter wrote");
        work.payload = 2;
        ++done_;
        return true;
    }

    void sleep() {
        if (defect != Defect::sleepsOnAndOn) leaveSleep();  // a forgotten one: Carrier::trySleepInPoller()
        if (core_.trySleep(sleepsIn_, [] { return false; })) {
            if (sleepsIn_ == SleepKind::futex) {
                while (core_.asleepIn(SleepKind::futex)) futexWait(core_.sleepWord(), 1);
            } else {
                wakeFd_.wait();
            }
            if (forgetful_) return;
        }
        leaveSleep();
    }
    void leaveSleep() {
        switch (core_.leaveSleep()) {
            case SleepEnd::pollerWoken:
                gate_.countWake();
                ++counted_;
                break;
            case SleepEnd::futexWoken:
                ++counted_;
                break;
            default:
                break;
        }
    }

    void wakeIfParked() {
        switch (core_.wake()) {
            case SleepKind::none:
                return;
            case SleepKind::futex:
                ++sent_;
                return futexWake(core_.sleepWord());
            case SleepKind::poller:
                ++sent_;
                (void)wakeup_.get();  // the callback
                wakeFd_.signal();
                return gate_.noteDelivered();
        }
    }

    const SleepKind sleepsIn_;
    bool forgetful_ = false;
    Core core_;
    Gate gate_;
    Atomic<bool> reportWanted_{false};
    Plain<int> wakeup_{1};
    Event wakeFd_{"wakeFd"};
    int done_ = 0;
    int sent_ = 0;
    int counted_ = 0;
};

// The scenarios, of a carrier with a given core.
template <class Core, Defect defect>
struct Scenarios {
    using CarrierType = Carrier<Core, defect>;

    // Two submitters of one piece each.
    static Scenario twoSubmitters(SleepKind kind) {
        return [=](ModelRun& run) {
            auto& carrier = make(run, kind);
            for (const char* name : {"submitter1", "submitter2"}) {
                auto& work = run.make<Work>();
                run.thread(name, [&carrier, &work] { carrier.submit(work); });
            }
            run.thread("carrier", [&carrier] { carrier.run(2, false); });
        };
    }
    // One that makes the poller runnable, and one that asks for the end.
    static Scenario pollerAndStop(SleepKind kind) {
        return [=](ModelRun& run) {
            auto& carrier = make(run, kind);
            auto& poller = run.make<Work>();
            run.thread("waker", [&carrier, &poller] { carrier.enqueuePoller(poller); });
            run.thread("stopper", [&carrier] { carrier.requestStop(); });
            run.thread("carrier", [&carrier] { carrier.run(1, true); });
        };
    }
    static Scenario reporting(SleepKind kind) {
        return [=](ModelRun& run) {
            auto& carrier = make(run, kind);
            run.thread("reporter", [&carrier] { carrier.requestReport(); });
            run.thread("carrier", [&carrier] { carrier.runUntilReport(); });
        };
    }
    // One submitter, twice: a wake that comes late must not break the next sleep.
    static Scenario twice(SleepKind kind) {
        return [=](ModelRun& run) {
            auto& carrier = make(run, kind);
            submitTwice(run, carrier);
            run.thread("carrier", [&carrier] { carrier.run(2, false); });
        };
    }
    // Two pollers, one after the other: a late waker of the first one's sleep may end a sleep of the second.
    static Scenario twoPollers() {
        return [=](ModelRun& run) {
            auto& carrier = make(run, SleepKind::poller);
            submitTwice(run, carrier);
            run.thread("carrier", [&carrier] { carrier.runPollers(2); });
        };
    }

    // A poller that sleeps twice, and does not say that it is awake between.
    static Scenario forgetfulPoller() {
        return [=](ModelRun& run) {
            auto& carrier = make(run, SleepKind::poller);
            carrier.forgetToLeave();
            submitTwice(run, carrier);
            run.thread("carrier", [&carrier] { carrier.runPollers(2); });
        };
    }

  private:
    static CarrierType& make(ModelRun& run, SleepKind kind) {
        auto& carrier = run.make<CarrierType>(kind);
        run.name({"park", "stopRequested", "turnRequested", "readyPoller", "visitors", "tray", "gate", "delivered",
                  "reportWanted"});
        run.finally([&carrier] { carrier.checkWakes(); });
        return carrier;
    }
    static void submitTwice(ModelRun& run, CarrierType& carrier) {
        auto& work = run.make<std::array<Work, 2>>();
        run.thread("submitter", [&carrier, &work] { carrier.submit(work[0]), carrier.submit(work[1]); });
    }
};

// Two threads that want to host a poller, and a carrier that ends as soon as nobody does.
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
        makeCase("stop, futex", Built::pollerAndStop(SleepKind::futex)),
        makeCase("stop, poller", Built::pollerAndStop(SleepKind::poller)),
        makeCase("twice, futex", Built::twice(SleepKind::futex)),
        makeCase("twice, poller", Built::twice(SleepKind::poller)),
        makeCase("report, futex", Built::reporting(SleepKind::futex)),
        makeCase("two pollers", Built::twoPollers()),
        makeCase("gate", claimTheGate),
        makeCase("forgetful poller", Built::forgetfulPoller()),
    };
}

constexpr const char* protocol = "carrier sleep";

TEST(ParkModel, NoWorkIsLostInTheSearchOfThreePreemptions) {
    exploreAll(protocol, cases(), {.preemptions = 3, .executions = 600'000});
}
TEST(ParkModel, NoWorkIsLostInTheFullSearch) {
    exploreAll(protocol, cases(), {.search = Search::full, .executions = 200'000});
}
TEST(ParkModel, NoWorkIsLostAtRandom) {
    exploreAll(protocol, cases(), {.search = Search::random, .executions = 30'000});
    exploreAll(protocol, cases(), {.search = Search::pct, .executions = 30'000});
}

// --- twins

constexpr Survivor survivors[] = {
    {"carrier_core stopRequested load *", "a flag: nothing is published with it, and a stale look is repeated"},
    {"park_state leave exchange *", "one RMW decides who ended the sleep; the work itself is ordered by Q1, K3 and K5"},
    {"park_state wake compare_exchange.success seq_cst->acquire", "the work is published by K1, not by the wake"},
    {"park_state wake compare_exchange.success seq_cst->acq_rel", "the load [K1] is what must not miss a sleep"},
    {"park_state wake compare_exchange.failure *", "feeds the next attempt; the load [K1] has excluded a missed sleep"},
    {"park_state current load *", "a hint: the futex compares the word itself"},
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
TEST(ParkModel, ACarrierThatDoesNotLookAgainLosesWork) {
    expectKilled("no second look", broken<Defect::noSecondLook>());
}
TEST(ParkModel, ACarrierThatLeavesByAStoreOverlooksAWake) {
    expectKilled("leaves by store", broken<Defect::leavesByStore>());
}
TEST(ParkModel, AForgottenSleepIsLeftBeforeTheNextOrItsWakeIsNotCounted) {
    expectKilled("sleeps on and on", only("forgetful poller", broken<Defect::sleepsOnAndOn>()));
}
TEST(ParkModel, WakersThatDoNotCompareWakeTwice) {
    expectKilled("wakes by store", broken<Defect::wakesByStore>());
}
TEST(ParkModel, ASubmitterThatLooksBeforeItPublishesLosesItsWork) {
    expectKilled("wakes first", broken<Defect::wakesFirst>());
    expectKilled("publishes the poller later", broken<Defect::publishesLater>());
}

}  // namespace
}  // namespace weft::model
