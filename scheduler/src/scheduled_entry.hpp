// ScheduledEntry: a task that waits in its loop's timer wheel. Private to the event loop.
#pragma once

#include <memory>

#include <weft/scheduler/detail/scheduled_state.hpp>
#include <weft/scheduler/event_loop.hpp>
#include <weft/scheduler/timer_wheel.hpp>

namespace weft::detail {

// Shared by its handles and, while it is armed or queued, by the loop.
struct ScheduledEntry final : TimerEntry, std::enable_shared_from_this<ScheduledEntry> {
    ScheduledEntry(EventLoop& itsLoop, EventLoop::Task itsTask, Duration itsPeriod, bool atFixedRate)
        : TimerEntry(&ScheduledEntry::fired),
          loop(&itsLoop),
          task(std::move(itsTask)),
          period(itsPeriod),
          fixedRate(atFixedRate) {}

    static void fired(TimerEntry& entry) noexcept;

    EventLoop* const loop;
    EventLoop::Task task;   // the loop's thread
    const Duration period;  // zero: once
    const bool fixedRate;
    Deadline due{};  // the loop's thread
    BasicScheduledState<NativeAtomics> state;
    ScheduledEntry* previousArmed = nullptr;  // the loop's list of armed entries
    ScheduledEntry* nextArmed = nullptr;
    std::shared_ptr<ScheduledEntry> self;  // set while armed
};

}  // namespace weft::detail
