// ParkState: whether a carrier sleeps and in what (W2, W5). PARKED means idle: the carrier leaves it right after its
// blocking call, before it dispatches anything. docs/protocol.md section 1.
#pragma once

#include <cstdint>

#include <weft/scheduler/detail/atomics.hpp>

namespace weft::detail {

enum class SleepKind : std::uint32_t { none = 0, futex = 1, poller = 2 };

// Writers: the carrier (advertise, leave), any waker (wake). Values: SleepKind; later also SEARCHING + victim.
template <class P>
class BasicParkState {
  public:
    // Says that the carrier is about to sleep. The carrier must look for work again before it does. [K2]
    void advertise(SleepKind kind) noexcept {
        word_.exchange(static_cast<std::uint32_t>(kind), std::memory_order_seq_cst);
    }

    // Back to running, whoever was first; true when a waker was. An exchange, so that no wake is overlooked. [K4]
    bool leave() noexcept {
        return word_.exchange(static_cast<std::uint32_t>(SleepKind::none), std::memory_order_seq_cst) ==
               static_cast<std::uint32_t>(SleepKind::none);
    }

    // After the work has been published with a seq_cst RMW [K1]: takes the right to wake a sleeping carrier. The caller
    // wakes it in the returned way, once; `none` means that it is awake or that somebody else wakes it.
    [[nodiscard]] SleepKind wake() noexcept {
        std::uint32_t seen = word_.load(std::memory_order_seq_cst);  // [K1]
        while (seen != static_cast<std::uint32_t>(SleepKind::none)) {
            // It acquires, too: the sleep may be that of a later poller, whose callback the winner calls. [K2]
            if (word_.compare_exchange_weak(seen, static_cast<std::uint32_t>(SleepKind::none),
                                            std::memory_order_seq_cst, std::memory_order_seq_cst)) {
                return static_cast<SleepKind>(seen);
            }
        }
        return SleepKind::none;
    }

    SleepKind current() const noexcept {
        return static_cast<SleepKind>(word_.load(std::memory_order_seq_cst));
    }  // [K3]

    // The word itself, for a futex wait while it holds SleepKind::futex.
    auto& word() noexcept { return word_; }

  private:
    typename P::template Atomic<std::uint32_t> word_{0};
};

using ParkState = BasicParkState<NativeAtomics>;

}  // namespace weft::detail
