// The end of a carrier (docs/protocol.md section 7): its last task comes from a waker that is still on its way out when
// the carrier has run it, ended, and is destroyed by its owner.
#include <weft/scheduler/detail/carrier_core.hpp>

#include "protocol_test.hpp"

namespace weft::model {
namespace {

using weft::detail::SleepKind;

struct Work {
    Link<Work> next;
};
using Core = detail::BasicCarrierCore<Atomics, Work, 2>;

enum class Defect { none, noVisit, doesNotWait, countsInLate };

template <Defect defect>
class Carrier {
  public:
    // Carrier::enqueue(): a task that the carrier counts as its own.
    void enqueue(Work& work) {
        if (defect == Defect::noVisit) return publish(work);
        if (defect == Defect::countsInLate) {
            assertThat(core_.submit(work), "a wake never meets a closed tray");
            const Core::Visit visit(core_);
            return wakeIfParked();
        }
        const Core::Visit visit(core_);
        publish(work);
    }
    // Carrier::submit() of a new task; refused when the carrier ends.
    bool spawn(Work& work) {
        if (!core_.submitNew(work)) return false;
        wakeIfParked();
        return true;
    }
    void requestStop() {
        core_.requestStop();
        wakeIfParked();
    }

    // Carrier::threadMain(), with `tasks` that it waits for.
    int run(int tasks) {
        int ran = 0;
        while (!finished(tasks - ran)) {
            core_.queue().takeSubmitted();
            const int before = ran;
            while (core_.queue().pop() != nullptr) ++ran;
            if (ran == before) sleep();
        }
        if (defect != Defect::doesNotWait) await([this] { return !core_.hasVisitors(); });
        return ran;
    }

  private:
    bool finished(int missing) {
        if (!core_.stopRequested()) return false;
        core_.beginStop();
        return missing <= 0 && core_.queue().closeIfEmpty();
    }
    void publish(Work& work) {
        assertThat(core_.submit(work), "a wake never meets a closed tray");
        wakeIfParked();
    }
    void sleep() {
        if (core_.trySleep(SleepKind::futex, [] { return false; })) {
            while (core_.asleepIn(SleepKind::futex)) futexWait(core_.sleepWord(), 1);
        }
        core_.leaveSleep();
    }
    void wakeIfParked() {
        if (core_.wake() == SleepKind::futex) futexWake(core_.sleepWord());
    }

    Core core_;
};

// The stop has been requested; one or two wakers bring what the carrier still waits for.
template <Defect defect>
Scenario wakers(int count) {
    return [=](ModelRun& run) {
        struct State {
            Atomic<bool> ended{false};
            std::array<Work, 2> works;
        };
        run.name({"ended", "park", "stopRequested", "turnRequested", "readyPoller", "visitors", "tray"});
        auto& state = run.make<State>();
        auto& carrier = run.make<Carrier<defect>>();
        carrier.requestStop();
        static constexpr const char* names[] = {"waker1", "waker2"};
        for (unsigned i = 0; i < static_cast<unsigned>(count); ++i) {
            run.thread(names[i], [&carrier, &work = state.works[i]] { carrier.enqueue(work); });
        }
        run.thread("carrier", [&state, &carrier, count] {
            assertThat(carrier.run(count) == count, "each task runs once");
            state.ended.store(true, std::memory_order_release);  // thread::join()
        });
        run.thread("owner", [&state, &carrier] {
            await([&state] { return state.ended.load(std::memory_order_acquire); });
            destroy(carrier);
        });
    };
}

// Spawns that race with the stop: each runs or is refused.
void spawns(ModelRun& run) {
    struct State {
        Carrier<Defect::none> carrier;
        std::array<Work, 2> works;
        int accepted = 0;
        int ran = 0;
    };
    run.name({"park", "stopRequested", "turnRequested", "readyPoller", "visitors", "tray"});
    auto& state = run.make<State>();
    run.thread("spawner", [&state] {
        for (Work& work : state.works) state.accepted += state.carrier.spawn(work);
    });
    run.thread("owner", [&state] { state.carrier.requestStop(); });
    run.thread("carrier", [&state] { state.ran = state.carrier.run(0); });
    run.finally([&state] { assertThat(state.ran == state.accepted, "what was accepted has run"); });
}

template <Defect defect = Defect::none>
std::vector<Case> cases() {
    return {makeCase("one waker", wakers<defect>(1)), makeCase("two wakers", wakers<defect>(2)),
            makeCase("spawns", spawns)};
}

constexpr const char* protocol = "carrier end";

TEST(CarrierEndModel, NobodyTouchesADeadCarrierWithinThreePreemptions) {
    exploreAll(protocol, cases(), {.preemptions = 3, .executions = 400'000});
}
TEST(CarrierEndModel, NobodyTouchesADeadCarrierInAnyInterleaving) {
    exploreAll(protocol, cases(), {.search = Search::full, .executions = 200'000});
}
TEST(CarrierEndModel, NobodyTouchesADeadCarrierAtRandom) {
    exploreAll(protocol, cases(), {.search = Search::random, .executions = 30'000});
    exploreAll(protocol, cases(), {.search = Search::pct, .executions = 30'000});
}

// --- twins: of the orders, only those of the end; park_model_test has the sleep's

constexpr std::string_view visitOrders[] = {
    "carrier_core ~Visit fetch_sub release->relaxed",
    "carrier_core hasVisitors load acquire->relaxed",
};

TEST(CarrierEndModel, TheOrdersOfTheVisitAreNeeded) {
    for (const std::string_view order : visitOrders) expectKilledTogether(cases(), {order});
}
TEST(CarrierEndModel, AWakerThatDoesNotCountItselfInTouchesADeadCarrier) {
    expectKilled("no visit", cases<Defect::noVisit>());
}
TEST(CarrierEndModel, AWakerThatCountsItselfInLateTouchesADeadCarrier) {
    expectKilled("counts itself in after publishing", cases<Defect::countsInLate>());
}
TEST(CarrierEndModel, ACarrierThatDoesNotWaitIsTouchedAfterItsEnd) {
    expectKilled("does not wait for visitors", cases<Defect::doesNotWait>());
}

}  // namespace
}  // namespace weft::model
