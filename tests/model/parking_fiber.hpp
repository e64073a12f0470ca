// The fiber of the tests of the park token (docs/explanation/protocol.md sections 2 and 6): a fiber and its carrier,
// which are one thread, with its wakers' side, and with the defects of its twins. It has no scenarios.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <weft/scheduler/detail/in_tray.hpp>
#include <weft/scheduler/detail/interrupt_mask.hpp>
#include <weft/scheduler/detail/task_state.hpp>

#include "atomics.hpp"
#include "blocking.hpp"
#include "explorer.hpp"
#include "thread_task.hpp"

namespace weft::model::parking {

using weft::detail::Claim;

inline constexpr Branch shutdownBranch = 3;
inline constexpr Branch cancelledBranch = 4;  // by a thread that holds no key

struct Node {
    Link<Node> next;
};

enum class Defect {
    none,
    commitsFirst,    // the context is saved after the commit
    commitByStore,   // instead of the compare-exchange
    claimByStore,    // a load and a store instead of the compare-exchange
    sameEpoch,       // each wait has the same number
    commitsBlindly,  // does not check for a cancellation after the commit
    cancelsBlindly,  // the canceller ends a wait that the shield protects
    looksEarly,      // the canceller reads the mask before the park word
    masksLate,       // an uninterruptible wait is marked after the commit
    abortsBlindly,   // the shutdown ends an uninterruptible wait
    refusesBlindly,  // an uninterruptible wait that begins late is refused like any other
};

// The token with one possible defect. Its word has the shipped layout: [epoch | branch | phase].
template <Defect defect>
class TwinToken {
  public:
    Epoch prepare() {
        const Epoch epoch = (word_.load(std::memory_order_relaxed) >> 16) + (defect == Defect::sameEpoch ? 0 : 1);
        word_.store(pack(epoch, 0, 1), std::memory_order_relaxed);
        return epoch;
    }
    bool commit(Epoch epoch) {
        std::uint64_t expected = pack(epoch, 0, 1);
        if (defect == Defect::commitByStore) {
            if (word_.load(std::memory_order_acquire) != expected) return false;
            word_.store(pack(epoch, 0, 2), std::memory_order_release);
            return true;
        }
        return word_.compare_exchange_strong(expected, pack(epoch, 0, 2), std::memory_order_acq_rel,
                                             std::memory_order_acquire);
    }
    Claim claim(Epoch epoch, Branch branch) {
        std::uint64_t seen = word_.load(std::memory_order_acquire);
        while (seen == pack(epoch, 0, 1) || seen == pack(epoch, 0, 2)) {
            const bool parked = (seen & 0xff) == 2;
            if (defect == Defect::claimByStore) {
                word_.store(pack(epoch, branch, 3), std::memory_order_release);
            } else if (!word_.compare_exchange_weak(seen, pack(epoch, branch, 3), std::memory_order_acq_rel,
                                                    std::memory_order_acquire)) {
                continue;
            }
            return parked ? Claim::enqueue : Claim::early;
        }
        return Claim::lost;
    }
    bool isClaimed() const { return (word_.load(std::memory_order_acquire) & 0xff) == 3; }
    Branch finish() {
        const std::uint64_t word = word_.load(std::memory_order_acquire);
        word_.store(pack(word >> 16, 0, 0), std::memory_order_relaxed);
        return static_cast<Branch>(word >> 8);
    }

  private:
    static std::uint64_t pack(Epoch epoch, Branch branch, unsigned phase) {
        return epoch << 16 | static_cast<std::uint64_t>(branch) << 8 | phase;
    }
    Atomic<std::uint64_t> word_{0};
};

// A fiber and its carrier, which are one thread, and the wakers' side of the fiber.
template <class Token, Defect defect>
class Fiber {
  public:
    Token token;

    // --- the fiber, then its carrier
    // Parks in wait `epoch`, and runs again when a waker has made it runnable; returns the branch that won.
    Branch park(Epoch epoch, bool stopping = false) {
        if (cancellationDue()) (void)wake(epoch, cancelledBranch);  // Suspension::refuse()
        return wait(epoch, stopping);
    }
    // Suspension::parkUninterruptibly()
    Branch parkUninterruptibly(Epoch epoch, bool stopping = false) {
        if (defect == Defect::refusesBlindly && cancellationDue()) (void)wake(epoch, cancelledBranch);
        if (defect != Defect::masksLate) mask_.beginUninterruptible();
        const Branch winner = wait(epoch, stopping);
        mask_.endUninterruptible();
        return winner;
    }
    // CancellationShield
    void shield() { mask_.shield(); }
    void unshield() { mask_.unshield(); }

    // --- any thread
    Claim wake(Epoch epoch, Branch branch) {
        if (branch < shutdownBranch) results_[branch] = branch + 1;
        const Claim claim = token.claim(epoch, branch);
        if (claim != Claim::lost) ++won_;
        if (claim == Claim::enqueue) {
            assertThat(context_ == 1, "whoever enqueues it may resume it at once");
            ++enqueued_;
            (void)queue_.push(node_);
        }
        return claim;
    }

    // cancelFiber()
    void cancel() {
        state_.requestCancel();
        if (const Epoch epoch = cancellableEpoch(); epoch != 0) (void)wake(epoch, cancelledBranch);
    }
    // Carrier::abortParkedFibers(). The home of a fiber that runs elsewhere calls it on another thread.
    void abortParked() {
        if (const Epoch epoch = abortableEpoch(); epoch != 0) (void)wake(epoch, shutdownBranch);
    }

    int won() const { return won_; }

  private:
    Branch wait(Epoch epoch, bool stopping) {
        if (!token.isClaimed()) {
            if (defect != Defect::commitsFirst) context_ = 1;  // the switch to the carrier
            const bool committed = token.commit(epoch);
            if (defect == Defect::masksLate) mask_.beginUninterruptible();
            if (defect == Defect::commitsFirst) context_ = 1;
            if (!committed) ++enqueued_;
            if (committed && stopping) abortParked();
            if (committed && defect != Defect::commitsBlindly && cancellationDue()) (void)wake(epoch, cancelledBranch);
            if (committed) takeFromQueue();
            assertThat(std::exchange(enqueued_, 0) == 1, "one enqueue for each switch");
            assertThat(context_ == 1, "the context is whole");
            context_ = 0;
        }
        const Branch winner = token.finish();
        assertThat(winner < 5 && (winner >= shutdownBranch || results_[winner] == winner + 1), "the winner's result");
        return winner;
    }
    // cancellationDue() of Fiber
    bool cancellationDue() const { return state_.isCancelRequested() && !mask_.holdsOffCancellation(); }
    Epoch cancellableEpoch() const {
        if constexpr (std::is_same_v<Token, ParkToken>) {
            if (defect == Defect::cancelsBlindly) return token.parkedEpoch();
            if (defect == Defect::looksEarly) return mask_.holdsOffCancellation() ? 0 : token.parkedEpoch();
            return mask_.cancellableEpoch(token);
        } else {
            return 0;
        }
    }
    Epoch abortableEpoch() const {
        if constexpr (std::is_same_v<Token, ParkToken>) {
            return defect == Defect::abortsBlindly ? token.parkedEpoch() : mask_.abortableEpoch(token);
        } else {
            return 0;
        }
    }
    void takeFromQueue() {
        await([this] { return !queue_.empty(); });
        assertThat(queue_.takeAll() == &node_, "the fiber itself");
    }

    detail::BasicInTray<Atomics, Node> queue_;
    Node node_;
    Plain<int> context_{0};
    std::array<Plain<int>, 3> results_;
    detail::BasicTaskState<Atomics> state_;
    detail::BasicInterruptMask<Atomics> mask_;
    int enqueued_ = 0;
    int won_ = 0;
};

}  // namespace weft::model::parking
