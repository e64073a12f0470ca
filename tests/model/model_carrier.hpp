// ModelCarrier: a carrier for the explorer. Its parts are the shipped ones: CarrierCore, LiveList, PollerGate, and
// CarrierTurn, which takes the turns and decides about the end. The functions that other threads call do what
// carrier.cpp, carrier_run.cpp and carrier_switch.cpp do. A twin replaces one part by a derived type with one defect.
#pragma once

#include <weft/scheduler/detail/carrier_core.hpp>
#include <weft/scheduler/detail/carrier_turn.hpp>
#include <weft/scheduler/detail/live_list.hpp>
#include <weft/scheduler/detail/park_token.hpp>
#include <weft/scheduler/detail/poller_gate.hpp>

#include "protocol_test.hpp"
#include "simple_host.hpp"

namespace weft::model {

using weft::detail::Claim;
using weft::detail::SleepEnd;
using weft::detail::SleepKind;
using ParkToken = detail::BasicParkToken<Atomics>;
using Epoch = ParkToken::Epoch;

class CarrierBase;

// A fiber; the test defines what it does in each of its slices.
struct ModelFiber {
    virtual void run(CarrierBase& where) = 0;

    Link<ModelFiber> next, nextLive, previousLive;
    Plain<int> closure{0};  // written by the spawner
    Plain<int> context{0};  // saved after each slice, read by the next one
    CarrierBase* home = nullptr;
    ParkToken* token = nullptr;  // of a fiber that parks
    bool isPoller = false;
    int slices = 0;        // for the checks only
    bool hasLeft = false;  // the home has taken it off its list after an end elsewhere

  protected:
    ~ModelFiber() = default;
};

// A fiber's view of the carrier that runs it.
class CarrierBase {
  public:
    virtual void end(ModelFiber& fiber) = 0;
    // The first step of Suspension, away from home: the slice must end and the next one is at home. False: already at
    // home.
    virtual bool goHome(ModelFiber& fiber) = 0;
    // Returns true if parked: the fiber's slice must end. Returns false if the fiber goes on.
    virtual bool park(ModelFiber& fiber, Epoch epoch) = 0;
    virtual bool spawn(ModelFiber& fiber) = 0;
    virtual void enqueue(ModelFiber& fiber) = 0;
    virtual void takeBack(ModelFiber& fiber) = 0;

  protected:
    ~CarrierBase() = default;
};

constexpr std::uint8_t wokenBranch = 1;
constexpr std::uint8_t shutdownBranch = 2;

// Defects of the functions that other threads, or fibers, call.
enum class Defect {
    none,
    noSubmitGuard,     // a waker takes no SubmitGuard
    countsInLate,      // a waker takes it only after it has published
    stopsSilently,     // a stop wakes no carrier
    enlistsLate,       // a spawn is submitted before it is on the list
    noAbort,           // a stop leaves parked fibers alone
    abortsBlindly,     // a stop makes parked fibers runnable without a claim
    parksBlindly,      // a fiber parks although its carrier has begun to stop
    guestParks,        // a fiber parks where it runs, and not at home
    savesLate,         // a fiber that goes home saves its context after its home may run it
    resumesElsewhere,  // the thief may run a fiber that has committed its own wait
    takesLate,         // a carrier takes submitted fibers after it has updated its list
    answersNothing,    // a request for a report is taken and forgotten
    hostsBlindly,      // a poller is taken whether or not the stop has been requested
};

struct ShippedParts {
    using Core = detail::BasicCarrierCore<Atomics, ModelFiber, 2>;
    using Live = detail::BasicLiveList<Atomics, ModelFiber>;
    using Gate = detail::BasicPollerGate<Atomics>;
};

template <class Parts = ShippedParts, Defect defect = Defect::none>
class ModelCarrier final : public CarrierBase, public NonStealingHost {
  public:
    using Core = typename Parts::Core;
    using SubmitGuard = typename ShippedParts::Core::SubmitGuard;

    // --- any thread
    // Carrier::submit(): returns false when it refuses; then the fiber still belongs to the caller.
    bool spawn(ModelFiber& fiber) override {
        fiber.closure = 1;
        fiber.home = this;
        const SubmitGuard guard(core_);
        if (defect == Defect::enlistsLate) {
            if (core_.stopRequested() || !core_.submit(fiber)) return false;
            assertThat(live_.enlist(fiber), "the list of a carrier with a fiber is open");
        } else if (!core_.submitNew(fiber, live_)) {
            return false;
        }
        wakeIfParked();
        return true;
    }
    // As spawn(), but a thief takes the fiber at once: it begins on another carrier.
    bool spawnStolen(ModelFiber& fiber, ModelCarrier& thief) {
        fiber.closure = 1;
        fiber.home = this;
        const SubmitGuard guard(core_);
        if (core_.stopRequested() || !live_.enlist(fiber)) return false;
        const SubmitGuard guardThere(thief.core_);
        assertThat(thief.core_.submit(fiber), "the thief has not ended");
        thief.wakeIfParked();
        return true;
    }
    // Carrier::enqueue()
    void enqueue(ModelFiber& fiber) override {
        if (defect == Defect::resumesElsewhere && thief != nullptr) return thief->enqueue(fiber);
        if (defect == Defect::noSubmitGuard) return publish(fiber);
        if (defect == Defect::countsInLate) {
            assertThat(core_.submit(fiber), "a wake never meets a closed tray");
            const SubmitGuard guard(core_);
            return wakeIfParked();
        }
        const SubmitGuard guard(core_);
        publish(fiber);
    }
    void requestStop() {
        core_.requestStop();
        if (defect != Defect::stopsSilently) wakeIfParked();
    }
    // Carrier::requestStragglers()
    void requestReport() {
        reportWanted_ = true;
        core_.requestTurn();
        wakeIfParked();
    }
    // Carrier::registerPinnedPoller() without memory for the poller; returns false when there is no slot.
    bool registerPollerInVain() {
        if (gate_.claim() != ShippedParts::Gate::Claimed::yes) return false;
        const SubmitGuard guard(core_);
        gate_.unclaim();
        core_.requestTurn();
        wakeIfParked();
        return true;
    }
    // Carrier::registerPinnedPoller() with memory; returns false when there is no slot.
    bool registerPoller(ModelFiber& poller) {
        const auto claimed = defect == Defect::hostsBlindly ? gate_.claim() : core_.claimPoller(gate_);
        if (claimed != ShippedParts::Gate::Claimed::yes) return false;
        poller.closure = 1;
        poller.home = this;
        poller.isPoller = true;
        const SubmitGuard guard(core_);
        assertThat(live_.enlist(poller), "a carrier with a claimed slot has not ended");
        core_.submitPoller(poller);
        wakeIfParked();
        return true;
    }
    // Carrier::endAway(): a fiber of this home has ended on the calling carrier.
    void takeBack(ModelFiber& fiber) override {
        const SubmitGuard guard(core_);
        core_.endedRemotely(fiber, live_);
        wakeIfParked();
    }
    bool stops() const { return core_.stopping(); }                           // its own thread
    bool hasEnded() const { return ended_.load(std::memory_order_acquire); }  // thread::join()
    std::uint64_t enlisted() const { return live_.enlisted(); }
    ModelCarrier* thief = nullptr;  // for the twin that resumes fibers elsewhere
    bool isAsleep() { return core_.sleepWord().load(std::memory_order_relaxed) != 0; }

    // --- its own thread: Carrier::threadMain()
    void run() {
        detail::CarrierTurn<ModelCarrier>(*this).runUntilEnd();
        ended_.store(true, std::memory_order_release);
    }
    void end(ModelFiber& fiber) override {
        gone_ = true;
        if (fiber.home != this) return fiber.home->takeBack(fiber);
        live_.remove(fiber);
        if constexpr (requires { gate_.unclaim(); }) {
            if (fiber.isPoller) gate_.unclaim();  // PollerSlot::release()
        }
    }
    bool goHome(ModelFiber& fiber) override {
        if (fiber.home == this || defect == Defect::guestParks) return false;
        if (defect != Defect::savesLate) {
            fiber.context = fiber.slices;
            gone_ = true;
        }
        fiber.home->enqueue(fiber);
        return true;
    }
    // Suspension::park() and Carrier::switchOut(): the context is saved after the commit [T4].
    bool park(ModelFiber& fiber, Epoch epoch) override {
        ParkToken& token = *fiber.token;
        if (core_.stopping() && defect != Defect::parksBlindly) (void)token.claim(epoch, shutdownBranch);
        if (token.isClaimed()) return false;
        if (!token.commit(epoch)) core_.queue().push(fiber);
        return true;
    }

    // --- what CarrierTurn needs besides SimpleHost
    Core& core() { return core_; }
    auto& live() { return live_; }
    auto& poller() { return gate_; }
    ModelFiber* nextTask(bool& moved) {
        if (defect == Defect::takesLate) core_.queue().takeSubmitted();
        return core_.queue().pop(moved);
    }
    void run(ModelFiber& fiber) {
        assertThat(fiber.closure != 0, "what its spawner wrote");
        assertThat(fiber.context == fiber.slices, "each slice goes on where the last one stopped");
        ++fiber.slices;
        gone_ = false;
        fiber.run(*this);
        if (!gone_) fiber.context = fiber.slices;
    }
    void left(ModelFiber& fiber) {
        assertThat(!fiber.hasLeft, "a fiber leaves once");
        fiber.hasLeft = true;
    }
    void blockInFutex() {
        ++sleeps_;
        while (core_.asleepIn(SleepKind::futex)) futexWait(core_.sleepWord(), 1);
    }
    void countWake(SleepEnd) {}
    void abort(ModelFiber& fiber) {
        if (defect == Defect::noAbort || fiber.token == nullptr) return;
        const Epoch epoch = fiber.token->parkedEpoch();
        if (epoch == 0) return;
        if (defect == Defect::abortsBlindly || fiber.token->claim(epoch, shutdownBranch) == Claim::enqueue) {
            core_.queue().push(fiber);
        }
    }
    void answerTurnRequest() {
        if (defect != Defect::answersNothing && reportWanted_) ++reports_;
        reportWanted_ = false;
    }
    void beforeEnd() {}
    void pause() {
        await([this] { return !core_.hasSubmitters(); });
    }

    // For the end of an execution.
    int reports() const { return reports_; }
    int sleeps() const { return sleeps_; }

  private:
    void publish(ModelFiber& fiber) {
        assertThat(core_.submit(fiber), "a wake never meets a closed tray");
        wakeIfParked();
    }
    void wakeIfParked() {
        if (core_.wake() == SleepKind::futex) futexWake(core_.sleepWord());
    }

    Core core_;
    typename Parts::Live live_;
    typename Parts::Gate gate_;
    Atomic<bool> ended_{false};
    bool gone_ = false;          // the fiber that ran has ended or may run elsewhere
    bool reportWanted_ = false;  // for the checks only
    int reports_ = 0;
    int sleeps_ = 0;
};

// The names of its atomics, in the order of construction.
#define WEFT_MODEL_CARRIER_ATOMICS                                                                           \
    "park", "stopRequested", "turnRequested", "readyPoller", "submitters", "tray", "arrivals", "departures", \
        "enlisted", "gate", "delivered", "ended"

// Runs to its end in one slice.
struct ShortFiber final : ModelFiber {
    void run(CarrierBase& where) override {
        assertThat(++runs == 1, "it runs once");
        where.end(*this);
    }
    int runs = 0;
};

// A resource that a fiber waits for. The waiting fiber's key is stored here, under a lock.
struct Resource {
    Mutex lock{"resource"};
    Plain<Epoch> waiter{0};
    Plain<bool> ready{false};
};

// Waits for a resource, and ends.
struct WaitingFiber final : ModelFiber {
    explicit WaitingFiber(Resource& resource) : resource(resource) { ModelFiber::token = &token; }

    void run(CarrierBase& where) override {
        ++runs;
        if (runs == 1 && waits(where)) return;
        assertThat(!ended, "it ends once");
        ended = true;
        if (waited) {
            const std::uint8_t why = token.finish();
            assertThat(why == wokenBranch || why == shutdownBranch, "something has ended the wait");
            std::lock_guard held(resource.lock);
            resource.waiter = 0;
        }
        where.end(*this);
    }

    Resource& resource;
    ParkToken token;
    int runs = 0;
    bool waited = false;
    bool ended = false;

  private:
    bool waits(CarrierBase& where) {
        Epoch epoch = 0;
        {
            std::lock_guard held(resource.lock);
            if (resource.ready) return false;
            epoch = token.prepare();
            resource.waiter = epoch;
        }
        waited = true;
        return where.park(*this, epoch);
    }
};

// Ends the fiber's wait, or makes it unnecessary. Only the SubmitGuard keeps the carrier from ending meanwhile: the key
// has been withdrawn and the lock is free.
inline void release(Resource& resource, WaitingFiber& fiber, CarrierBase& home) {
    Epoch epoch = 0;
    {
        std::lock_guard held(resource.lock);
        resource.ready = true;
        epoch = resource.waiter;
        resource.waiter = 0;
    }
    if (epoch != 0 && fiber.token.claim(epoch, wokenBranch) == Claim::enqueue) home.enqueue(fiber);
}

}  // namespace weft::model
