// CancelFrame: a CancelScope as its waits, its TaskScopes and the scopes inside it see it. docs/explanation/protocol.md
// section 22.
#pragma once

#include <weft/scheduler/detail/cancel_list.hpp>
#include <weft/scheduler/detail/interrupt_mask.hpp>

namespace weft::detail {

// On the stack of its task. It is cancelled by cancel(), and when the frame around it is. Target: the task, with
// `state` (a BasicTaskState) and `interrupt()`, which ends the task's current wait if that may be interrupted.
template <class P, class Target, class Pause = Backoff>
class BasicCancelFrame {
  public:
    using List = BasicCancelList<P, Pause>;
    using Node = BasicCancelNode<P>;
    using Caller = typename List::Caller;

    // --- Context: the task.
    BasicCancelFrame(const Target& target, BasicCancelFrame* outer, Caller caller) noexcept
        : target_(target), inOuter_(*this), outer_(outer) {
        if (outer_ != nullptr && !outer_->list_.add(inOuter_)) {
            linked_ = false;
            cancel(caller);
        }
    }
    // Every other thread that could call cancel() has been kept from it.
    void leave(Caller caller) noexcept {
        if (outer_ != nullptr && linked_) outer_->list_.remove(inOuter_, caller);
        if (!list_.cancelled()) return;
        target_.state().withdrawScopeCancel();  // [Z3] also takes back the flag of the outer frame,
        if (outer_ != nullptr && outer_->list_.cancelled()) target_.state().requestScopeCancel();
    }

    // --- Context: any thread, before leave(). Cancels the frames inside it, too, in a loop: their number is the
    // program's, and the caller's stack may be small.
    void cancel(Caller caller) noexcept {
        if (!begin(caller)) return;
        for (BasicCancelFrame* frame = this;;) {
            Node* const node = frame->list_.takeFirst();
            if (node == nullptr) {
                if (frame == this) return;
                frame = frame->outer_;
            } else if (!node->makes(&InOuter::call)) {
                node->make(caller);
            } else if (BasicCancelFrame& inner = static_cast<InOuter*>(node)->frame; inner.begin(caller)) {
                frame = &inner;
            }
        }
    }
    bool cancelled() const noexcept { return list_.cancelled(); }
    List& list() noexcept { return list_; }
    BasicCancelFrame* outer() const noexcept { return outer_; }

  private:
    bool begin(Caller caller) noexcept {
        if (!list_.begin(caller)) return false;
        target_.state().requestScopeCancel();  // [X1] before it reads the park word; [Z3]
        target_.interrupt();
        return true;
    }

    struct InOuter : Node {
        explicit InOuter(BasicCancelFrame& frame) noexcept : Node(&InOuter::call), frame(frame) {}
        static void call(Node& node, Caller caller) noexcept { static_cast<InOuter&>(node).frame.cancel(caller); }
        BasicCancelFrame& frame;
    };

    const Target target_;
    List list_;
    InOuter inOuter_;
    BasicCancelFrame* const outer_;
    bool linked_ = true;
};

}  // namespace weft::detail
