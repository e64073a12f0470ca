#include <weft/scheduler/detail/fiber.hpp>

#include <charconv>
#include <string_view>

#include <weft/scheduler/carrier.hpp>
#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/detail/scope_children.hpp>
#include <weft/scheduler/join_handle.hpp>
#include <weft/scheduler/log.hpp>
#include <weft/scheduler/suspension.hpp>
#include <weft/scheduler/this_fiber.hpp>

#include "describe_error.hpp"
#include "fiber_access.hpp"
#include "fork_mark.hpp"

namespace weft::detail {

Fiber::Fiber(Carrier& home, const Stack& itsStack, const SpawnOptions& options, bool joinable) noexcept
    : Task(home), homeCarrier(&home), stealable(options.stealable), stack(itsStack) {
    nameBytes[0] = '\0';
    if (!options.name.empty()) [[unlikely]]
        keepName(options.name);
    state.initialize(joinable);
}

[[gnu::noinline]] void Fiber::keepName(std::string_view name) noexcept {
    nameBytes[name.copy(nameBytes, nameLimit - 1)] = '\0';
}

FiberName::FiberName(const Fiber& fiber) noexcept {
    constexpr std::string_view prefix = "fiber-";
    const std::string_view given = fiber.nameBytes;
    if (given.empty()) {
        prefix.copy(bytes_, prefix.size());
        const auto end = std::to_chars(bytes_ + prefix.size(), bytes_ + sizeof bytes_, fiber.id).ptr;
        length_ = static_cast<std::size_t>(end - bytes_);
    } else {
        length_ = given.copy(bytes_, sizeof bytes_);
    }
}

void completeFiber(Fiber& fiber) noexcept {
    switch (fiber.state.markComplete()) {
        case CompletionDuty::dropResult: fiber.operations->dropResult(fiber); break;
        case CompletionDuty::wakeJoiner:
            fiber.joiner.wake();
            fiber.joinerNotified.store(true, std::memory_order_release);  // [J4] the key is not used any more
            break;
        case CompletionDuty::none: break;
    }
    if (fiber.scope != nullptr) [[unlikely]]
        fiber.scope->remove(fiber);
}

void releaseFiber(Fiber& fiber) noexcept {
    if (fiber.state.release()) freeFiber(fiber);
}

void detachFiber(Fiber& fiber) noexcept {
    if (fiber.state.dropInterest() == HandleDuty::dropResult) fiber.operations->dropResult(fiber);
    releaseFiber(fiber);
}

void freeFiber(Fiber& fiber) noexcept {
    const Stack stack = fiber.stack;
    fiber.operations->destroy(fiber);
    FiberAccess::giveStack(stack);
}

void cancelFiber(Fiber& fiber) noexcept {
    fiber.state.requestCancel();
    const ParkToken::Epoch epoch = fiber.interrupts.cancellableWait(fiber.park);
    if (epoch != 0) WakeKey(fiber, epoch, WakeReason::cancelled).wake();
}

namespace {

// For a fiber that completes here. A thread that destroys a handle elsewhere cannot tell, and gets false.
bool carrierShutsDown() noexcept {
    const Carrier* const here = Carrier::current();
    return here != nullptr && FiberAccess::stopping(*here);
}

}  // namespace

// A fiber that ends with operation_aborted after it was cancelled or its carrier shut down is not an error.
void reportUnobserved(const Fiber& fiber, std::exception_ptr error) noexcept {
    const bool requested = (fiber.state.isCancelRequested() || carrierShutsDown()) && isAbort(error);
    log(requested ? LogLevel::debug : LogLevel::error,
        {"fiber '", FiberName(fiber), "' ended with an exception that no join() received: ", describe(error)});
}

ErrorCode JoinHandleBase::wait(Deadline deadline) {
    WEFT_ASSERT(fiber_ != nullptr, "join() called on an empty handle");
    if (fiber_->state.isComplete()) return {};
    if (Carrier::current() == nullptr && fiber_->homeCarrier->group().forked()) [[unlikely]]
        throw forkedError("JoinHandle::join");  // a forked process has no carriers
    Suspension waiting("JoinHandle::join", Resumes::anywhere);
    fiber_->joiner = waiting.key();
    if (!fiber_->state.setJoinWaiter()) return {};
    const WakeReason why = waiting.park(deadline);
    if (why == WakeReason::resource) return {};
    if (fiber_->state.unsetJoinWaiter()) return why == WakeReason::timeout ? timedOut() : operationAborted();
    // The fiber has ended after all. The completer may still be about to use the key, so wait until it has.
    while (!fiber_->joinerNotified.load(std::memory_order_acquire)) std::this_thread::yield();  // [J4]
    return {};
}

}  // namespace weft::detail
