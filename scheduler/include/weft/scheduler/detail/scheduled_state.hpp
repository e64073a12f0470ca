// ScheduledState: decides between a loop that begins a timed task's run and a canceller on any thread.
// docs/protocol.md section 9.
#pragma once

#include <atomic>
#include <cstdint>

#include <weft/scheduler/detail/atomics.hpp>

namespace weft::detail {

// What the caller of cancel() now owes.
enum class [[nodiscard]] CancelDuty : std::uint8_t{
    none,    // it ran, runs for the only time, or was cancelled before: the call had no effect
    forget,  // cancelled while it waited: let go of the task in the loop
    leave,   // cancelled during a run, which lets go of the task by itself
};

// waiting -> running -> ended, or back to waiting (periodic); waiting or running -> cancelled.
template <class P>
class BasicScheduledState {
  public:
    bool isWaiting() const noexcept { return load() == State::waiting; }
    bool isDone() const noexcept {
        const State state = load();
        return state == State::cancelled || state == State::ended;
    }

    // The loop: false when it has been cancelled, then it must not run.
    [[nodiscard]] bool beginRun() noexcept { return move(State::waiting, State::running); }
    // The loop, after a run that will be repeated: false when it was cancelled during the run.
    [[nodiscard]] bool endRun() noexcept { return move(State::running, State::waiting); }
    // The loop, after the last run.
    void end() noexcept { state_.store(State::ended, std::memory_order_release); }  // [S1]
    // The loop, when it ends: cancelled whatever it was.
    void abandon() noexcept { state_.store(State::cancelled, std::memory_order_release); }  // [S1]

    // Any thread.
    CancelDuty cancel(bool periodic) noexcept {
        State seen = load();
        do {
            if (seen == State::cancelled || seen == State::ended) return CancelDuty::none;
            if (seen == State::running && !periodic) return CancelDuty::none;
        } while (!state_.compare_exchange_weak(seen, State::cancelled, std::memory_order_acq_rel,  // [S1]
                                               std::memory_order_acquire));                        // [S1]
        return seen == State::waiting ? CancelDuty::forget : CancelDuty::leave;
    }

  private:
    enum class State : std::uint8_t { waiting, running, cancelled, ended };

    State load() const noexcept { return state_.load(std::memory_order_acquire); }  // [S1]
    bool move(State from, State to) noexcept {
        return state_.compare_exchange_strong(from, to, std::memory_order_acq_rel, std::memory_order_relaxed);  // [S1]
    }

    typename P::template Atomic<State> state_{State::waiting};
};

}  // namespace weft::detail
