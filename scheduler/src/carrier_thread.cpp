// Carrier: its thread, from start to end.
#include <weft/scheduler/carrier.hpp>

#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/detail/signals_blocked.hpp>
#include <weft/scheduler/log.hpp>

#include "cpus.hpp"
#include "current_carrier.hpp"
#include "stack_overflow.hpp"

#include <algorithm>
#include <cerrno>

#include <pthread.h>
#include <unistd.h>

namespace weft {

namespace {

// Linux truncates thread names to 15 characters. A longer name loses its cluster, then its end.
void nameThread(std::string name) noexcept {
    constexpr std::size_t kept = 15;
    if (name.size() > kept) {
        const auto cluster = name.find("/l");
        if (cluster != std::string::npos) name.erase(cluster, name.find('/', cluster + 1) - cluster);
        name.resize(std::min(name.size(), kept));
    }
    ::pthread_setname_np(::pthread_self(), name.c_str());
}

}  // namespace

void Carrier::start() {
    const detail::SignalsBlocked blocked;
    thread_ = std::thread([this] { threadMain(); });
}

void Carrier::requestStop() noexcept {
    core_.requestStop();
    wakeIfParked();
}

void Carrier::join() noexcept {
    if (thread_.joinable()) thread_.join();
}

void Carrier::threadMain() noexcept {
    nameThread(name_);
    threadId_.store(::gettid(), std::memory_order_relaxed);
    if (const auto cpu = group_.place(index_).cpu; cpu && !detail::bindToCpu(*cpu)) group_.reportUnbound(*this, errno);
    detail::setCurrentCarrier(this);
    detail::setCurrentHome(this);
    detail::adoptThreadContext(threadContext_);
    threadExceptions_ = &detail::threadExceptionGlobals();
    {
        const StackOverflowReporter reporter(signalStack_.get());
        runUntilEnd();
    }
    detail::setCurrentHome(nullptr);
    detail::setCurrentCarrier(nullptr);
    ended_.store(true, std::memory_order_release);
    group_.carrierEnded();
}

// Called once for each fiber, when the carrier begins to stop: ends its wait with WakeReason::shutdown, unless the wait
// is uninterruptible. Suspension::park() ends later waits at once.
void Carrier::abort(detail::Fiber& fiber) noexcept {
    const auto epoch = fiber.interrupts.abortableEpoch(fiber.park);
    if (epoch != 0) WakeKey(fiber, epoch, WakeReason::shutdown).wake();
}

// Asks the carrier to log its fibers in its next turn. Any thread.
void Carrier::requestStragglers() noexcept {
    if (ended_.load(std::memory_order_acquire)) return;
    log(LogLevel::warning, {"carrier ", name_, " has not ended yet; a fiber that never suspends cannot be listed"});
    stragglersWanted_.store(true, std::memory_order_relaxed);  // the request publishes it
    core_.requestTurn();
    wakeIfParked();
}

bool Carrier::send(detail::CarrierRequest& request) noexcept {
    const SubmitGuard guard(core_);
    if (!requests_.push(request)) return false;
    core_.requestTurn();
    wakeIfParked();
    return true;
}

void Carrier::answerRequests(detail::CarrierRequest* first) noexcept {
    while (first != nullptr) {
        detail::CarrierRequest& request = *first;
        first = request.next;
        request.answer(*this);
    }
}

void Carrier::answerTurnRequest() noexcept {
    answerRequests(requests_.takeAll());
    if (stragglersWanted_.exchange(false, std::memory_order_relaxed)) logStragglers();
}

// Logs the fibers that have not ended.
void Carrier::logStragglers() noexcept {
    live_.forEach([this](detail::Fiber& fiber) {
        const bool waits = fiber.park.parkedEpoch() != 0;
        const bool begun = fiber.running.load(std::memory_order_relaxed) != nullptr;
        const char* call = fiber.lastCall.load(std::memory_order_relaxed);
        log(LogLevel::warning,
            {fiber.isPoller ? "poller '" : "fiber '", detail::FiberName(fiber), "' of carrier ", name_,
             !begun  ? " has not started"
             : waits ? " is in an uninterruptible wait: "
                     : " ignores the shutdown; its last wait: ",
             !begun            ? ""
             : call != nullptr ? call
                               : "none"});
    });
}

}  // namespace weft
