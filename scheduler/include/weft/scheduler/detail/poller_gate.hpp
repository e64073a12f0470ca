// PollerGate: the right to host a poller on a carrier, and the count that keeps the poller's wakeup callback alive
// until the last call has returned (SCH-10). docs/explanation/protocol.md section 5.
#pragma once

#include <atomic>
#include <cstdint>

#include <weft/scheduler/detail/atomics.hpp>

namespace weft::detail {

template <class P>
class BasicPollerGate {
  public:
    enum class [[nodiscard]] Claimed : unsigned char{yes, taken, closed};

    // Any thread: takes the gate if it is free.
    Claimed claim() noexcept {
        State seen = State::free;
        if (state_.compare_exchange_strong(seen, State::taken, std::memory_order_acquire,  // [R1]
                                           std::memory_order_relaxed)) {
            return Claimed::yes;
        }
        return seen == State::taken ? Claimed::taken : Claimed::closed;
    }
    // The claimer or the carrier: frees the gate. The next claimer sees all writes to the previous poller.
    void unclaim() noexcept { state_.store(State::free, std::memory_order_release); }  // [R1]
    // The ending carrier: refuses pollers from now on; false while the gate is taken.
    [[nodiscard]] bool closeIfFree() noexcept {
        State seen = State::free;
        return state_.compare_exchange_strong(seen, State::closed, std::memory_order_acquire,  // [R1]
                                              std::memory_order_relaxed) ||
               seen == State::closed;
    }

    // A waker that ended a sleep in the poller: once, after its call of the callback has returned.
    void noteDelivered() noexcept { delivered_.fetch_add(1, std::memory_order_release); }  // [R2]
    // The carrier: notes that a waker has ended a sleep in the poller (its call may still be running).
    void countWake() noexcept { ++received_; }
    // The carrier: true if every call has returned.
    bool settled() const noexcept { return delivered_.load(std::memory_order_acquire) == received_; }  // [R2]

  private:
    enum class State : unsigned char { free, taken, closed };

    alignas(cacheLine) typename P::template Atomic<State> state_{State::free};  // writers: claimer, carrier
    typename P::template Atomic<std::uint64_t> delivered_{0};                   // writers: wakers
    std::uint64_t received_ = 0;                                                // the carrier's thread
};

}  // namespace weft::detail
