// ScopeChildren: the running fibers of a TaskScope or JoinSet, and what they inherit from the scopes around it.
#pragma once

#include <weft/scheduler/detail/atomics.hpp>
#include <weft/scheduler/detail/cancel_list.hpp>
#include <weft/scheduler/detail/child_list.hpp>
#include <weft/scheduler/detail/fiber.hpp>
#include <weft/scheduler/detail/wait_scopes.hpp>
#include <weft/scheduler/wait_list.hpp>

namespace weft::detail {

// A cancellation of the CancelScope in which it was constructed cancels the children.
class ScopeChildren final : public BasicChildList<NativeAtomics, Fiber, WaitList> {
  public:
    explicit ScopeChildren(bool keepsEnded = false) noexcept;
    // No child runs.
    ~ScopeChildren();

    // Cancels every present and future child. Any thread that keeps this alive; never blocks, allocates or throws.
    void cancel() noexcept;
    const WaitScopes& inherited() const noexcept { return inherited_; }
    // True if the scopes around it end the waits of its children: the deadline has passed, or the CancelScope is
    // cancelled. Context: a child, or the owner.
    bool interrupted() const noexcept;

  private:
    struct InFrame final : CancelNode {
        explicit InFrame(ScopeChildren& owner) noexcept : CancelNode(&InFrame::call), self(owner) {}
        static void call(CancelNode& node, std::uint64_t caller) noexcept;
        ScopeChildren& self;
    };

    const WaitScopes inherited_;
    InFrame inFrame_{*this};
    bool linked_ = false;
};

}  // namespace weft::detail
