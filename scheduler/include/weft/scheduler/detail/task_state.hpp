// TaskState: the life-cycle word of a task: completion, join interest, cancellation, references. Every transition is
// one RMW whose result tells the caller what it must do; the last release is a load. docs/explanation/protocol.md
// section 3, docs/adr/0001. Source: the state word of Tokio's tasks, without its run bits (here a ParkToken claim is
// the right to run a fiber).
#pragma once

#include <cstdint>

#include <weft/scheduler/detail/atomics.hpp>

namespace weft::detail {

// What the completing thread must do.
enum class [[nodiscard]] CompletionDuty : std::uint8_t{none, wakeJoiner, dropResult};
// What the owner of a join handle must do before it releases its reference.
enum class [[nodiscard]] HandleDuty : std::uint8_t{none, dropResult};

template <class P>
class BasicTaskState {
  public:
    // Before the task is published. A joinable task has two references (its run's and its handle's), a detached task
    // one.
    void initialize(bool joinable) noexcept {
        word_.store(joinable ? joinInterest | 2 * reference : reference, std::memory_order_relaxed);  // not yet shared
    }

    bool isComplete() const noexcept { return word_.load(std::memory_order_acquire) & complete; }  // [J1]

    // The task has ended and its result is in place. Context: its scheduler, once.
    CompletionDuty markComplete() noexcept {
        const std::uint64_t before =
            word_.fetch_or(complete, std::memory_order_acq_rel);  // [J1] result, [J2] waiter slot
        if (!(before & joinInterest)) return CompletionDuty::dropResult;
        return before & joinWaiter ? CompletionDuty::wakeJoiner : CompletionDuty::none;
    }

    // True if no handle exists any more: the scheduler drops the result without markComplete(), and calls
    // completeAndRelease().
    bool isDetached() const noexcept { return !(word_.load(std::memory_order_acquire) & joinInterest); }  // [J6]

    // The handle's owner has written the waiter slot. False: the task is complete, and the completer will not read the
    // slot.
    [[nodiscard]] bool setJoinWaiter() noexcept {
        std::uint64_t seen = word_.load(std::memory_order_acquire);
        while (!(seen & complete)) {
            if (word_.compare_exchange_weak(seen, seen | joinWaiter, std::memory_order_acq_rel,  // [J2]
                                            std::memory_order_acquire)) {
                return true;
            }
        }
        return false;
    }

    bool hasJoinWaiter() const noexcept { return word_.load(std::memory_order_relaxed) & joinWaiter; }  // for checks

    // The handle's owner stops waiting. False: the task is complete, and the completer may be reading the slot.
    [[nodiscard]] bool unsetJoinWaiter() noexcept {
        std::uint64_t seen = word_.load(std::memory_order_acquire);
        while (!(seen & complete)) {
            if (word_.compare_exchange_weak(seen, seen & ~joinWaiter, std::memory_order_acquire,
                                            std::memory_order_acquire)) {
                return true;
            }
        }
        return false;
    }

    // The handle is being destroyed. Context: its owner, which must then call release().
    HandleDuty dropInterest() noexcept {
        std::uint64_t seen = word_.load(std::memory_order_acquire);
        while (!(seen & complete)) {
            if (word_.compare_exchange_weak(seen, seen & ~(joinInterest | joinWaiter),
                                            std::memory_order_acq_rel,  // [J6] what its owner did, to the destructor
                                            std::memory_order_acquire)) {
                return HandleDuty::none;
            }
        }
        return HandleDuty::dropResult;
    }

    // Sets the cancellation flag; true for the first caller.
    bool requestCancel() noexcept {
        return !(word_.fetch_or(cancelRequested, std::memory_order_seq_cst) & cancelRequested);  // [X1]
    }
    bool isCancelRequested() const noexcept {
        return word_.load(std::memory_order_seq_cst) & cancelRequested;  // [X1]
    }

    // The flag of the CancelScopes, as requestCancel(), except that the task takes it back when it leaves a scope.
    void requestScopeCancel() noexcept { word_.fetch_or(scopeCancelled, std::memory_order_seq_cst); }     // [X1] [Z3]
    void withdrawScopeCancel() noexcept { word_.fetch_and(~scopeCancelled, std::memory_order_acquire); }  // [Z3]
    // True if either flag is set.
    bool isInterruptRequested() const noexcept {
        return word_.load(std::memory_order_seq_cst) & (cancelRequested | scopeCancelled);  // [X1]
    }

    void addReference() noexcept { word_.fetch_add(reference, std::memory_order_relaxed); }  // the caller holds one
    // True if there are more references than a joinable task begins with. Context: its submitter, when none can be
    // added.
    [[nodiscard]] bool isShared() const noexcept {
        return word_.load(std::memory_order_acquire) >= 3 * reference;  // [J3]
    }
    // True if this was the last reference: the caller must free the task.
    [[nodiscard]] bool release() noexcept {
        return isSole() || word_.fetch_sub(reference, std::memory_order_acq_rel) < 2 * reference;  // [J3]
    }
    // markComplete() and release() of the run in one step, for a task whose completion no other thread acts on: it is
    // detached, or the owner of its handle is a fiber of this thread that runs only after this call [J5].
    [[nodiscard]] bool completeAndRelease() noexcept {
        return isSole() || word_.fetch_add(complete - reference, std::memory_order_acq_rel) < 2 * reference;  // [J3]
    }

  private:
    // Only the holder of the last reference could add one, so the last release needs no RMW.
    bool isSole() const noexcept { return word_.load(std::memory_order_acquire) < 2 * reference; }  // [J3]

    enum : std::uint64_t {
        complete = 1,
        joinInterest = 2,  // a handle exists, which takes or destroys the result
        joinWaiter = 4,    // the waiter slot is set, and the completer reads it
        cancelRequested = 8,
        scopeCancelled = 32,
        notified = 16,  // reserved for coroutines: a queue holds a reference or will
        reference = 256,
    };
    typename P::template Atomic<std::uint64_t> word_{reference};
};

using TaskState = BasicTaskState<NativeAtomics>;

}  // namespace weft::detail
