// ParkState: whether a carrier sleeps, and in what (SCH-2, SCH-5). PARKED means idle: the carrier leaves that state
// right after its blocking call, before it dispatches anything. docs/explanation/protocol.md section 1.
#pragma once

#include <cstdint>

#include <weft/scheduler/detail/atomics.hpp>

namespace weft::detail {

enum class SleepKind : std::uint32_t { none = 0, futex = 1, poller = 2 };

// The victim of the call for help that woke a carrier: its number in the steal cluster, or none.
class CalledBy {
  public:
    constexpr CalledBy() noexcept = default;
    constexpr explicit CalledBy(std::uint32_t victim) noexcept : victim_(victim) {}
    constexpr explicit operator bool() const noexcept { return victim_ != noVictim; }
    constexpr std::uint32_t victim() const noexcept { return victim_; }

  private:
    static constexpr std::uint32_t noVictim = ~std::uint32_t{0};
    std::uint32_t victim_ = noVictim;
};

// Writers: the carrier (advertise, leave), any waker (wake, call). Values: a SleepKind while the carrier sleeps; while
// it is awake, 0, or `called` with the victim in the higher bits.
template <class P>
class BasicParkState {
  public:
    // How a sleep ended.
    struct Ended {
        bool byWaker;
        CalledBy call;  // set only if byWaker
    };

    // Announces that the carrier is about to sleep. The carrier must check for work again before it does. [K2]
    void advertise(SleepKind kind) noexcept {
        word_.exchange(static_cast<std::uint32_t>(kind), std::memory_order_seq_cst);
    }

    // Ends the sleep, whether or not a waker has ended it. An exchange, so that no wake or call is lost. [K4]
    Ended leave() noexcept {
        const std::uint32_t seen =
            word_.exchange(static_cast<std::uint32_t>(SleepKind::none), std::memory_order_seq_cst);
        if (isSleep(seen)) return {false, {}};
        return {true, seen == 0 ? CalledBy() : CalledBy(seen >> kindBits)};
    }

    // Call it after publishing work with a seq_cst RMW or store [K1]. Takes the right to wake a sleeping carrier: the
    // caller must wake it from the returned kind of sleep, once. `none`: the carrier is awake, or another waker wakes
    // it.
    [[nodiscard]] SleepKind wake() noexcept { return wakeAs(static_cast<std::uint32_t>(SleepKind::none)); }
    // As wake(), and tells the carrier to help `victim`. The caller's search passes to the carrier, which finds it by
    // leave(). [D5]
    [[nodiscard]] SleepKind call(std::uint32_t victim) noexcept { return wakeAs(called | victim << kindBits); }

    SleepKind current() const noexcept {
        const std::uint32_t seen = word_.load(std::memory_order_seq_cst);  // [K3]
        return isSleep(seen) ? static_cast<SleepKind>(seen) : SleepKind::none;
    }

    // The word itself, for a futex wait while it holds SleepKind::futex.
    auto& word() noexcept { return word_; }

  private:
    static constexpr std::uint32_t called = 3;
    static constexpr unsigned kindBits = 2;

    static bool isSleep(std::uint32_t word) noexcept {
        return word == static_cast<std::uint32_t>(SleepKind::futex) ||
               word == static_cast<std::uint32_t>(SleepKind::poller);
    }
    SleepKind wakeAs(std::uint32_t next) noexcept {
        std::uint32_t seen = word_.load(std::memory_order_seq_cst);  // [K1]
        while (isSleep(seen)) {
            // Acquires, too: the sleep may be that of a later poller, whose callback the winner calls. [K2]
            if (word_.compare_exchange_weak(seen, next, std::memory_order_seq_cst, std::memory_order_seq_cst)) {
                return static_cast<SleepKind>(seen);
            }
        }
        return SleepKind::none;
    }

    typename P::template Atomic<std::uint32_t> word_{0};
};

using ParkState = BasicParkState<NativeAtomics>;

}  // namespace weft::detail
