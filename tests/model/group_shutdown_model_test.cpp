// The end of a group (docs/explanation/protocol.md sections 7 and 13), as one scenario: threads that spawn, a parked
// fiber that is being woken, fibers that run away from home, and the owner, who asks the carriers to stop, waits for
// them and destroys them. Every accepted spawn runs, a parked fiber ends once, by its wake or by the shutdown, every
// home outlives its fibers, and no thread touches a carrier after its end. The carriers have the shipped parts
// (model_carrier.hpp).
#include "model_carrier.hpp"

namespace weft::model {
namespace {

// The gates of two carriers would exceed the atomics that the explorer supports; these carriers host no poller.
struct NoGate {
    bool closeIfFree() { return true; }
    void countWake() {}
};
template <class Parts>
struct Ungated : Parts {
    using Gate = NoGate;
};

// Runs on one carrier; spawns on another and wakes the fiber that waits there.
struct HelpingFiber final : ModelFiber {
    HelpingFiber(CarrierBase& other, ShortFiber& child, WaitingFiber& waiting)
        : other(other), child(child), waiting(waiting) {}

    void run(CarrierBase& carrier) override {
        assertThat(++runs == 1, "it runs once");
        accepted = other.spawn(child);
        release(waiting.resource, waiting, other);
        carrier.end(*this);
    }

    CarrierBase& other;
    ShortFiber& child;
    WaitingFiber& waiting;
    int runs = 0;
    bool accepted = false;
};

// One carrier with a fiber that waits. `wakes`: another thread wakes it; otherwise only the shutdown can. `early`: a
// defect, the owner does not wait for the end of the carrier.
template <class Carrier, bool early = false>
Scenario oneCarrier(bool wakes, int spawns) {
    return [=](ModelRun& run) {
        struct State {
            Atomic<bool> spawnerLeft{false};
            Resource resource;
            WaitingFiber waiting{resource};
            std::array<ShortFiber, 2> spawned;
            int accepted = 0;
        };
        run.name({"spawnerLeft", "token", WEFT_MODEL_CARRIER_ATOMICS});
        auto& state = run.make<State>();
        auto& carrier = run.make<Carrier>();
        (void)carrier.spawn(state.waiting);
        run.thread("carrier", [&carrier] { carrier.run(); });
        if (wakes) {
            run.thread("waker", [&state, &carrier] { release(state.resource, state.waiting, carrier); });
        }
        run.thread("spawner", [&state, &carrier, spawns] {
            for (int i = 0; i < spawns; ++i) {
                state.accepted += carrier.spawn(state.spawned[static_cast<std::size_t>(i)]);
            }
            state.spawnerLeft.store(true, std::memory_order_release);
        });
        run.thread("owner", [&state, &carrier] {
            carrier.requestStop();
            await([&] { return early || carrier.hasEnded(); });
            // The owner must wait for a thread that may still be refused, but not for one that wakes.
            await([&] { return state.spawnerLeft.load(std::memory_order_acquire); });
            destroy(carrier);
        });
        run.finally([&state] {
            assertThat(state.spawned[0].runs + state.spawned[1].runs == state.accepted, "what was accepted has run");
            assertThat(state.waiting.ended, "the fiber has ended");
        });
    };
}

// Two carriers of a group: a fiber of one spawns on the other and wakes a fiber there.
template <class Carrier>
void twoCarriers(ModelRun& run) {
    struct State {
        Resource resource;
        WaitingFiber waiting{resource};
        ShortFiber child;
    };
    run.name({"token"});
    auto& state = run.make<State>();
    auto& first = run.make<Carrier>();
    auto& second = run.make<Carrier>();
    first.thief = &second;
    auto& helping = run.make<HelpingFiber>(first, state.child, state.waiting);
    (void)first.spawn(state.waiting);
    (void)second.spawn(helping);
    run.thread("carrier1", [&first] { first.run(); });
    run.thread("carrier2", [&second] { second.run(); });
    run.thread("owner", [&first, &second] {
        for (Carrier* carrier : {&first, &second}) carrier->requestStop();
        await([&] { return first.hasEnded() && second.hasEnded(); });
        destroy(first);
        destroy(second);
    });
    run.finally([&state, &helping] {
        assertThat(state.waiting.ended && helping.runs == 1, "both fibers have ended");
        assertThat(state.child.runs == helping.accepted, "the child has run if it was accepted");
    });
}

// A fiber is submitted to one carrier and begins, and perhaps ends, on another. Its home is stopped first and must wait
// for it, whether it parks away from home or ends there.
template <class Carrier, class Fiber>
void awayFromHome(ModelRun& run) {
    struct State {
        Atomic<bool> spawned{false};
        Resource resource;
        Fiber fiber;
        bool accepted = false;
    };
    run.name({"spawned", "token"});
    auto& state = run.make<State>();
    auto& home = run.make<Carrier>();
    auto& thief = run.make<Carrier>();
    run.thread("home", [&home] { home.run(); });
    run.thread("thief", [&thief] { thief.run(); });
    run.thread("spawner", [&] {
        state.accepted = home.spawnStolen(state.fiber, thief);
        state.spawned.store(true, std::memory_order_release);
    });
    run.thread("owner", [&] {
        home.requestStop();
        await([&] { return home.hasEnded() && state.spawned.load(std::memory_order_acquire); });
        assertThat(!state.accepted || state.fiber.hasEnded(), "a home outlives its fibers");
        thief.requestStop();
        await([&] { return thief.hasEnded(); });  // a group joins all its carriers before it destroys one
        destroy(home);
        destroy(thief);
    });
}

struct EndsAway final : ModelFiber {
    void run(CarrierBase& where) override {
        assertThat(++runs == 1, "it runs once");
        where.end(*this);
    }
    bool hasEnded() const { return runs == 1 && hasLeft; }
    int runs = 0;
};

// Begins on the thief and goes home to park. Only the stop of its home ends that wait; then it runs and ends there.
struct GoesHomeAndParks final : ModelFiber {
    GoesHomeAndParks() { ModelFiber::token = &token; }
    void run(CarrierBase& where) override {
        if (!parks && where.goHome(*this)) return;
        if (!std::exchange(parks, true) && where.park(*this, token.prepare())) return;
        (void)token.finish();
        ended = true;
        where.end(*this);
    }
    bool hasEnded() const { return ended; }
    ParkToken token;
    bool parks = false;
    bool ended = false;
};

template <class Parts = ShippedParts, Defect defect = Defect::none>
std::vector<Case> cases() {
    using Alone = ModelCarrier<Parts, defect>;
    using OneOfTwo = ModelCarrier<Ungated<Parts>, defect>;
    return {makeCase("not woken", oneCarrier<Alone>(false, 1)),
            makeCase("woken", oneCarrier<Alone>(true, 1)),
            makeCase("woken, two spawns", oneCarrier<Alone>(true, 2)),
            makeCase("two carriers", twoCarriers<OneOfTwo>),
            makeCase("ends away", awayFromHome<OneOfTwo, EndsAway>),
            makeCase("goes home and parks", awayFromHome<OneOfTwo, GoesHomeAndParks>)};
}

constexpr const char* protocol = "group shutdown";

TEST(GroupShutdownModel, NoFiberIsLostWithUpToThreePreemptions) {
    exploreAll(protocol, cases(), {.preemptions = 3, .executions = 60'000});
}
TEST(GroupShutdownModel, NoFiberIsLostAtRandom) {
    exploreAll(protocol, cases(), {.search = Search::random, .executions = 20'000});
    exploreAll(protocol, cases(), {.search = Search::pct, .executions = 20'000});
}

// --- twins. Memory orders: only those of the end of a carrier. park_model_test weakens those of the sleep, and
// park_token_model_test those of the wait.

TEST(GroupShutdownModel, TheOrdersOfTheSubmitGuardAreNeeded) {
    for (const std::string_view order :
         {"carrier_core ~SubmitGuard fetch_sub release->relaxed", "carrier_core hasSubmitters load acquire->relaxed"}) {
        expectKilledTogether(only("woken", cases()), {order});
    }
}

template <Defect defect>
void expectKilledIn(const char* name, const char* where) {
    expectKilled(name, only(where, cases<ShippedParts, defect>()));
}
// Each shadows functions of a shipped part: the live list or the core.
struct ForgetsFibers : ShippedParts::Live {
    bool empty() const { return true; }
    bool closeIfEmpty() { return true; }
};
struct IgnoresArrivals : ShippedParts::Live {
    template <class Release>
    void settle(Release) {}
};
// The home is not notified of a departure.
struct DepartsInSilence : ShippedParts::Core {
    template <class Live>
    void endedRemotely(ModelFiber& fiber, Live& live) {
        live.depart(fiber);
    }
};
template <class L>
struct WithLive : ShippedParts {
    using Live = L;
};
template <class C>
struct WithCore : ShippedParts {
    using Core = C;
};

TEST(GroupShutdownModel, AWakerWithoutASubmitGuardTouchesADeadCarrier) {
    expectKilledIn<Defect::noSubmitGuard>("no submit guard", "woken");
}
TEST(GroupShutdownModel, AParkedFiberThatTheStopLeavesAloneNeverEnds) {
    expectKilledIn<Defect::noAbort>("no abort", "not woken");
    expectKilledIn<Defect::parksBlindly>("parks while stopping", "not woken");
}
TEST(GroupShutdownModel, AFiberThatIsAbortedWithoutAClaimIsQueuedTwice) {
    expectKilledIn<Defect::abortsBlindly>("aborts blindly", "woken");
}
TEST(GroupShutdownModel, ACarrierThatEndsBeforeItsFibersIsWokenAfterItsEnd) {
    expectKilled("forgets its fibers", only("woken", cases<WithLive<ForgetsFibers>>()));
}
TEST(GroupShutdownModel, AHomeThatIgnoresItsArrivalsForgetsFibersThatAreAway) {
    expectKilled("ignores arrivals", only("goes home and parks", cases<WithLive<IgnoresArrivals>>()));
}
TEST(GroupShutdownModel, AGuestThatParksWhereItRunsIsNeverEnded) {
    expectKilledIn<Defect::guestParks>("guest parks where it runs", "goes home and parks");
}
TEST(GroupShutdownModel, AFiberThatEndsElsewhereWithoutNotifyingItsHomeKeepsItForEver) {
    expectKilled("departs in silence", only("ends away", cases<WithCore<DepartsInSilence>>()));
}
TEST(GroupShutdownModel, AStopThatWakesNobodyIsSleptThrough) {
    expectKilledIn<Defect::stopsSilently>("stops silently", "not woken");
}
TEST(GroupShutdownModel, AnOwnerWhoDoesNotWaitDestroysARunningCarrier) {
    expectKilled("destroys early", {makeCase("destroys early", oneCarrier<ModelCarrier<>, true>(false, 1))});
}

TEST(GroupShutdownModel, AFiberThatCommitsItsOwnWaitRacesWithAThiefThatResumesIt) {
    expectKilledIn<Defect::resumesElsewhere>("resumes elsewhere", "two carriers");
}
TEST(GroupShutdownModel, AGuestThatSavesItsContextAfterItHasGoneHomeRacesWithItsNextSlice) {
    expectKilledIn<Defect::savesLate>("saves its context late", "goes home and parks");
}

}  // namespace
}  // namespace weft::model
