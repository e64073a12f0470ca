#include <weft/scheduler/carrier.hpp>

#include <cerrno>

#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/detail/scope_children.hpp>
#include <weft/scheduler/log.hpp>

#include "current_carrier.hpp"
#include "carrier_helper.hpp"
#include "describe_error.hpp"
#include "fiber_access.hpp"
#include "fork_mark.hpp"
#include "futex.hpp"
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

// weft12/l0/p3: the third CPU, in the first cluster.
std::string nameOf(const CarrierGroup& group, unsigned index) {
    std::string name = group.options().name + std::to_string(index);
    const CarrierPlace& place = group.place(index);
    if (place.cpu) name += "/l" + std::to_string(place.cluster) + "/p" + std::to_string(*place.cpu);
    return name;
}

}  // namespace

Carrier::Carrier(CarrierGroup& group, unsigned index)
    : group_(group),
      index_(index),
      name_(nameOf(group, index)),
      signalStack_(std::make_unique<std::byte[]>(StackOverflowReporter::signalStackSize)),
      core_(group.options().workStealing ? detail::Lanes::both : detail::Lanes::homeOnly),
      shuffled_(group.options().shuffleSeed.has_value()),
      shuffle_(group.options().shuffleSeed.value_or(0) + index),
      stacks_(group.stacks(), group.options().stackSize, group.options().cachedStacks),
      timers_(Clock::steady().now()) {}

Carrier::~Carrier() = default;

Carrier::WakeFd::WakeFd() : fd(makeWakeFd()) {}

Carrier::WakeFd::~WakeFd() {
    ::close(fd);
}

Carrier* Carrier::current() noexcept {
    return detail::currentCarrier();
}

Carrier* Carrier::home() noexcept {
    Carrier* const here = current();
    return here != nullptr && here->currentFiber_ != nullptr ? here->currentFiber_->homeCarrier : here;
}

void Carrier::writeWakeFd() noexcept {
    const std::uint64_t one = 1;
    // EAGAIN (the counter is full) still leaves the descriptor readable; there is no other failure.
    [[maybe_unused]] const auto written = ::write(wakeFd_.fd, &one, sizeof one);
}

namespace {

void prepare(detail::Fiber& fiber) noexcept {
    // The control block is the top of the stack: the frames begin below it.
    fiber.tsanFiber = fiber.stack.tsanFiber;
    detail::makeContext(fiber, fiber.stack.bottom(), &fiber, &detail::fiberMain);
}

}  // namespace

// Context: this carrier.
void Carrier::enlistHere(detail::Fiber& fiber) noexcept {
    live_.add(fiber);
    counters_.spawned.add();
}

// The claimed slot keeps the carrier from ending, so the list is open.
void Carrier::startPoller(detail::Fiber& fiber) {
    fiber.isPoller = true;
    prepare(fiber);
    if (isCurrent()) {
        enlistHere(fiber);
        return makeRunnable(fiber);
    }
    const Visit visit(core_);
    const bool enlisted = live_.enlist(fiber);
    WEFT_ASSERT(enlisted, "a carrier ended while a poller was being registered");
    core_.submitPoller(fiber);
    wakeIfParked();
}

void Carrier::submit(detail::Fiber& fiber) {
    prepare(fiber);
    if (isCurrent() && !core_.stopping()) {
        enlistHere(fiber);
        if (helper_ == nullptr) [[likely]]
            return core_.queue().push(fiber);
        return makeRunnable(fiber);
    }
    if (!group_.forked()) {
        const Visit visit(core_);
        if (mayBeStolen(fiber)) {
            if (core_.submitNewStealable(fiber, live_)) return wakeOrCallHelp();
        } else if (core_.submitNew(fiber, live_)) {
            return wakeIfParked();
        }
    }
    if (fiber.scope != nullptr) fiber.scope->remove(fiber);
    const Stack stack = fiber.stack;
    fiber.destroy(fiber);
    giveStack(stack);
    if (group_.forked()) throw detail::forkedError("spawn on carrier " + name_);
    throw SystemError(operationAborted(), "spawn on carrier " + name_ + ", which is shutting down");
}

void Carrier::enqueue(Task& task) noexcept {
    auto& fiber = static_cast<detail::Fiber&>(task);
    if (isCurrent()) return makeRunnable(fiber);
    const Visit visit(core_);
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

// After stealable work has been submitted from outside: its carrier takes it, or it is busy, and others may.
void Carrier::wakeOrCallHelp() noexcept {
    const detail::SleepKind sleep = core_.wake();
    if (sleep == detail::SleepKind::none) return callHelp();
    endSleep(sleep);
}

// The right to end a sleep of that kind has been taken.
void Carrier::endSleep(detail::SleepKind sleep) noexcept {
    switch (sleep) {
        case detail::SleepKind::none:
            break;
        case detail::SleepKind::futex:
            detail::futexWake(core_.sleepWord());
            break;
        case detail::SleepKind::poller:
            poller_.wake();
            break;
    }
}

Stack Carrier::takeStack(std::size_t size) {
    if (isCurrent() && (size == 0 || size == stacks_.stackSize())) return stacks_.take();
    return group_.stacks().take(size == 0 ? group_.options().stackSize : size);
}

void Carrier::giveStack(const Stack& stack) noexcept {
    detail::unpoisonStack(stack.bottom(), stack.size);
    // The carrier that it was taken on may be gone; its pool is not.
    Carrier* here = current();
    if (here != nullptr && &here->group_.stacks() == stack.pool) {
        here->stacks_.give(stack);
    } else {
        stack.pool->giveFromOutside(stack);
    }
}

Future<void> Carrier::registerPinnedPoller(PinnedPoller::Wakeup wakeup, PinnedPoller::Body body,
                                           std::string_view name) {
    if (group_.forked()) throw detail::forkedError("registerPinnedPoller on carrier " + name_);
    switch (poller_.claim()) {
        case detail::PollerSlot::Gate::Claimed::yes:
            break;
        case detail::PollerSlot::Gate::Claimed::taken:
            throw std::logic_error("carrier " + name_ +
                                   " hosts a poller already; end it first, or use another carrier");
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
                    log(LogLevel::error, {"the poller of carrier ", name_, " ended with: ",
                                          detail::describe(std::current_exception())});
                }
            },
            SpawnOptions{.name = name, .stealable = Stealable::never}, false);
        startPoller(frame);
        return termination;
    } catch (...) {
        const Visit visit(core_);
        poller_.unclaim();
        core_.requestTurn();  // an ending carrier may have found the slot taken
        wakeIfParked();
        throw;
    }
}

void Carrier::enlist(detail::Fiber& fiber, detail::ScopeChildren& scope) noexcept {
    fiber.scope = &scope;
    if (scope.add(fiber)) fiber.state.requestCancel();
}

std::uint64_t FiberAccess::takeId(Carrier& home) noexcept {
    constexpr std::uint64_t block = 1024;  // taken at once, so that a local spawn needs no RMW
    if (!home.isCurrent()) return CarrierGroup::takeFiberIds(1);
    if (home.nextFiberId_ == home.lastFiberId_) {
        home.nextFiberId_ = CarrierGroup::takeFiberIds(block);
        home.lastFiberId_ = home.nextFiberId_ + block;
    }
    return home.nextFiberId_++;
}

}  // namespace weft
