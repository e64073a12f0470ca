// ChildList: the running children of a scope. They can be cancelled together; the scope waits until the last one has
// ended. docs/explanation/protocol.md section 14.
#pragma once

#include <cstddef>
#include <mutex>
#include <utility>

#include <weft/scheduler/detail/atomics.hpp>

namespace weft::detail {

// Intrusive: the lock of the list guards `previousSibling`, `nextSibling` and `nextCancelled` of its children. The list
// lives on the stack of the waiter, so remove() must not touch it after the waiter may continue [E1]. Waiters: a
// BasicWaitList. Context of every member: any thread, unless stated otherwise. Never allocates.
template <class P, class Child, class Waiters>
class BasicChildList {
  public:
    BasicChildList() = default;
    // keepsEnded: children that have ended stay in a list, in that order, until takeEnded(); the list then owns a
    // reference to each. `nextSibling` links them.
    explicit BasicChildList(bool keepsEnded) noexcept : keepsEnded_(keepsEnded) {}

    // Adds a child before it is published. Context: the waiter, or a child of the list, which keeps the list alive.
    // True: the list has been cancelled, and the caller must cancel this child, too.
    [[nodiscard]] bool add(Child& child) noexcept {
        std::lock_guard held(lock_);
        child.previousSibling = nullptr;
        child.nextSibling = first_;
        if (first_) first_->previousSibling = &child;
        first_ = &child;
        ++size_;
        return cancelled_;
    }

    // Call it when no code of the child will run any more. The list may be destroyed before this returns. The caller
    // keeps the child.
    void remove(Child& child) noexcept { remove(child, keepsEnded_); }
    // The same for a child that has not been started: it is not kept. `child.state` is its BasicTaskState. Calls
    // `await(condition)`, which returns once `condition()` holds: no other thread has a reference, which a cancellation
    // may have taken before [E2]. The caller frees it.
    template <class Await>
    void withdraw(Child& child, Await await) noexcept {
        remove(child, false);
        await([&child] { return !child.state.isShared(); });
    }

    // The first child of those that have ended and are kept; null if there is none. The reference is the caller's.
    [[nodiscard]] Child* takeEnded() noexcept {
        std::lock_guard held(lock_);
        Child* const child = firstEnded_;
        if (child == nullptr) return nullptr;
        firstEnded_ = child->nextSibling;
        if (firstEnded_ == nullptr) lastEnded_ = nullptr;
        return child;
    }
    // Waits until takeEnded() returns a child or none runs any more. Errors: as BasicWaitList::waitUntil().
    template <class Until>
    auto waitForOne(Until deadline, const char* call) {
        return waiters_.waitUntil(lock_, deadline, call, [this] { return size_ == 0 || firstEnded_ != nullptr; });
    }

    // Calls `cancel(child)` for each child, without the lock. Only the first call has an effect. To keep the children
    // alive, calls `retain(child)` for each under the lock; `cancel` must release that reference. [E2]
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

    // Waits until the last child has ended. Errors: as BasicWaitList::waitUntil().
    template <class Until>
    auto wait(Until deadline, const char* call) {
        return waiters_.waitUntil(lock_, deadline, call, [this] { return size_ == 0; });
    }
    void waitUninterruptibly(const char* call) {
        waiters_.waitUninterruptibly(lock_, call, [this] { return size_ == 0; });
    }

    // When it is 0, no child touches the list any more, and the list may be destroyed. [E1]
    std::size_t size() const {
        std::lock_guard held(lock_);
        return size_;
    }

  private:
    void remove(Child& child, bool keep) noexcept {
        typename Waiters::Woken woken;
        {
            std::lock_guard held(lock_);
            unlink(child);
            if (keep) keepEnded(child);
            if (--size_ == 0 || keep) woken = waiters_.claimAll();
        }  // [E1]
        woken.resume();
    }
    void unlink(Child& child) noexcept {
        Child* const previous = child.previousSibling;
        Child* const next = child.nextSibling;
        if (previous) {
            previous->nextSibling = next;
        } else {
            first_ = next;
        }
        if (next) next->previousSibling = previous;
    }
    void keepEnded(Child& child) noexcept {
        child.nextSibling = nullptr;
        if (lastEnded_) {
            lastEnded_->nextSibling = &child;
        } else {
            firstEnded_ = &child;
        }
        lastEnded_ = &child;
    }

    mutable typename P::Mutex lock_;
    Child* first_ = nullptr;
    Child* firstEnded_ = nullptr;
    Child* lastEnded_ = nullptr;
    const bool keepsEnded_ = false;
    std::size_t size_ = 0;
    bool cancelled_ = false;
    Waiters waiters_;
};

}  // namespace weft::detail
