#include <weft/scheduler/detail/scope_children.hpp>

#include <weft/scheduler/cancel_scope.hpp>

#include "caller_id.hpp"

namespace weft::detail {

namespace {

// Under a CancellationShield: none, because the scopes do not end the parent's waits either.
WaitScopes scopesForChildren() noexcept {
    const CurrentTask here = currentTask();
    return here.interrupts.holdsOffCancellation() ? WaitScopes() : here.scopes;
}

}  // namespace

ScopeChildren::ScopeChildren(bool keepsEnded) noexcept : BasicChildList(keepsEnded), inherited_(scopesForChildren()) {
    if (inherited_.innermost == nullptr) return;
    linked_ = inherited_.innermost->list().add(inFrame_);
    if (!linked_) InFrame::call(inFrame_, 0);
}

ScopeChildren::~ScopeChildren() {
    if (linked_) inherited_.innermost->list().remove(inFrame_, callerId());
}

void ScopeChildren::cancel() noexcept {
    cancelAll([](Fiber& child) { child.state.addReference(); },
              [](Fiber& child) {
                  cancelFiber(child);
                  if (child.state.release()) freeFiber(child);
              });
}

bool ScopeChildren::interrupted() const noexcept {
    // relaxed: a child that this has cancelled has read its state since, an RMW after the store [X1].
    if (frameCancelled_.load(std::memory_order_relaxed)) return true;
    return inherited_.deadline != never && Clock::steady().now() >= inherited_.deadline;
}

void ScopeChildren::InFrame::call(CancelNode& node, std::uint64_t) noexcept {
    ScopeChildren& self = static_cast<InFrame&>(node).self;
    self.frameCancelled_.store(true, std::memory_order_relaxed);  // see interrupted()
    self.cancel();
}

}  // namespace weft::detail
