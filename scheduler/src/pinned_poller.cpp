#include <weft/scheduler/pinned_poller.hpp>

#include <thread>

#include <weft/scheduler/assert.hpp>
#include <weft/scheduler/carrier.hpp>

#include "fiber_access.hpp"

namespace weft {

namespace {

void assertOwnBody([[maybe_unused]] Carrier& carrier) noexcept {
    WEFT_ASSERT(Carrier::current() == &carrier && FiberAccess::currentFiber(carrier) != nullptr &&
                    FiberAccess::currentFiber(carrier)->isPoller,
                "a PinnedPoller may be used by its own body only");
}

}  // namespace

bool PinnedPoller::tryParkPoller() noexcept {
    assertOwnBody(carrier_);
    return carrier_.trySleepInPoller(nullptr);
}

bool PinnedPoller::canParkPoller() const noexcept {
    assertOwnBody(carrier_);
    return carrier_.core_.asleepIn(detail::SleepKind::poller) && !carrier_.core_.hasWork();
}

void PinnedPoller::unpark() noexcept {
    assertOwnBody(carrier_);
    carrier_.leaveSleepInPoller(true);
}

bool PinnedPoller::maybeYield(bool hadIoWork) {
    assertOwnBody(carrier_);
    if (carrier_.nonSuspendingDepth_ != 0) throw BlockingOperationException("PinnedPoller::maybeYield");
    carrier_.counters_.pollerTurns.add();
    carrier_.fireTimers();
    if (hadIoWork) carrier_.getsBusy();
    if (!carrier_.core_.hasWork() && (hadIoWork || !carrier_.pull())) return false;
    FiberAccess::yield(carrier_, Resumes::atHome);
    return true;
}

Deadline PinnedPoller::parkDeadline() const noexcept {
    return carrier_.parkDeadline();
}

bool PinnedPoller::stopRequested() const noexcept {
    return carrier_.stopRequested();
}

namespace detail {

void PollerSlot::release() noexcept {
    // A waker that ended a sleep may still be inside the callback, which is short: wait for it.
    while (!gate_.settled()) std::this_thread::yield();
    Promise<void> termination = std::move(*termination_);
    std::exception_ptr error = std::move(error_);
    unclaim();
    if (error) {
        termination.setError(std::move(error));
    } else {
        termination.setValue();
    }
}

}  // namespace detail
}  // namespace weft
