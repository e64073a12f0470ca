#include <weft/scheduler/detail/fiber.hpp>
#include <weft/scheduler/detail/is_abort.hpp>

#include <charconv>
#include <string_view>

#include <weft/scheduler/carrier.hpp>
#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/detail/scope_children.hpp>
#include <weft/scheduler/join_handle.hpp>
#include <weft/scheduler/log.hpp>
#include <weft/scheduler/suspension.hpp>
#include <weft/scheduler/this_fiber.hpp>

#include "context_switch.hpp"
#include "describe_error.hpp"
#include "fiber_access.hpp"
#include "fork_mark.hpp"
#include "utf8.hpp"

namespace weft::detail {

// The control block is at the top of the stack; the frames begin below it.
Fiber::Fiber(Carrier& home, const Stack& stack, const SpawnOptions& options, bool joinable) noexcept
    : FiberContext(FiberAccess::floatControl(home), stack.bottom(), reinterpret_cast<std::byte*>(this),
                   stack.tsanFiber),
      Task(home),
      homeCarrier(&home),
      stealable(options.stealable.value_or(Stealable::never)),
      stack(stack) {
    prepareFirstJump(*this, this, &fiberMain);
    nameBytes[0] = '\0';
    if (!options.name.empty()) [[unlikely]]
        keepName(options.name);
    state.initialize(joinable);
}

[[gnu::noinline]] void Fiber::keepName(std::string_view name) noexcept {
    nameBytes[cutUtf8(name, nameLimit - 1).copy(nameBytes, nameLimit - 1)] = '\0';
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

namespace {

// The handle's owner may be any thread.
void completeForOthers(Fiber& fiber) noexcept {
    switch (fiber.state.markComplete()) {
        case CompletionDuty::dropResult: fiber.operations->dropResult(fiber); break;
        case CompletionDuty::wakeJoiner:
            fiber.joiner.wake();
            fiber.joinerNotified.store(true, std::memory_order_release);  // [J4] the key is not used any more
            break;
        case CompletionDuty::none: break;
    }
}

}  // namespace

// Where no other thread acts on the completion, retireFiber() marks it, by the same RMW that releases the reference.
void completeFiber(Fiber& fiber) noexcept {
    if (fiber.joinedAtHome) {
        WEFT_DEBUG_ASSERT(!fiber.state.hasJoinWaiter(), "two joins of one handle at a time");
        fiber.completesLate = true;
        fiber.joiner.wake();
    } else if (fiber.state.isDetached()) {
        fiber.completesLate = true;
        fiber.operations->dropResult(fiber);
    } else {
        completeForOthers(fiber);
    }
    if (fiber.scope != nullptr) [[unlikely]]
        fiber.scope->remove(fiber);
}

void retireFiber(Fiber& fiber) noexcept {
    const bool last = fiber.completesLate ? fiber.state.completeAndRelease() : fiber.state.release();
    if (last) freeFiber(fiber);
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
    const ParkToken::Epoch epoch = fiber.interrupts.cancellableEpoch(fiber.park);
    if (epoch != 0) WakeKey(fiber, epoch, WakeReason::cancelled).wake();
}

namespace {

constexpr const char* waitName = "JoinHandle::join";

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

// The fiber will end on this thread, so a plain flag tells it that it is joined [J5].
inline JoinHandleBase::Waited JoinHandleBase::waitAtHome(Deadline deadline) {
    Suspension waiting(waitName, Resumes::anywhere);
    fiber_->joiner = waiting.key();
    fiber_->joinedAtHome = true;
    const WakeReason why = waiting.park(deadline);
    fiber_->joinedAtHome = false;
    if (why == WakeReason::resource || fiber_->state.isComplete()) return Waited::ended;
    return why == WakeReason::timeout ? Waited::timedOut : Waited::aborted;
}

JoinHandleBase::Waited JoinHandleBase::wait(Deadline deadline) {
    WEFT_ASSERT(fiber_ != nullptr, "join() called on an empty handle");
    if (fiber_->state.isComplete()) return Waited::ended;
    const Carrier* const here = Carrier::current();
    if (here == fiber_->homeCarrier && FiberAccess::keepsItsFibers(*here)) return waitAtHome(deadline);
    if (here == nullptr && fiber_->homeCarrier->group().forked()) [[unlikely]]
        throw forkedError(waitName);  // a forked process has no carriers
    Suspension waiting(waitName, Resumes::anywhere);
    fiber_->joiner = waiting.key();
    if (!fiber_->state.setJoinWaiter()) return Waited::ended;
    const WakeReason why = waiting.park(deadline);
    if (why == WakeReason::resource) return Waited::ended;
    if (fiber_->state.unsetJoinWaiter()) return why == WakeReason::timeout ? Waited::timedOut : Waited::aborted;
    // The fiber has ended after all. The completer may still be about to use the key, so wait until it has.
    while (!fiber_->joinerNotified.load(std::memory_order_acquire)) std::this_thread::yield();  // [J4]
    return Waited::ended;
}

void JoinHandleBase::throwAborted(const char* call) {
    throw SystemError(operationAborted(), call);
}

}  // namespace weft::detail
