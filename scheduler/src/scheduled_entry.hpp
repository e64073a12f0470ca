// ScheduledEntry: a timed task of an event loop. Private to the event loop.
#pragma once

#include <memory>
#include <utility>

#include <weft/scheduler/detail/scheduled_state.hpp>
#include <weft/scheduler/event_loop.hpp>
#include <weft/scheduler/timer_wheel.hpp>

namespace weft::detail {

// Its handles and, while it is armed or queued, the loop share it. A handle may outlive the loop: it uses the loop only
// on the loop's own thread and while the entry waits there; otherwise it posts a Cancellation to the inbox. The entry
// itself is the loop task that arms it and the one that runs it, so that neither needs an allocation.
struct ScheduledEntry final : TimerEntry, LoopTask {
    ScheduledEntry(EventLoop& loop, EventLoop::Task task, Deadline due, Duration period, bool atFixedRate)
        : TimerEntry(&ScheduledEntry::fired, due),
          inbox(loop.inbox_),
          task(std::move(task)),
          period(period),
          fixedRate(atFixedRate) {}

    static void fired(TimerEntry& timer) noexcept;
    void run() noexcept override;
    // The task will not run any more. Context: the loop, or the thread that destroys it.
    void abandon() noexcept override;

    // The loop task that a cancellation on another thread posts.
    struct Cancellation final : LoopTask {
        void run() noexcept override;
        void abandon() noexcept override { self.reset(); }

        std::shared_ptr<ScheduledEntry> self;  // its entry, while it is queued
    };

    const std::shared_ptr<EventLoop::Inbox> inbox;
    EventLoop::Task task;   // the loop's thread
    const Duration period;  // zero: once
    const bool fixedRate;
    bool listed = false;  // among the loop's armed entries
    bool isDue = false;   // queued because its time has come
    BasicScheduledState<NativeAtomics> state;
    ScheduledEntry* previousArmed = nullptr;  // the loop's list of armed entries
    ScheduledEntry* nextArmed = nullptr;
    std::shared_ptr<ScheduledEntry> self;  // while armed or queued
    Cancellation cancellation;             // queued at most once
};

}  // namespace weft::detail
