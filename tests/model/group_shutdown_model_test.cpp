// The end of a group (docs/protocol.md section 7), as one scenario: threads that spawn, a parked fiber that is being
// woken, and the owner who asks the carriers to stop, waits for them and destroys them. Every spawn that was accepted
// runs, the parked fiber ends once, by its wake or by the shutdown, and nobody touches a carrier after its end. The
// shipped CarrierCore, run queue and ParkToken, driven as carrier.cpp, carrier_thread.cpp and suspension.cpp do.
#include <weft/scheduler/detail/carrier_core.hpp>
#include <weft/scheduler/detail/park_token.hpp>

#include "protocol_test.hpp"

namespace weft::model {
namespace {

using weft::detail::Claim;
using weft::detail::SleepKind;
using ParkToken = detail::BasicParkToken<Atomics>;
using Epoch = ParkToken::Epoch;

constexpr std::uint8_t woken = 1;
constexpr std::uint8_t shutdown = 2;

enum class Defect {
    none,
    noVisit,        // a waker does not count itself in
    noAbort,        // a stop leaves parked fibers alone
    parksBlindly,   // a fiber parks although its carrier has begun to stop
    abortsBlindly,  // the stop makes a parked fiber runnable without a claim
    forgetsFibers,  // the carrier ends with a fiber parked
    closesBlindly,  // ... or with an open in-tray
    stopsSilently,  // the stop wakes nobody
    destroysEarly,  // the owner does not wait for the carrier's thread
};

class Carrier;

struct Node {
    Link<Node> next;
    Plain<int> closure{0};  // written by the spawner
    int runs = 0;           // how often its carrier has given it a turn
    virtual void run(Carrier&) { ++runs; }

  protected:
    ~Node() = default;
};

// What a fiber waits for: its key lies here, under a lock, as long as it waits.
struct Resource {
    Mutex lock{"resource"};
    Plain<Epoch> waiter{0};
    Plain<bool> ready{false};
};

class Carrier {
  public:
    explicit Carrier(Defect defect) : defect_(defect) {}

    // --- any thread
    // Carrier::submit(): false when it is refused, and then the fiber is still the caller's.
    bool spawn(Node& fiber) {
        fiber.closure = 1;
        const Core::Visit visit(core_);
        if (!core_.submitNew(fiber)) return false;
        wakeIfParked();
        return true;
    }
    // Carrier::enqueue()
    void enqueue(Node& fiber) {
        if (defect_ == Defect::noVisit) return publish(fiber);
        const Core::Visit visit(core_);
        publish(fiber);
    }
    void requestStop() {
        core_.requestStop();
        if (defect_ != Defect::stopsSilently) wakeIfParked();
    }

    // --- its own thread: Carrier::threadMain()
    void run() {
        while (!finished()) {
            core_.queue().takeSubmitted();
            bool ran = false;
            while (Node* fiber = core_.queue().pop()) {
                assertThat(fiber->closure != 0, "what its spawner wrote");
                if (fiber->runs == 0) ++live_;
                fiber->run(*this);
                ran = true;
            }
            if (!ran) sleep();
        }
        await([this] { return !core_.hasVisitors(); });
        ended_.store(true, std::memory_order_release);
    }
    void end() { --live_; }

    // Suspension::park() and Carrier::afterSwitch(). True: the fiber is parked; else it goes on.
    bool park(Node& fiber, ParkToken& token, Epoch epoch) {
        if (core_.stopping() && defect_ != Defect::parksBlindly) (void)token.claim(epoch, shutdown);
        if (token.isClaimed()) return false;
        if (token.commit(epoch)) {
            parked_ = &fiber;
            parkedToken_ = &token;
        } else {
            core_.queue().push(fiber);
        }
        return true;
    }

    bool hasEnded() const { return ended_.load(std::memory_order_acquire); }  // thread::join()

  private:
    using Core = detail::BasicCarrierCore<Atomics, Node, 2>;

    bool finished() {
        if (!core_.stopRequested()) return false;
        if (core_.beginStop() && defect_ != Defect::noAbort) abortParked();
        if (live_ != 0 && defect_ != Defect::forgetsFibers) return false;
        return defect_ == Defect::closesBlindly ? core_.queue().empty() : core_.queue().closeIfEmpty();
    }
    // Carrier::abortParkedFibers()
    void abortParked() {
        if (parked_ == nullptr) return;
        const Epoch epoch = parkedToken_->parkedEpoch();
        if (epoch == 0) return;
        if (defect_ == Defect::abortsBlindly || parkedToken_->claim(epoch, shutdown) == Claim::enqueue) {
            core_.queue().push(*parked_);
        }
    }
    void publish(Node& fiber) {
        assertThat(core_.submit(fiber), "a fiber that is woken keeps its carrier from ending");
        wakeIfParked();
    }
    void wakeIfParked() {
        if (core_.wake() == SleepKind::futex) futexWake(core_.sleepWord());
    }
    void sleep() {
        if (core_.trySleep(SleepKind::futex, [] { return false; })) {
            while (core_.asleepIn(SleepKind::futex)) futexWait(core_.sleepWord(), 1);
        }
        (void)core_.leaveSleep();
    }

    const Defect defect_;
    Core core_;
    Atomic<bool> ended_{false};
    Node* parked_ = nullptr;
    ParkToken* parkedToken_ = nullptr;
    int live_ = 0;
};

// Runs to its end in one turn.
struct ShortFiber final : Node {
    void run(Carrier& carrier) override {
        assertThat(++runs == 1, "it runs once");
        carrier.end();
    }
};

// Waits for a resource, and ends.
struct WaitingFiber final : Node {
    explicit WaitingFiber(Resource& resource) : resource(resource) {}

    void run(Carrier& carrier) override {
        ++runs;
        if (runs == 1 && waits(carrier)) return;
        assertThat(!ended, "it ends once");
        ended = true;
        if (waited) {
            const std::uint8_t why = token.finish();
            assertThat(why == woken || why == shutdown, "somebody has ended the wait");
            std::lock_guard held(resource.lock);
            resource.waiter = 0;
        }
        carrier.end();
    }

    Resource& resource;
    ParkToken token;
    bool waited = false;
    bool ended = false;

  private:
    bool waits(Carrier& carrier) {
        Epoch epoch = 0;
        {
            std::lock_guard held(resource.lock);
            if (resource.ready) return false;
            epoch = token.prepare();
            resource.waiter = epoch;
        }
        waited = true;
        return carrier.park(*this, token, epoch);
    }
};

// Ends the wait of the fiber, or spares it one. Nothing but the visit keeps the carrier from ending meanwhile: the key
// has been withdrawn, the lock is free.
void release(Resource& resource, WaitingFiber& fiber, Carrier& home) {
    Epoch epoch = 0;
    {
        std::lock_guard held(resource.lock);
        resource.ready = true;
        epoch = resource.waiter;
        resource.waiter = 0;
    }
    if (epoch != 0 && fiber.token.claim(epoch, woken) == Claim::enqueue) home.enqueue(fiber);
}

// Runs on one carrier; spawns on another and wakes the fiber that waits there.
struct HelpingFiber final : Node {
    HelpingFiber(Carrier& other, ShortFiber& child, WaitingFiber& waiting)
        : other(other), child(child), waiting(waiting) {}

    void run(Carrier& carrier) override {
        assertThat(++runs == 1, "it runs once");
        accepted = other.spawn(child);
        release(waiting.resource, waiting, other);
        carrier.end();
    }

    Carrier& other;
    ShortFiber& child;
    WaitingFiber& waiting;
    bool accepted = false;
};

// One carrier with a fiber that waits; `wakes`: somebody wakes it, else only the shutdown can.
template <Defect defect>
Scenario oneCarrier(bool wakes, int spawns) {
    return [=](ModelRun& run) {
        struct State {
            Atomic<bool> spawnerLeft{false};
            Resource resource;
            WaitingFiber waiting{resource};
            std::array<ShortFiber, 2> spawned;
            int accepted = 0;
        };
        run.name({"spawnerLeft", "token", "park", "stopRequested", "turnRequested", "readyPoller", "visitors", "tray",
                  "ended"});
        auto& state = run.make<State>();
        auto& carrier = run.make<Carrier>(defect);
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
            await([&] { return defect == Defect::destroysEarly || carrier.hasEnded(); });
            // Whoever may still be refused is the owner's to wait for; whoever wakes is not.
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
template <Defect defect>
void twoCarriers(ModelRun& run) {
    struct State {
        Resource resource;
        WaitingFiber waiting{resource};
        ShortFiber child;
    };
    run.name({"token", "park1", "stop1", "turn1", "readyPoller1", "visitors1", "tray1", "ended1", "park2", "stop2",
              "turn2", "readyPoller2", "visitors2", "tray2", "ended2"});
    auto& state = run.make<State>();
    auto& first = run.make<Carrier>(defect);
    auto& second = run.make<Carrier>(defect);
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

template <Defect defect = Defect::none>
std::vector<Case> cases() {
    return {makeCase("nobody wakes it", oneCarrier<defect>(false, 1)), makeCase("woken", oneCarrier<defect>(true, 1)),
            makeCase("woken, two spawns", oneCarrier<defect>(true, 2)), makeCase("two carriers", twoCarriers<defect>)};
}

constexpr const char* protocol = "group shutdown";

TEST(GroupShutdownModel, NoFiberIsLostWithinThreePreemptions) {
    exploreAll(protocol, cases(), {.preemptions = 3, .executions = 250'000});
}
TEST(GroupShutdownModel, NoFiberIsLostInAnyInterleaving) {
    exploreAll(protocol, only("nobody wakes it", cases()), {.search = Search::full, .executions = 100'000});
}
TEST(GroupShutdownModel, NoFiberIsLostAtRandom) {
    exploreAll(protocol, cases(), {.search = Search::random, .executions = 50'000});
    exploreAll(protocol, cases(), {.search = Search::pct, .executions = 50'000});
}

// --- twins: of the orders, only those of the end; park_model_test has the sleep's, park_token_model_test the wait's

TEST(GroupShutdownModel, TheOrdersOfTheVisitAreNeeded) {
    for (const std::string_view order :
         {"carrier_core ~Visit fetch_sub release->relaxed", "carrier_core hasVisitors load acquire->relaxed"}) {
        expectKilledTogether(only("woken", cases()), {order});
    }
}

template <Defect defect>
void expectKilledIn(const char* name, const char* where) {
    expectKilled(name, only(where, cases<defect>()));
}

TEST(GroupShutdownModel, AWakerThatDoesNotCountItselfInTouchesADeadCarrier) {
    expectKilledIn<Defect::noVisit>("no visit", "woken");
}
TEST(GroupShutdownModel, AParkedFiberThatTheStopLeavesAloneNeverEnds) {
    expectKilledIn<Defect::noAbort>("no abort", "nobody wakes it");
    expectKilledIn<Defect::parksBlindly>("parks while stopping", "nobody wakes it");
}
TEST(GroupShutdownModel, AFiberThatIsAbortedWithoutAClaimIsQueuedTwice) {
    expectKilledIn<Defect::abortsBlindly>("aborts blindly", "woken");
}
TEST(GroupShutdownModel, ACarrierThatEndsBeforeItsFibersIsWokenAfterItsEnd) {
    expectKilledIn<Defect::forgetsFibers>("forgets its fibers", "woken");
}
TEST(GroupShutdownModel, ACarrierThatEndsWithAnOpenTrayLosesASpawn) {
    expectKilledIn<Defect::closesBlindly>("leaves the tray open", "woken");
}
TEST(GroupShutdownModel, AStopThatWakesNobodyIsSleptThrough) {
    expectKilledIn<Defect::stopsSilently>("stops silently", "nobody wakes it");
}
TEST(GroupShutdownModel, AnOwnerWhoDoesNotWaitDestroysARunningCarrier) {
    expectKilledIn<Defect::destroysEarly>("destroys early", "nobody wakes it");
}

}  // namespace
}  // namespace weft::model
