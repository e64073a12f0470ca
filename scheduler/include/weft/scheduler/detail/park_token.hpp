// ParkToken: the suspension protocol. A task registers while it still runs (prepare), the wait is committed once the
// task's context is saved, or by the task itself where only its own thread can resume it [T4], and exactly one waker
// claims it. docs/explanation/protocol.md section 2, docs/adr/0001.
#pragma once

#include <cstdint>

#include <weft/scheduler/detail/atomics.hpp>

namespace weft::detail {

// What the caller of claim() must do.
enum class [[nodiscard]] Claim : std::uint8_t{
    lost,     // nothing: another waker was first, or the wait is over. Keep the resource, do not touch the task.
    early,    // nothing: won before the commit, which will find the claim. Do not touch the task.
    enqueue,  // won: the wait is committed, and the caller must make the task runnable
};

// The word: [epoch:48 | branch:8 | phase:8]. Writers: the task (prepare, abort, finish), the task or its scheduler
// (commit), any thread that holds {epoch, branch} (claim). Each wait has an epoch, which never repeats, so a late claim
// fails.
template <class P>
class BasicParkToken {
  public:
    using Epoch = std::uint64_t;
    using Branch = std::uint8_t;

    // Begins a wait. Context: the running task.
    Epoch prepare() noexcept {
        // relaxed: only the task leaves `running`, so no other thread writes now [T0]. A key with the epoch reaches a
        // waker through an object's lock or a release store.
        const Epoch epoch = epochOf(word_.load(std::memory_order_relaxed)) + 1;
        word_.store(pack(epoch, 0, preparing), std::memory_order_relaxed);
        return epoch;
    }

    // Ends the wait without suspending. False: a waker has claimed it already; call finish(), which returns the branch.
    [[nodiscard]] bool abort(Epoch epoch) noexcept {
        std::uint64_t expected = pack(epoch, 0, preparing);
        return word_.compare_exchange_strong(expected, pack(epoch, 0, running), std::memory_order_acquire,
                                             std::memory_order_acquire);  // [T3] reads what the claimer published
    }

    // Publishes that the task may be made runnable. Context: the scheduler, after the switch; or the task [T4]. False:
    // a waker has claimed the wait meanwhile, and the caller must make the task runnable.
    [[nodiscard]] bool commit(Epoch epoch) noexcept {
        std::uint64_t expected = pack(epoch, 0, preparing);
        return word_.compare_exchange_strong(expected, pack(epoch, 0, parked),
                                             std::memory_order_seq_cst,  // [T1] the saved context, to the claimer; [X1]
                                             std::memory_order_acquire);  // [T3]
    }

    // Tries to end wait `epoch` with `branch`. Context: any thread that knows that the task is alive.
    Claim claim(Epoch epoch, Branch branch) noexcept {
        // relaxed: not older than prepare(), because the key reached this caller after it [T0]. The CAS decides.
        std::uint64_t seen = word_.load(std::memory_order_relaxed);
        while (seen == pack(epoch, 0, preparing) || seen == pack(epoch, 0, parked)) {
            if (word_.compare_exchange_weak(seen, pack(epoch, branch, claimed),
                                            std::memory_order_acq_rel,  // [T1] the context, [T2] the result
                                            std::memory_order_relaxed)) {
                return phaseOf(seen) == parked ? Claim::enqueue : Claim::early;
            }
        }
        return Claim::lost;
    }

    bool isClaimed() const noexcept { return phaseOf(word_.load(std::memory_order_acquire)) == claimed; }  // [T2]

    // Ends a claimed wait; returns the branch that won. Context: the resumed task.
    Branch finish() noexcept {
        const std::uint64_t word = word_.load(std::memory_order_acquire);         // [T2]
        word_.store(pack(epochOf(word), 0, running), std::memory_order_relaxed);  // [T0]
        return static_cast<Branch>(word >> 8);
    }

    // The epoch of the current wait if it is parked; otherwise 0. Context: any thread that knows that the task is
    // alive.
    Epoch parkedEpoch() const noexcept {
        const std::uint64_t word = word_.load(std::memory_order_seq_cst);  // [X1]
        return phaseOf(word) == parked ? epochOf(word) : 0;
    }

  private:
    enum Phase : std::uint8_t { running = 0, preparing = 1, parked = 2, claimed = 3 };

    static constexpr std::uint64_t pack(Epoch epoch, Branch branch, Phase phase) noexcept {
        return epoch << 16 | static_cast<std::uint64_t>(branch) << 8 | phase;
    }
    static constexpr Epoch epochOf(std::uint64_t word) noexcept { return word >> 16; }
    static constexpr Phase phaseOf(std::uint64_t word) noexcept { return static_cast<Phase>(word & 0xff); }

    typename P::template Atomic<std::uint64_t> word_{0};
};

using ParkToken = BasicParkToken<NativeAtomics>;

}  // namespace weft::detail
