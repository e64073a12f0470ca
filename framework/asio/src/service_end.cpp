// The end of a Context before its loop, and of the loop before its Context.
#include <chrono>
#include <functional>
#include <mutex>
#include <utility>

#include <weft/asio_io/detail/fiber_operation.hpp>
#include <weft/scheduler/assert.hpp>
#include <weft/scheduler/cancellation_shield.hpp>
#include <weft/scheduler/carrier.hpp>
#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/suspension.hpp>
#include <weft/scheduler/this_fiber.hpp>

#include "service.hpp"
#include "service_in_loop.hpp"

namespace weft::asio_io::detail {

namespace {

std::exception_ptr loopEnded() {
    return std::make_exception_ptr(SystemError(operationAborted(), "asio_io::Context::run: its event loop has ended"));
}

// exit() destroys the objects of its thread before those of static storage.
thread_local bool exits = false;
struct ExitNote {
    ~ExitNote() { exits = true; }
    void make() const noexcept {}
};
thread_local const ExitNote exitNote;

constexpr std::size_t stackOfDestructors = 1 << 20;  // they may be nested deeply, as on a thread

}  // namespace

bool Service::exitsHere() noexcept {
    return exits;
}

void Service::noteExits() noexcept {
    exitNote.make();
}

void Service::abandon() noexcept {
    abandoned_ = true;
    ended_ = true;
    runs_ = false;
    unmark(false);
    handler_->forget(*this);
}

// ---- the end of the Context ----

void Service::leave() noexcept {
    if (closing() && hasLoopEnded()) return;  // its carrier may no longer exist
    forked_ = loop_.carrier()->group().forked();
    if (forked_) return;
    WEFT_ASSERT(Suspension::allowed(),
                "an asio_io::Context is destroyed inside an event loop's dispatch: destroy it in a thread or a fiber");
    WEFT_ASSERT(!isHere() || !functions_.hasRunningFiber(),
                "an asio_io::Context is destroyed by a function of its own FiberExecutor or FiberStrand, for which it "
                "would wait: destroy it in another fiber or thread");
    if (!inLoop([this] {
            functions_.cancel();
            detach();
            operationsHere_.cancelAll();
        }))
        awaitEndOfLoop();
}

// Fibers that a destroyed handler has woken run until they wait again, and those that they wake. Bounded, because other
// fibers may run without end.
void Service::letOthersRun() const {
    constexpr unsigned mostTurns = 16;
    unsigned turns = 0;
    do {
        thisFiber::yield();
    } while (++turns < mostTurns && loop_.carrier()->runnableFibers() != 0);
}

// Asio's services must not be shut down while fibers of the carrier use them, so their handlers are destroyed there.
bool Service::endWaits(const std::function<void()>& destroyHandlers) noexcept {
    const bool loopIsOver = closing() && hasLoopEnded();  // its carrier may no longer exist, unless a function is left
    if (forked_ || (loopIsOver && !hasFunctions())) return true;
    bool waits = false;
    const auto round = [&] {
        const CancellationShield shield;
        destroyHandlers();
        letOthersRun();
        waits = !operationsHere_.empty();
    };
    if (!inFiberOfCarrier(round)) {
        if (isHere()) {
            round();
        } else if (!inLoop(destroyHandlers)) {
            // The carrier and its loop are ending, which ends nearly all waits of functions: those must not run beside
            // destroyHandlers().
            const Deadline limit = deadlineAfter(std::chrono::seconds(1));
            while (hasFunctions() && Clock::steady().now() < limit) pauseBetweenRounds();
            destroyHandlers();
        }
    }
    return !waits && !hasFunctions();
}

void Service::pauseBetweenRounds() noexcept {
    const CancellationShield shield;
    ErrorCode shutdown;
    thisFiber::sleepFor(std::chrono::milliseconds(1), shutdown);
    if (shutdown) thisFiber::yield();
}

// Returns when `block` has run; false when the carrier is ending and has not run it.
template <class Block>
bool Service::inFiberOfCarrier(Block block) noexcept {
    std::mutex lock;
    WaitList waiters;
    bool over = false;
    const auto noteOver = [&](void*) { waiters.changeAndWakeAll(lock, [&] { over = true; }); };
    bool ran = false;
    try {
        std::unique_ptr<void, decltype(noteOver)> fiber(this, noteOver);  // destroyed with the fiber
        loop_.carrier()->spawnDetached(
            [&block, &ran, fiber = std::move(fiber)] {
                block();
                ran = true;
            },
            {.name = "asio end", .stackSize = stackOfDestructors, .stealable = Stealable::never});
    } catch (const std::exception&) {
        return false;
    }
    waiters.waitUninterruptibly(lock, "asio_io::Context::~Context", [&over] { return over; });
    return ran;
}

void Service::forget() noexcept {
    if (forked_ || (closing() && hasLoopEnded())) return;
    const auto forgetThis = [this] {
        unmark(false);
        operationsHere_.forgetAll();
        handler_->forget(*this);
    };
    if (!inLoop(forgetThis)) awaitEndOfLoop();
}

// Nothing of the service runs after this.
void Service::detach() noexcept {
    if (std::exchange(ended_, true)) return;
    closing_.store(true, std::memory_order_relaxed);
    remoteOperations_->forgetAll();
    leaveAll(loopEnded());
    releaseRunners();
    if (std::exchange(holdsWork_, false)) scheduler_.work_finished();
    reactor_->unwatchAll();
    handler_->wakeInAsio(false);
}

bool Service::hasFunctions() noexcept {
    const std::lock_guard held(functionsLock_);
    return functionCount_ != 0;
}

// ---- the end of the loop ----

// A stop() must not keep operations that fibers wait for from completing, nor a lack of work.
void Service::beginEnd() noexcept {
    if (ended_) return;
    closing_.store(true, std::memory_order_relaxed);
    if (!std::exchange(holdsWork_, true)) scheduler_.work_started();
    operationsHere_.cancelAll();
    remoteOperations_->cancelAll();
    leaveAll(loopEnded());
    releaseRunners();
}

bool Service::closable() noexcept {
    if (!ended_ && closing() && !operationsLeft()) detach();
    return ended_ && operationsHere_.empty();  // of a Context that ends now, a fiber destroys them
}

void Service::loopHasEnded() noexcept {
    functions_.cancel();  // after this, nothing that runs on the carrier could
    detach();
    unmark(true);
    operationsHere_.forgetAll();
    handler_->forget(*this);
    endWaiters_.changeAndWakeAll(endLock_, [this] { loopHasEnded_ = true; });
}

bool Service::hasLoopEnded() noexcept {
    const std::lock_guard held(endLock_);
    return loopHasEnded_;
}

void Service::awaitEndOfLoop() noexcept {
    endWaiters_.waitUninterruptibly(endLock_, "asio_io::Context", [this] { return loopHasEnded_; });
}

}  // namespace weft::asio_io::detail
