// ScheduledEntry: a task that waits in its loop's timer wheel. Private to the event loop.
#pragma once

#include <memory>
#include <utility>

#include <weft/scheduler/detail/scheduled_state.hpp>
#include <weft/scheduler/event_loop.hpp>
#include <weft/scheduler/timer_wheel.hpp>

namespace weft::detail {

// Shared by its handles and, while it is armed or queued, by the loop. A handle may outlive the loop: it touches the
// loop only on the loop's own thread and while the entry waits there, and else leaves word in the inbox. It is a task
// of the loop itself, on its way to the wheel and when it is due, so that neither needs memory.
struct ScheduledEntry final : TimerEntry, LoopTask {
    ScheduledEntry(EventLoop& itsLoop, EventLoop::Task itsTask, Duration itsPeriod, bool atFixedRate)
        : TimerEntry(&ScheduledEntry::fired),
          loop(&itsLoop),
          thread(itsLoop.thread_),
          inbox(itsLoop.inbox_),
          task(std::move(itsTask)),
          period(itsPeriod),
          fixedRate(atFixedRate),
          cancellation(*this) {}

    static void fired(TimerEntry& entry) noexcept;
    void run() noexcept override;
    // It will not run any more. Context: the loop, or whoever destroys it.
    void abandon() noexcept override;

    // The word that a cancellation on another thread leaves.
    struct Cancellation final : LoopTask {
        explicit Cancellation(ScheduledEntry& itsEntry) noexcept : entry(itsEntry) {}
        void run() noexcept override;
        void abandon() noexcept override { self.reset(); }

        ScheduledEntry& entry;
        std::shared_ptr<ScheduledEntry> self;  // while it is queued
    };

    EventLoop* const loop;
    const LoopThread thread;
    const std::shared_ptr<EventLoop::Inbox> inbox;
    EventLoop::Task task;   // the loop's thread
    const Duration period;  // zero: once
    const bool fixedRate;
    bool listed = false;  // among the loop's armed entries
    bool isDue = false;   // queued because its time has come
    Deadline due{};       // the loop's thread
    BasicScheduledState<NativeAtomics> state;
    ScheduledEntry* previousArmed = nullptr;  // the loop's list of armed entries
    ScheduledEntry* nextArmed = nullptr;
    std::shared_ptr<ScheduledEntry> self;  // while armed or queued
    Cancellation cancellation;             // happens once
};

}  // namespace weft::detail
