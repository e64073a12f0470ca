// ScheduledEntry: a task that waits in its loop's timer wheel. Private to the event loop.
#pragma once

#include <memory>
#include <utility>

#include <weft/scheduler/detail/scheduled_state.hpp>
#include <weft/scheduler/event_loop.hpp>
#include <weft/scheduler/timer_wheel.hpp>

namespace weft::detail {

// Shared by its handles and, while it is armed or queued, by the loop. A handle may outlive the loop: it touches the
// loop only on the loop's own thread and while the entry waits there, and else leaves word in the inbox.
struct ScheduledEntry final : TimerEntry {
    ScheduledEntry(EventLoop& itsLoop, EventLoop::Task itsTask, Duration itsPeriod, bool atFixedRate)
        : TimerEntry(&ScheduledEntry::fired),
          loop(&itsLoop),
          thread(itsLoop.thread_),
          inbox(itsLoop.inbox_),
          task(std::move(itsTask)),
          period(itsPeriod),
          fixedRate(atFixedRate) {}

    static void fired(TimerEntry& entry) noexcept;

    // It will not run any more. Context: the loop, or whoever destroys it.
    void abandon() noexcept {
        state.abandon();
        task.reset();
    }

    EventLoop* const loop;
    const LoopThread thread;
    const std::shared_ptr<EventLoop::Inbox> inbox;
    EventLoop::Task task;   // the loop's thread
    const Duration period;  // zero: once
    const bool fixedRate;
    Deadline due{};  // the loop's thread
    BasicScheduledState<NativeAtomics> state;
    ScheduledEntry* previousArmed = nullptr;  // the loop's list of armed entries
    ScheduledEntry* nextArmed = nullptr;
    std::shared_ptr<ScheduledEntry> self;  // set while armed
};

// An entry on its way through a task queue. A queue that is thrown away abandons it, so that no handle waits for it.
class QueuedEntry {
  public:
    explicit QueuedEntry(std::shared_ptr<ScheduledEntry> entry) noexcept : entry_(std::move(entry)) {}
    QueuedEntry(QueuedEntry&&) noexcept = default;
    QueuedEntry& operator=(QueuedEntry&&) = delete;
    ~QueuedEntry() {
        if (entry_) entry_->abandon();
    }
    std::shared_ptr<ScheduledEntry> arrive() noexcept { return std::move(entry_); }

  private:
    std::shared_ptr<ScheduledEntry> entry_;
};

}  // namespace weft::detail
