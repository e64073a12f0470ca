// CancelList: an event that happens once, and the calls that are made when it does. The core of a cancellation source
// and of a CancelScope. docs/explanation/protocol.md section 22.
#pragma once

#include <cstdint>
#include <mutex>

#include <weft/scheduler/detail/atomics.hpp>
#include <weft/scheduler/detail/spin_lock.hpp>

namespace weft::detail {

template <class P, class Pause>
class BasicCancelList;

// One call, in the memory of its owner. `call(node, caller)` may destroy the node; `caller` is that of cancel().
template <class P>
class BasicCancelNode {
  public:
    using Call = void (*)(BasicCancelNode&, std::uint64_t caller) noexcept;
    explicit BasicCancelNode(Call call) noexcept : call_(call) {}
    bool makes(Call call) const noexcept { return call_ == call; }
    void make(std::uint64_t caller) noexcept { call_(*this, caller); }
    BasicCancelNode(const BasicCancelNode&) = delete;
    BasicCancelNode& operator=(const BasicCancelNode&) = delete;

  private:
    template <class, class>
    friend class BasicCancelList;

    // The list's lock guards them.
    typename P::template Plain<BasicCancelNode*> previous_{nullptr};
    typename P::template Plain<BasicCancelNode*> next_{nullptr};
    typename P::template Plain<bool> linked_{false};
    const Call call_;
};

// Context of every member: any thread that keeps the list alive for the whole call. Never allocates or throws. No lock
// is held during a call. Caller: a number that identifies the calling fiber or thread.
template <class P, class Pause = Backoff>
class BasicCancelList {
  public:
    using Node = BasicCancelNode<P>;
    using Caller = std::uint64_t;

    bool cancelled() const noexcept { return cancelled_.load(std::memory_order_acquire); }  // [Z1]

    // False: the list has been cancelled, and the call will not be made.
    [[nodiscard]] bool add(Node& node) noexcept {
        std::lock_guard held(lock_);
        if (isCancelled()) return false;
        node.linked_ = true;
        Node* const second = first_;
        node.next_ = second;
        if (second) second->previous_ = &node;
        first_ = &node;
        return true;
    }

    // For a node that add() has accepted, once. Afterwards its call has been made or will not be made. Waits for a call
    // that another caller is making now; a call that removes its own node does not wait.
    void remove(Node& node, Caller caller) noexcept {
        {
            std::lock_guard held(lock_);
            if (node.linked_) return unlink(node);
            if (canceller_ == caller) return;
        }
        Pause pause;
        while (running_.load(std::memory_order_acquire) == &node) pause();  // [Z2]
    }

    // Calls `first()`, then makes each node's call, the newest first. False: it was cancelled before.
    template <class First>
    bool cancel(Caller caller, First first) noexcept {
        if (!begin(caller)) return false;
        first();
        while (Node* const node = takeFirst()) node->make(caller);
        return true;
    }
    // The steps of cancel(), for owners whose nodes lead to further lists: they make these calls in a loop, because a
    // recursion would be as deep as the program nests them. False: it was cancelled before.
    [[nodiscard]] bool begin(Caller caller) noexcept {
        std::lock_guard held(lock_);
        if (isCancelled()) return false;
        canceller_ = caller;
        cancelled_.store(true, std::memory_order_release);  // [Z1]
        return true;
    }
    // The next node, whose call the caller of begin() must make before it calls this again; null: that was the last
    // one. The call of the node that was taken before has returned.
    [[nodiscard]] Node* takeFirst() noexcept {
        std::lock_guard held(lock_);
        Node* const node = first_;
        if (node != nullptr) unlink(*node);
        running_.store(node, std::memory_order_release);  // [Z2]
        return node;
    }

    bool empty() const noexcept {
        std::lock_guard held(lock_);
        Node* const first = first_;
        return first == nullptr;
    }

  private:
    // relaxed: written only under the lock, which the caller holds.
    bool isCancelled() const noexcept { return cancelled_.load(std::memory_order_relaxed); }

    void unlink(Node& node) noexcept {
        Node* const previous = node.previous_;
        Node* const next = node.next_;
        if (previous) {
            previous->next_ = next;
        } else {
            first_ = next;
        }
        if (next) next->previous_ = previous;
        node.linked_ = false;
    }

    mutable typename P::Mutex lock_;
    typename P::template Plain<Node*> first_{nullptr};
    typename P::template Plain<Caller> canceller_{0};  // 0: not cancelled
    typename P::template Atomic<bool> cancelled_{false};
    typename P::template Atomic<Node*> running_{nullptr};  // writer: the canceller; reader: remove()
};

using CancelNode = BasicCancelNode<NativeAtomics>;
using CancelList = BasicCancelList<NativeAtomics>;

}  // namespace weft::detail
