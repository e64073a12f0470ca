// The end of a carrier (docs/explanation/protocol.md sections 7 and 13), decided by the shipped CarrierTurn. The waker
// of its last fiber may still be returning when the carrier has run that fiber and ended and its owner destroys it.
// Also: spawns and pollers that race with the stop, turn requests, and fibers that run and end on another carrier.
#include "model_carrier.hpp"

namespace weft::model {
namespace {

// Parks until its waker comes; a stop does not end that wait.
struct AwaitedFiber final : ModelFiber {
    void run(CarrierBase& where) override {
        if (++runs == 1) {
            const Epoch wait = token.prepare();
            epoch.store(wait, std::memory_order_release);
            if (token.commit(wait)) return;
        }
        (void)token.finish();
        where.end(*this);
    }
    // Called by the waker. After this the carrier may end.
    void wake(CarrierBase& home) {
        await([this] { return epoch.load(std::memory_order_acquire) != 0; });
        if (token.claim(epoch.load(std::memory_order_relaxed), wokenBranch) == Claim::enqueue) home.enqueue(*this);
    }

    ParkToken token;
    Atomic<Epoch> epoch{0};
    int runs = 0;
};

// One or two fibers that wait for their wakers; the stop does not end their waits.
template <class Carrier>
Scenario wakers(int count) {
    return [=](ModelRun& run) {
        run.name({"token1", "epoch1", "token2", "epoch2", WEFT_MODEL_CARRIER_ATOMICS});
        auto& fibers = run.make<std::array<AwaitedFiber, 2>>();
        auto& carrier = run.make<Carrier>();
        static constexpr const char* names[] = {"waker1", "waker2"};
        for (unsigned i = 0; i < static_cast<unsigned>(count); ++i) {
            assertThat(carrier.spawn(fibers[i]), "the carrier is open");
            run.thread(names[i], [&carrier, &fiber = fibers[i]] { fiber.wake(carrier); });
        }
        carrier.requestStop();
        run.thread("carrier", [&carrier] { carrier.run(); });
        run.thread("owner", [&carrier] {
            await([&carrier] { return carrier.hasEnded(); });
            destroy(carrier);
        });
        run.finally([&fibers, count] { assertThat(fibers[0].runs + fibers[1].runs >= count, "each fiber has run"); });
    };
}

// Spawns race with the stop: each runs or is refused.
template <class Carrier>
void spawns(ModelRun& run) {
    struct State {
        Carrier carrier;
        std::array<ShortFiber, 2> fibers;
        int accepted = 0;
    };
    run.name({WEFT_MODEL_CARRIER_ATOMICS});
    auto& state = run.make<State>();
    run.thread("spawner", [&state] {
        for (ShortFiber& fiber : state.fibers) state.accepted += state.carrier.spawn(fiber);
    });
    run.thread("owner", [&state] { state.carrier.requestStop(); });
    run.thread("carrier", [&state] { state.carrier.run(); });
    run.finally([&state] {
        assertThat(state.fibers[0].runs + state.fibers[1].runs == state.accepted, "what was accepted has run");
        assertThat(state.carrier.enlisted() == static_cast<unsigned>(state.accepted), "and was counted");
    });
}

// A submitted fiber that has not run is on the list: a carrier that stops knows of it before its first turn.
template <class Carrier>
void submittedBeforeTheStop(ModelRun& run) {
    struct State {
        Carrier carrier;
        ShortFiber fiber;
    };
    run.name({WEFT_MODEL_CARRIER_ATOMICS});
    auto& state = run.make<State>();
    run.thread("owner", [&state] {
        assertThat(state.carrier.spawn(state.fiber), "nothing has stopped the carrier");
        assertThat(state.carrier.enlisted() == 1, "a submitted fiber is counted at once");
        state.carrier.requestStop();
    });
    run.thread("carrier", [&state] { state.carrier.run(); });
    run.finally([&state] { assertThat(state.fiber.runs == 1, "it has run"); });
}

// Turn requests while no thread stops the carrier: it handles each and goes back to sleep. The stop follows a sleep.
template <class Carrier>
void turnRequests(ModelRun& run) {
    run.name({"slept", WEFT_MODEL_CARRIER_ATOMICS});
    auto& slept = run.make<Atomic<bool>>(false);
    auto& carrier = run.make<Carrier>();
    run.thread("host", [&carrier] { (void)carrier.registerPollerInVain(); });
    run.thread("carrier", [&carrier, &slept] {
        detail::CarrierTurn<Carrier> turns(carrier);
        while (carrier.sleeps() == 0 && !turns.finished()) turns.turn();
        slept.store(true, std::memory_order_relaxed);
    });
    run.thread("stopper", [&carrier, &slept] {
        // The request that ends the sleep: a carrier that never sleeps never needs it.
        await([&carrier, &slept] { return carrier.isAsleep() || slept.load(std::memory_order_relaxed); });
        carrier.requestStop();
    });
}

// A poller that cannot be started while the carrier stops: the slot taken meanwhile does not keep the carrier.
template <class Carrier>
void refusedPoller(ModelRun& run) {
    run.name({WEFT_MODEL_CARRIER_ATOMICS});
    auto& carrier = run.make<Carrier>();
    run.thread("host", [&carrier] { (void)carrier.registerPollerInVain(); });
    run.thread("owner", [&carrier] { carrier.requestStop(); });
    run.thread("carrier", [&carrier] { carrier.run(); });
}

// A poller that another thread registers and that ends in its first slice.
template <class Carrier>
void poller(ModelRun& run) {
    struct State {
        Carrier carrier;
        ShortFiber poller;
        bool accepted = false;
    };
    run.name({WEFT_MODEL_CARRIER_ATOMICS});
    auto& state = run.make<State>();
    run.thread("host", [&state] { state.accepted = state.carrier.registerPoller(state.poller); });
    run.thread("owner", [&state] { state.carrier.requestStop(); });
    run.thread("carrier", [&state] { state.carrier.run(); });
    run.finally([&state] { assertThat(state.poller.runs == state.accepted, "a poller that was accepted has run"); });
}

// Pollers each of which, at its end, registers the next one, as a listener of its termination may.
template <class Carrier>
void pollersInARow(ModelRun& run) {
    struct EagerPoller final : ModelFiber {
        void run(CarrierBase& where) override {
            where.end(*this);
            if (next == nullptr || !carrier->registerPoller(*next)) return;
            assertThat(!carrier->stops(), "a carrier that stops takes no poller");
        }
        Carrier* carrier = nullptr;
        EagerPoller* next = nullptr;
    };
    struct State {
        Carrier carrier;
        std::array<EagerPoller, 3> pollers;
    };
    run.name({WEFT_MODEL_CARRIER_ATOMICS});
    auto& state = run.make<State>();
    for (std::size_t i = 0; i < state.pollers.size(); ++i) {
        state.pollers[i].carrier = &state.carrier;
        state.pollers[i].next = i + 1 < state.pollers.size() ? &state.pollers[i + 1] : nullptr;
    }
    run.thread("host", [&state] { (void)state.carrier.registerPoller(state.pollers[0]); });
    run.thread("owner", [&state] { state.carrier.requestStop(); });
    run.thread("carrier", [&state] { state.carrier.run(); });
}

// A requested report is made before the end, whenever it was requested.
template <class Carrier>
void report(ModelRun& run) {
    struct State {
        Carrier carrier;
        AwaitedFiber fiber;
    };
    run.name({WEFT_MODEL_CARRIER_ATOMICS, "token", "epoch"});
    auto& state = run.make<State>();
    (void)state.carrier.spawn(state.fiber);
    run.thread("owner", [&state] {
        state.carrier.requestStop();
        state.carrier.requestReport();
        state.fiber.wake(state.carrier);  // the carrier may end now, and has seen the request
    });
    run.thread("carrier", [&state] { state.carrier.run(); });
    run.finally([&state] { assertThat(state.carrier.reports() == 1, "the report was given"); });
}

// Defects of the shipped parts; each shadows one function.
struct Broken {
    struct KeepsTheTurn : ShippedParts::Core {
        // Only a carrier that stops takes it.
        bool takeTurnRequest() { return stopRequested() && ShippedParts::Core::takeTurnRequest(); }
    };
    // The list is updated once a turn, before the poller is taken.
    static inline bool tookPoller = false;
    struct TakesThePollerLate : ShippedParts::Core {
        ModelFiber* takeReadyPoller() {
            ModelFiber* poller = ShippedParts::Core::takeReadyPoller();
            tookPoller = poller != nullptr;
            return poller;
        }
    };
    struct SettlesOnce : ShippedParts::Live {
        template <class Release>
        void settle(Release release) {
            if (!std::exchange(tookPoller, false)) ShippedParts::Live::settle(release);
        }
    };
    struct PollersUnlisted : ShippedParts {
        using Core = TakesThePollerLate;
        using Live = SettlesOnce;
    };
    struct NoSubmitters : ShippedParts::Core {
        bool hasSubmitters() const { return false; }
    };
    struct ForgetsFibers : ShippedParts::Live {
        bool empty() const { return true; }
        bool closeIfEmpty() { return true; }
    };
    struct StaysOpen : ShippedParts::Live {
        bool closeIfEmpty() { return empty(); }
    };
};

template <class C>
struct CoreParts : ShippedParts {
    using Core = C;
};
template <class L>
struct LiveParts : ShippedParts {
    using Live = L;
};

template <class Carrier = ModelCarrier<>>
std::vector<Case> cases() {
    return {makeCase("one waker", wakers<Carrier>(1)),
            makeCase("two wakers", wakers<Carrier>(2)),
            makeCase("spawns", spawns<Carrier>),
            makeCase("submitted before the stop", submittedBeforeTheStop<Carrier>),
            makeCase("turn requests", turnRequests<Carrier>),
            makeCase("refused poller", refusedPoller<Carrier>),
            makeCase("poller", poller<Carrier>),
            makeCase("pollers in a row", pollersInARow<Carrier>),
            makeCase("report", report<Carrier>)};
}

constexpr const char* protocol = "carrier end";

TEST(CarrierEndModel, NoThreadTouchesADeadCarrierInTheSearchOfThreePreemptions) {
    exploreAll(protocol, cases(), {.preemptions = 3, .executions = 60'000});
}
TEST(CarrierEndModel, NoThreadTouchesADeadCarrierAtRandom) {
    exploreAll(protocol, cases(), {.search = Search::random, .executions = 20'000});
    exploreAll(protocol, cases(), {.search = Search::pct, .executions = 20'000});
}

// --- twins: of the orders, only those of the end; park_model_test has those of the sleep

constexpr std::string_view guardOrders[] = {
    "carrier_core ~SubmitGuard fetch_sub release->relaxed",
    "carrier_core hasSubmitters load acquire->relaxed",
};

TEST(CarrierEndModel, TheOrdersOfTheSubmitGuardAreNeeded) {
    for (const std::string_view order : guardOrders) expectKilledTogether(only("one waker", cases()), {order});
}

template <class Carrier>
void expectKilledIn(const char* name, const char* where) {
    expectKilled(name, only(where, cases<Carrier>()));
}
template <Defect defect>
using Defective = ModelCarrier<ShippedParts, defect>;

TEST(CarrierEndModel, AWakerWithoutASubmitGuardTouchesADeadCarrier) {
    expectKilledIn<Defective<Defect::noSubmitGuard>>("no submit guard", "one waker");
}
TEST(CarrierEndModel, AWakerThatTakesItsSubmitGuardLateTouchesADeadCarrier) {
    expectKilledIn<Defective<Defect::countsInLate>>("counts itself in after publishing", "one waker");
}
TEST(CarrierEndModel, ACarrierThatDoesNotWaitIsTouchedAfterItsEnd) {
    expectKilledIn<ModelCarrier<CoreParts<Broken::NoSubmitters>>>("does not wait for submitters", "one waker");
}
TEST(CarrierEndModel, ATurnRequestThatIsLeftKeepsTheCarrierAwake) {
    expectKilledIn<ModelCarrier<CoreParts<Broken::KeepsTheTurn>>>("takes no turn request before the stop",
                                                                  "turn requests");
}
TEST(CarrierEndModel, ACarrierThatForgetsWhatWasSubmittedEndsTooEarly) {
    expectKilledIn<ModelCarrier<LiveParts<Broken::ForgetsFibers>>>("forgets its fibers", "one waker");
}
TEST(CarrierEndModel, ACarrierThatEndsWithAnOpenListLosesASpawn) {
    expectKilledIn<ModelCarrier<LiveParts<Broken::StaysOpen>>>("leaves the list open", "spawns");
}
TEST(CarrierEndModel, ASpawnThatIsListedLateOutlivesItsCarrier) {
    expectKilledIn<Defective<Defect::enlistsLate>>("enlists late", "spawns");
}
TEST(CarrierEndModel, FibersTakenAfterTheListWasSettledRunUnlisted) {
    expectKilledIn<Defective<Defect::takesLate>>("takes what was submitted late", "spawns");
}
TEST(CarrierEndModel, APollerThatIsTakenAfterTheListWasSettledRunsUnlisted) {
    expectKilledIn<ModelCarrier<Broken::PollersUnlisted>>("takes the poller late", "poller");
}
TEST(CarrierEndModel, ACarrierThatStopsWouldHostOnePollerAfterTheOther) {
    expectKilledIn<Defective<Defect::hostsBlindly>>("hosts blindly", "pollers in a row");
}
TEST(CarrierEndModel, ARequestThatIsTakenAndNotAnsweredIsLost) {
    expectKilledIn<Defective<Defect::answersNothing>>("answers nothing", "report");
}

}  // namespace
}  // namespace weft::model
