// ScheduledState: the state of a timed task. It arbitrates between the loop, which runs the task, and cancellers on any
// thread. docs/explanation/protocol.md section 9.
#pragma once

#include <atomic>
#include <cstdint>

#include <weft/scheduler/detail/atomics.hpp>

namespace weft::detail {

// What the caller of cancel() must do.
enum class [[nodiscard]] CancelDuty : std::uint8_t{
    none,    // nothing; no effect: the task has run, is in its only run, or was cancelled before
    forget,  // cancelled while it waited: destroy the task's function in the loop
    leave,   // nothing: cancelled during a run, after which the loop destroys the function
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

    // The loop, before a run. False: the task was cancelled and must not run.
    [[nodiscard]] bool beginRun() noexcept { return move(State::waiting, State::running); }
    // The loop, after a run that will be repeated. False: the task was cancelled during the run.
    [[nodiscard]] bool endRun() noexcept { return move(State::running, State::waiting); }
    // The loop, after the last run.
    void end() noexcept { state_.store(State::ended, std::memory_order_release); }  // [S1]
    // The loop, when it ends: cancels the task in any state.
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
