// PollerSlot: the one poller that a carrier can host, and the count that keeps its wakeup callback alive until the last
// call has returned (W10). docs/protocol.md section 5.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <optional>

#include <weft/scheduler/detail/atomics.hpp>
#include <weft/scheduler/future.hpp>
#include <weft/scheduler/unique_function.hpp>

namespace weft::detail {

struct Fiber;

class PollerSlot {
  public:
    enum class [[nodiscard]] Claimed : unsigned char{yes, taken, closed};

    // Any thread: takes the slot if it is free.
    Claimed claim() noexcept {
        State seen = State::free;
        if (state_.compare_exchange_strong(seen, State::taken, std::memory_order_acquire, std::memory_order_acquire)) {
            return Claimed::yes;  // [R1]
        }
        return seen == State::taken ? Claimed::taken : Claimed::closed;
    }
    // The claimer, before the poller runs.
    Future<void> fill(UniqueFunction<void()> wakeup) {
        wakeup_ = std::move(wakeup);
        termination_.emplace();
        error_ = nullptr;
        return termination_->future();
    }
    // The claimer, when the poller could not be started.
    void unclaim() noexcept {
        wakeup_.reset();
        termination_.reset();
        state_.store(State::free, std::memory_order_release);  // [R1]
    }
    // The ending carrier: no poller from now on; false while there is one.
    [[nodiscard]] bool closeIfFree() noexcept {
        State seen = State::free;
        return state_.compare_exchange_strong(seen, State::closed, std::memory_order_acquire,
                                              std::memory_order_relaxed) ||
               seen == State::closed;
    }

    // A waker that won the carrier's sleep: exactly one call per sleep.
    void wake() noexcept {
        wakeup_();
        delivered_.fetch_add(1, std::memory_order_release);  // [R2] the call has returned
    }
    // The carrier: a waker ended a sleep in the poller (its wake() call may still be running).
    void countWake() noexcept { ++received_; }

    void setError(std::exception_ptr error) noexcept { error_ = std::move(error); }

    // The carrier, after the body has ended: waits for the last wakeup call, frees the slot, then tells who waits.
    void release() noexcept;

  private:
    enum class State : unsigned char { free, taken, closed };

    alignas(cacheLine) std::atomic<State> state_{State::free};  // writers: claimer, carrier
    std::atomic<std::uint64_t> delivered_{0};                   // writers: wakers
    std::uint64_t received_ = 0;                                // the carrier's thread
    UniqueFunction<void()> wakeup_;  // written while claimed and not running; read by wakers of a sleep
    std::optional<Promise<void>> termination_;
    std::exception_ptr error_;
};

}  // namespace weft::detail
