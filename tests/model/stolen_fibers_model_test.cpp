// The end of carriers whose fibers have been stolen: every accepted fiber runs and ends once, its home outlives it
// wherever it ends, no carrier sleeps for ever, and no thread touches a carrier after all have been joined.
#include "stolen_fibers_scenarios.hpp"

namespace weft::model {
namespace {

using namespace stolen;

// Which carriers the owner asks to stop first; it waits for these before it asks the others. A group asks all together.
enum class Stops { homeFirst, thievesFirst, together };

template <class Parts, Defect defect>
struct Scenarios {
    using CarrierType = Carrier<Parts, defect>;

    struct State {
        State(unsigned members, const StealRules& rules) : group(members, rules) {}
        typename CarrierType::GroupType group;
        std::array<Fiber, 3> fibers;
        Atomic<bool> spawnerLeft{true};
        CarrierType& operator[](unsigned member) { return *group.members[member]; }
    };

    // The fibers are submitted from outside, while the carriers run and are asked to stop.
    static Scenario submitted(unsigned members, unsigned fibers, Plan plan, Stops stops) {
        return [=](ModelRun& run) {
            State& state = make(run, members, atOnce);
            state.spawnerLeft.store(false, std::memory_order_relaxed);
            for (Fiber& fiber : state.fibers) fiber.plan = plan;
            run.thread("spawner", [&state, fibers] {
                for (unsigned i = 0; i < fibers; ++i) state[0].spawn(state.fibers[i]);
                state.spawnerLeft.store(true, std::memory_order_release);
            });
            start(run, state, members, stops);
        };
    }
    // They are in the home's in-tray before it runs.
    static Scenario waiting(unsigned members, unsigned fibers, Plan plan, Stops stops) {
        return [=](ModelRun& run) {
            State& state = make(run, members, atOnce);
            for (unsigned i = 0; i < fibers; ++i) {
                state.fibers[i].plan = plan;
                state[0].spawn(state.fibers[i]);
            }
            start(run, state, members, stops);
        };
    }
    // A stolen fiber spawns another one on its home, which may have begun to stop.
    static Scenario aGuestSpawns(Stops stops) {
        return [=](ModelRun& run) {
            State& state = make(run, 2, atOnce);
            state.fibers[0].child = &state.fibers[1];
            state[0].spawn(state.fibers[0]);
            start(run, state, 2, stops);
        };
    }
    // The carrier that is asked to stop has a stolen fiber away, and watches one that is not yet worth stealing.
    static void theSentinelStops(ModelRun& run) {
        State& state = make(run, 2, later);
        state[0].spawn(state.fibers[0]);
        (void)state[1].stealFromMember(0);
        start(run, state, 2, Stops::homeFirst, [&state] { state[1].spawnHere(state.fibers[1]); });
    }

  private:
    static constexpr StealRules atOnce{.depth = 1, .age = Duration::zero()};
    static constexpr StealRules later{.depth = 8, .age = std::chrono::microseconds(100)};

    static State& make(ModelRun& run, unsigned members, const StealRules& rules) {
        State& state = run.make<State>(members, rules);
        for (unsigned i = 0; i < members; ++i) run.make<CarrierType>(state.group, i);
        run.name({"idle",  "searching", "sentinel", "spawnerLeft",  //
                  "park0", "stop0",     "turn0",    "poller0",     "submitters0", "tray0",     "head0",  "backlog0",
                  "tail0", "ring0",     "home0",    "arrivals0",   "departures0", "enlisted0", "ended0",  //
                  "park1", "stop1",     "turn1",    "poller1",     "submitters1", "tray1",     "head1",  "backlog1",
                  "tail1", "ring1",     "home1",    "arrivals1",   "departures1", "enlisted1", "ended1",  //
                  "park2", "stop2",     "turn2",    "poller2",     "submitters2", "tray2",     "head2",  "backlog2",
                  "tail2", "ring2",     "home2",    "arrivals2",   "departures2", "enlisted2", "ended2"});
        run.finally([&state] {
            for (const Fiber& fiber : state.fibers) {
                assertThat(fiber.ended == fiber.accepted, "a fiber that was accepted has ended");
                assertThat(fiber.left == fiber.ended, "and its home has let go of it");
            }
        });
        return state;
    }
    static void start(
        ModelRun& run, State& state, unsigned members, Stops stops, std::function<void()> thiefBegins = [] {}) {
        run.thread("home", [&state] { state[0].run(); });
        run.thread("thief", [&state, thiefBegins] {
            thiefBegins();
            state[1].run();
        });
        if (members == 3) run.thread("thief2", [&state] { state[2].run(); });
        run.thread("owner", [&state, members, stops] { end(state, members, stops); });
    }
    static void end(State& state, unsigned members, Stops stops) {
        const auto stop = [&](unsigned first, unsigned last) {
            for (unsigned i = first; i < last; ++i) state[i].requestStop();
        };
        const auto join = [&](unsigned first, unsigned last) {
            for (unsigned i = first; i < last; ++i) await([&] { return state[i].hasEnded(); });
        };
        if (stops == Stops::homeFirst) {
            stop(0, 1);
            join(0, 1);
            stop(1, members);
        } else if (stops == Stops::thievesFirst) {
            stop(1, members);
            join(1, members);
            stop(0, 1);
        } else {
            stop(0, members);
        }
        join(0, members);
        await([&] { return state.spawnerLeft.load(std::memory_order_acquire); });
        for (unsigned i = 0; i < members; ++i) destroy(state[i]);  // a group joins all before it destroys one
    }
};

template <class Parts = ShippedParts, Defect defect = Defect::none>
std::vector<Case> cases() {
    using Built = Scenarios<Parts, defect>;
    return {makeCase("ends away", Built::submitted(2, 1, Plan::ends, Stops::homeFirst)),
            makeCase("goes home", Built::submitted(2, 1, Plan::goesHome, Stops::homeFirst)),
            makeCase("yields", Built::submitted(2, 1, Plan::yields, Stops::together)),
            makeCase("all stop", Built::submitted(2, 2, Plan::ends, Stops::together)),
            makeCase("the thief stops", Built::submitted(2, 2, Plan::goesHome, Stops::thievesFirst)),
            makeCase("handed back", Built::waiting(2, 3, Plan::ends, Stops::together)),
            makeCase("a guest spawns", Built::aGuestSpawns(Stops::homeFirst)),
            makeCase("the sentinel stops", Built::theSentinelStops),
            makeCase("two thieves", Built::waiting(3, 3, Plan::ends, Stops::together)),
            makeCase("a victimCarrier thief stops", Built::waiting(3, 3, Plan::goesHome, Stops::thievesFirst))};
}

constexpr const char* protocol = "stolen fibers";

TEST(StolenFibersModel, EachEndsOnceBeforeItsHomeInTheSearchOfTwoPreemptions) {
    exploreAll(protocol, cases(), {.preemptions = 2, .executions = 40'000});
}
TEST(StolenFibersModel, EachEndsOnceBeforeItsHomeAtRandom) {
    exploreAll(protocol, cases(), {.search = Search::random, .executions = 15'000});
    exploreAll(protocol, cases(), {.search = Search::pct, .executions = 15'000});
}

// --- twins

template <Defect defect>
void expectKilledIn(const char* name, const char* where) {
    expectKilled(name, only(where, cases<ShippedParts, defect>()));
}

// The end checks only its queue.
struct ForgetsFibers : ShippedParts::Live {
    bool empty() const { return true; }
    bool closeIfEmpty() { return true; }
};
struct WithoutList : ShippedParts {
    using Live = ForgetsFibers;
};
// A carrier that stops sleeps like any other: it checks its queue, and not what keeps it from its end.
struct HidesTheStop : ShippedParts::Core {
    using ShippedParts::Core::Core;
    bool stopping() const { return false; }
};
struct SleepsOverItsEnd : ShippedParts {
    using Core = HidesTheStop;
};

TEST(StolenFibersModel, AHomeThatChecksOnlyItsQueueEndsBeforeItsStolenFibers) {
    expectKilled("looks at its queue only", only("ends away", cases<WithoutList>()));
    expectKilled("looks at its queue only", only("goes home", cases<WithoutList>()));
}
TEST(StolenFibersModel, AFiberThatIsEnlistedLateIsStolenFromAHomeThatEnds) {
    expectKilledIn<Defect::enlistsLate>("a stealable fiber is enlisted after it was submitted", "ends away");
}
TEST(StolenFibersModel, AFiberThatEndsElsewhereWithoutATurnRequestKeepsItsHome) {
    expectKilledIn<Defect::departsInSilence>("an end elsewhere without a request for a turn", "ends away");
}
TEST(StolenFibersModel, AGuestTouchedAfterItHasLeftRacesWithItsHome) {
    expectKilledIn<Defect::touchesTheEnded>("a guest is touched after its departure", "ends away");
    expectKilledIn<Defect::leavesLate>("a guest is touched after it has gone home", "goes home");
}
TEST(StolenFibersModel, AFiberThatMakesItselfRunnableBeforeItsContextIsSavedRacesWithAThief) {
    expectKilledIn<Defect::publishesEarly>("runnable before its context is saved", "yields");
}
TEST(StolenFibersModel, FibersHandedBackWithoutAWakeAreSleptThrough) {
    expectKilledIn<Defect::handsBackQuietly>("handed back without a wake", "handed back");
}
TEST(StolenFibersModel, FibersStolenByACarrierThatHasClosedItsQueueAreLost) {
    expectKilledIn<Defect::stealsAtItsEnd>("steals at its end", "the thief stops");
}
TEST(StolenFibersModel, ACarrierThatHidesItsStopSleepsThroughItsEndWhenAThiefTakesItsLastFiber) {
    expectKilled("sleeps over its end", only("all stop", cases<SleepsOverItsEnd>()));
    expectKilled("sleeps over its end", only("two thieves", cases<SleepsOverItsEnd>()));
}
TEST(StolenFibersModel, FibersThatAThiefHandsBackDuringATakeRunUnlisted) {
    expectKilledIn<Defect::movesQuietly>("no look at the arrivals after the backlog", "all stop");
}
TEST(StolenFibersModel, ASentinelThatKeepsWatchingWhileItStopsNeverSleeps) {
    expectKilledIn<Defect::watchesToTheEnd>("watches to the end", "the sentinel stops");
}

}  // namespace
}  // namespace weft::model
