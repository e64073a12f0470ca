#include <weft/scheduler/carrier.hpp>

#include <cerrno>

#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/detail/scope_children.hpp>
#include <weft/scheduler/detail/spin_lock.hpp>
#include <weft/scheduler/log.hpp>
#include <weft/scheduler/non_suspending_scope.hpp>

#include "carrier_helper.hpp"
#include "context_switch.hpp"
#include "current_carrier.hpp"
#include "describe_error.hpp"
#include "fiber_access.hpp"
#include "fork_mark.hpp"
#include "futex.hpp"
#include "probes.hpp"
#include "stack_overflow.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

namespace weft {

namespace {

int makeWakeFd() {
    const int fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fd < 0) throw SystemError(fromErrno(errno), "a carrier's eventfd");
    return fd;
}

}  // namespace

namespace {

// For example "weft12/l0/p3": carrier 12, cluster 0, CPU 3.
std::string nameOf(const CarrierGroup& group, unsigned index) {
    std::string name = group.options().name + std::to_string(index);
    const CarrierPlace& place = group.place(index);
    if (place.cpu) name += "/l" + std::to_string(place.cluster) + "/p" + std::to_string(*place.cpu);
    return name;
}

std::unique_ptr<detail::TraceRing> makeTraceRing(std::size_t events) {
    return events == 0 ? nullptr : std::make_unique<detail::TraceRing>(events);
}

}  // namespace

Carrier::Carrier(CarrierGroup& group, unsigned index)
    : group_(group),
      index_(index),
      clock_(*group.options().clock),
      ownTime_(&clock_ != &Clock::steady()),
      name_(nameOf(group, index)),
      signalStack_(std::make_unique<std::byte[]>(StackOverflowReporter::signalStackSize)),
      core_(group.options().workStealing ? detail::Lanes::both : detail::Lanes::homeOnly),
      trace_(makeTraceRing(group.options().traceEvents)),
      shuffled_(group.options().shuffleSeed.has_value()),
      shuffle_(group.options().shuffleSeed.value_or(0) + index),
      stacks_(group.stacks(), group.options().stackSize, group.options().cachedStacks),
      timers_(clock_.now(), ownTime_ ? TimerWheel::Due::atOnce : TimerWheel::Due::atTick) {
    detail::keepFloatControl(threadContext_);
}

Carrier::~Carrier() = default;

Carrier::WakeFd::WakeFd() : fd(makeWakeFd()) {}

Carrier::WakeFd::~WakeFd() {
    ::close(fd);
}

Carrier* Carrier::home() noexcept {
    Carrier* const here = current();
    return here != nullptr && here->currentFiber_ != nullptr ? here->currentFiber_->homeCarrier : here;
}

void Carrier::writeWakeFd() noexcept {
    const std::uint64_t one = 1;
    // After EAGAIN (the counter is full) the descriptor is readable, too; there is no other failure.
    [[maybe_unused]] const auto written = ::write(wakeFd_.fd, &one, sizeof one);
}

// Context: this carrier.
inline std::uint64_t Carrier::takeFiberId() noexcept {
    constexpr std::uint64_t block = 1024;  // taken at once, so that a local spawn needs no RMW
    if (nextFiberId_ == lastFiberId_) [[unlikely]] {
        nextFiberId_ = CarrierGroup::takeFiberIds(block);
        lastFiberId_ = nextFiberId_ + block;
    }
    return nextFiberId_++;
}

// Context: this carrier.
void Carrier::enlistHere(detail::Fiber& fiber) noexcept {
    live_.add(fiber);
    counters_.spawned.add();
}

// The claimed poller slot keeps the carrier from ending, so enlist() cannot fail.
void Carrier::startPoller(detail::Fiber& fiber) {
    fiber.isPoller = true;
    detail::tsanHandOver(&fiber);
    if (isCurrent()) {
        fiber.id = takeFiberId();
        enlistHere(fiber);
        return makeRunnable(fiber);
    }
    fiber.id = CarrierGroup::takeFiberIds(1);
    const SubmitGuard guard(core_);
    const bool enlisted = live_.enlist(fiber);
    WEFT_ASSERT(enlisted, "a carrier ended while a poller was being registered");
    core_.submitPoller(fiber);
    wakeIfParked();
}

inline void Carrier::traceSubmit(const detail::Fiber& fiber) noexcept {
    WEFT_PROBE2(fiber_submit, index_, fiber.id);
    if (traces()) [[unlikely]]
        traceFromOutside(detail::TraceKind::submit, fiber.id, index_, fiber.isPoller);
}

void Carrier::submit(detail::Fiber& fiber) {
    detail::tsanHandOver(&fiber);
    const bool here = isCurrent();
    fiber.id = here ? takeFiberId() : CarrierGroup::takeFiberIds(1);
    traceSubmit(fiber);
    if (!here || core_.stopping()) [[unlikely]]
        return submitFromOutside(fiber);
    enlistHere(fiber);
    makeRunnable(fiber);
}

// Also refuses a fiber that a stopping carrier would start.
[[gnu::noinline]] void Carrier::submitFromOutside(detail::Fiber& fiber) {
    if (!group_.forked()) {
        const SubmitGuard guard(core_);
        if (mayBeStolen(fiber)) {
            if (core_.submitNewStealable(fiber, live_)) return wakeOrCallHelp();
        } else if (core_.submitNew(fiber, live_)) {
            return wakeIfParked();
        }
    }
    if (fiber.scope != nullptr) {
        fiber.scope->withdraw(fiber, [](auto condition) {
            for (detail::Backoff pause; !condition();) pause();
        });
    }
    const Stack stack = fiber.stack;
    fiber.operations->destroy(fiber);
    giveStack(stack);
    if (group_.forked()) throw detail::forkedError("spawn on carrier " + name_);
    throw SystemError(operationAborted(), "spawn on carrier " + name_ + ", which is shutting down");
}

void Carrier::enqueue(Task& task) noexcept {
    auto& fiber = static_cast<detail::Fiber&>(task);
    if (isCurrent()) {
        if (prefetches_) fiber.prefetch();
        traceSubmit(fiber);
        return makeRunnable(fiber);
    }
    const SubmitGuard guard(core_);
    traceSubmit(fiber);
    if (fiber.isPoller) {
        core_.submitPoller(fiber);
        return wakeIfParked();
    }
    const bool stealable = mayBeStolen(fiber);
    if (!(stealable ? core_.submitStealable(task) : core_.submit(task)))
        WEFT_ASSERT(false, "a fiber was woken after its carrier had ended");
    stealable ? wakeOrCallHelp() : wakeIfParked();
}

void Carrier::wakeIfParked() noexcept {
    endSleep(core_.wake());
}

// After stealable work has been submitted from outside: wakes this carrier if it sleeps, otherwise calls an idle one.
void Carrier::wakeOrCallHelp() noexcept {
    const detail::SleepKind sleep = core_.wake();
    if (sleep == detail::SleepKind::none) return callHelp();
    endSleep(sleep);
}

// Ends a sleep of this kind. The caller has taken the right to do so (ParkState::wake() or call()).
void Carrier::endSleep(detail::SleepKind sleep, bool call) noexcept {
    if (sleep == detail::SleepKind::none) return;
    WEFT_PROBE3(wake, index_, static_cast<int>(sleep), static_cast<int>(call));
    if (traces()) [[unlikely]]
        traceFromOutside(detail::TraceKind::wake, static_cast<std::uint64_t>(call), index_,
                         static_cast<std::uint64_t>(sleep));
    switch (sleep) {
        case detail::SleepKind::none: break;
        case detail::SleepKind::futex: detail::futexWake(core_.sleepWord()); break;
        case detail::SleepKind::poller: {
            const NonSuspendingScope scope;  // the wakeup callback, on any fiber
            poller_.wake();
            break;
        }
    }
}

Stack Carrier::takeStack(std::size_t size) {
    if (!isCurrent() || (size != 0 && size != stacks_.stackSize())) [[unlikely]]
        return takeStackOfPool(size);
    detail::tsanTakeOver(stacks_.next().low);
    return stacks_.take();
}

[[gnu::noinline]] Stack Carrier::takeStackOfPool(std::size_t size) const {
    return group_.stacks().take(size == 0 ? group_.options().stackSize : size);
}

void Carrier::giveStack(const Stack& stack) noexcept {
    detail::asanUnpoison(stack.bottom(), stack.size);
    // The carrier that took the stack may have been destroyed; its pool has not.
    Carrier* here = current();
    if (here != nullptr && &here->group_.stacks() == stack.pool) {
        detail::tsanHandOver(stack.low);
        here->stacks_.give(stack);
    } else {
        stack.pool->giveFromOutside(stack);
    }
}

Future<void> Carrier::registerPinnedPoller(PinnedPoller::Wakeup wakeup, PinnedPoller::Body body,
                                           std::string_view name) {
    if (group_.forked()) throw detail::forkedError("registerPinnedPoller on carrier " + name_);
    switch (core_.claimPoller(poller_)) {
        case detail::PollerSlot::Gate::Claimed::yes: break;
        case detail::PollerSlot::Gate::Claimed::taken:
            throw std::logic_error("carrier " + name_ +
                                   " already hosts a poller; end it first, or use another carrier");
        case detail::PollerSlot::Gate::Claimed::closed:
            throw SystemError(operationAborted(),
                              "registerPinnedPoller on carrier " + name_ + ", which is shutting down");
    }
    try {
        Future<void> termination = poller_.fill(std::move(wakeup));
        auto& frame = makeFrame(
            [this, body = std::move(body)]() mutable {
                PinnedPoller poller(*this);
                try {
                    body(poller);
                } catch (...) {
                    poller_.setError(std::current_exception());
                    log(LogLevel::error, {"the poller of carrier ", name_,
                                          " ended with an exception: ", detail::describe(std::current_exception())});
                }
            },
            SpawnOptions{.name = name, .stealable = Stealable::never}, false);
        startPoller(frame);
        return termination;
    } catch (...) {
        const SubmitGuard guard(core_);
        poller_.unclaim();
        core_.requestTurn();  // an ending carrier may be waiting for the slot
        wakeIfParked();
        throw;
    }
}

void Carrier::enlist(detail::Fiber& fiber, detail::ScopeChildren& scope) noexcept {
    fiber.scope = &scope;
    fiber.scopes = scope.inherited();
    if (scope.add(fiber)) fiber.state.requestCancel();
}

}  // namespace weft
