// ChildList: the running children of a scope: cancelled together, and awaited until the last one has ended.
// docs/protocol.md section 14.
#pragma once

#include <cstddef>
#include <mutex>
#include <utility>

#include <weft/scheduler/detail/atomics.hpp>

namespace weft::detail {

// Intrusive: `previousSibling`, `nextSibling` and `nextCancelled` of a child belong to its list, under the lock. The
// list lives on the stack of whoever waits for the children, so remove() must not touch it after it has let the waiter
// go [E1]. Waiters: a BasicWaitList. Context of every member: any thread, unless said otherwise. Never allocates.
template <class P, class Child, class Waiters>
class BasicChildList {
  public:
    // Before the child is published. Context: the waiter, or a child of the list, so that it cannot end meanwhile.
    // True: the list has been cancelled, and the caller cancels this child, too.
    [[nodiscard]] bool add(Child& child) noexcept {
        std::lock_guard held(lock_);
        child.previousSibling = nullptr;
        child.nextSibling = first_;
        if (first_) first_->previousSibling = &child;
        first_ = &child;
        ++size_;
        return cancelled_;
    }

    // Nothing of the child runs any more. The list may be gone when this returns; the child is the caller's.
    void remove(Child& child) noexcept {
        typename Waiters::Woken woken;
        {
            std::lock_guard held(lock_);
            Child* const previous = child.previousSibling;
            Child* const next = child.nextSibling;
            if (previous) {
                previous->nextSibling = next;
            } else {
                first_ = next;
            }
            if (next) next->previousSibling = previous;
            if (--size_ == 0) woken = waiters_.claimAll();
        }  // [E1]
        woken.resume();
    }

    // Calls `cancel(child)` for each child, without the lock; once for each list. A child cannot be freed meanwhile:
    // `retain(child)` is called under the lock, and `cancel` gives that reference back. [E2]
    template <class Retain, class Cancel>
    void cancelAll(Retain retain, Cancel cancel) noexcept {
        Child* pending = nullptr;
        {
            std::lock_guard held(lock_);
            if (std::exchange(cancelled_, true)) return;
            for (Child* child = first_; child != nullptr; child = child->nextSibling) {
                retain(*child);
                child->nextCancelled = pending;
                pending = child;
            }
        }
        while (pending != nullptr) {
            Child& child = *pending;
            pending = child.nextCancelled;
            cancel(child);
        }
    }

    // Waits for the last child, or gives up for the reason returned, as BasicWaitList::waitUntil().
    template <class Until>
    auto wait(Until deadline, const char* call) {
        return waiters_.waitUntil(lock_, deadline, call, [this] { return size_ == 0; });
    }
    void waitUninterruptibly(const char* call) {
        waiters_.waitUninterruptibly(lock_, call, [this] { return size_ == 0; });
    }

    // When it is 0, the list may go: no child touches it any more. [E1]
    std::size_t size() const {
        std::lock_guard held(lock_);
        return size_;
    }

  private:
    mutable typename P::Mutex lock_;
    Child* first_ = nullptr;
    std::size_t size_ = 0;
    bool cancelled_ = false;
    Waiters waiters_;
};

}  // namespace weft::detail
