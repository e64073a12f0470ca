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
    // The scope itself, because its cancellation reaches the children of children before these.
    if (inherited_.innermost != nullptr && inherited_.innermost->cancelled()) return true;
    return inherited_.deadline != never && Clock::current().now() >= inherited_.deadline;
}

void ScopeChildren::InFrame::call(CancelNode& node, std::uint64_t) noexcept {
    static_cast<InFrame&>(node).self.cancel();
}

}  // namespace weft::detail
