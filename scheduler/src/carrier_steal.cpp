// Carrier: work stealing. docs/explanation/protocol.md section 16.
#include <weft/scheduler/carrier.hpp>

#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/non_migrating_scope.hpp>
#include <weft/scheduler/suspension.hpp>

#include "carrier_helper.hpp"
#include "fiber_access.hpp"
#include "probes.hpp"

namespace weft {

namespace detail {

StealGroup::StealGroup(std::vector<Carrier*> carriers, const StealRules& rules)
    : carriers_(std::move(carriers)), cluster_(*this, static_cast<unsigned>(carriers_.size()), rules) {
    for (unsigned member = 0; member < carriers_.size(); ++member) carriers_[member]->joinGroup(*this, member);
}

bool StealGroup::call(unsigned member, unsigned victim) noexcept {
    Carrier& called = *carriers_[member];
    const Carrier::SubmitGuard visit(called.core_);
    const SleepKind sleep = called.core_.call(victim);
    called.endSleep(sleep, true);
    return sleep != SleepKind::none;
}

CarrierHelper::CarrierHelper(Carrier& carrier, StealGroup& group, unsigned member)
    : carrier_(carrier),
      group_(group),
      member_(member),
      random_(carrier.index() + 1),
      policy_(*this, group.cluster(), member) {}

bool CarrierHelper::stealFromMember(unsigned victim) noexcept {
    Carrier& victimCarrier = group_.carrier(victim);
    if (carrier_.core_.stopping()) return false;
    auto& queue = carrier_.core_.queue();
    const TimePoint began = carrier_.traces() ? Clock::steady().now() : TimePoint();
    const std::size_t before = queue.stealableCount();
    const StealResult stealResult = queue.stealFrom(victimCarrier.core_.queue());
    if (stealResult == StealResult::nothing) return false;
    // The victim has got tasks back into its queue, and may have gone to sleep meanwhile.
    if (stealResult == StealResult::handedBack) victimCarrier.wakeIfParked();
    const std::size_t count = queue.stealableCount() - before;
    carrier_.counters_.steals.add();
    carrier_.counters_.stolen.add(count);
    WEFT_PROBE3(steal, carrier_.index(), victimCarrier.index(), count);
    if (carrier_.traces()) [[unlikely]]
        carrier_.trace(TraceKind::steal, began, count << 32 | victimCarrier.core_.queue().stealableCount(),
                       victimCarrier.index(), directed_);
    return true;
}

}  // namespace detail

void Carrier::joinGroup(detail::StealGroup& group, unsigned member) {
    helper_ = std::make_unique<detail::CarrierHelper>(*this, group, member);
}

// The frames of a fiber that has begun may hold thread_local addresses of its home: only Stealable::any permits moving
// it.
bool Carrier::othersMayRun(const detail::Fiber& fiber) noexcept {
    if (fiber.keptHome != 0 || !fiber.resumesAnywhere) return false;
    return fiber.stealable == Stealable::any ||
           (fiber.stealable == Stealable::fresh && fiber.running.load(std::memory_order_relaxed) == nullptr);
}

// Context: the carrier's own thread.
void Carrier::publish(detail::Fiber& fiber) noexcept {
    core_.queue().pushStealable(fiber);
    published();
}

void Carrier::published() noexcept {
    helper_->policy().published();
}

void Carrier::callHelp() noexcept {
    helper_->callHelp();
}

bool Carrier::pull() noexcept {
    return helper_ != nullptr && !core_.stopping() && helper_->policy().pull();
}

bool Carrier::mustNotSleep(bool callable) noexcept {
    if (helper_ == nullptr) return false;
    if (!core_.stopping()) return helper_->policy().mustNotSleep(callable);
    // A carrier that stops no longer steals. As the sentinel it would spin once its deadline had passed, so it resigns.
    helper_->policy().getsBusy();
    return false;
}

void Carrier::leavesSleep() noexcept {
    if (helper_ != nullptr) helper_->policy().leavesSleep();
}

void Carrier::answer(detail::CalledBy call) noexcept {
    if (traces()) [[unlikely]]
        tracePark(call);
    if (!call) return;
    counters_.calls.add();
    helper_->answer(call);
}

void Carrier::stopWatchingOthers() noexcept {
    helper_->policy().getsBusy();
}

// Resigns as the sentinel first, because other carriers may rely on it.
void Carrier::beforeEnd() noexcept {
    getsBusy();
    locals_.clear();
    answerRequests(requests_.close());
}

Deadline Carrier::withHelpDeadline(Deadline timer) const noexcept {
    return std::min(timer, helper_->policy().due());
}

namespace {

detail::Fiber* fiberAtHome() {
    Suspension::goHome("NonMigratingScope");
    Carrier* const carrier = Carrier::current();
    return carrier != nullptr ? FiberAccess::currentFiber(*carrier) : nullptr;
}

}  // namespace

NonMigratingScope::NonMigratingScope() : fiber_(fiberAtHome()) {
    if (fiber_ != nullptr) ++fiber_->keptHome;
}

NonMigratingScope::~NonMigratingScope() {
    if (fiber_ != nullptr) --fiber_->keptHome;
}

}  // namespace weft
