// Timed tasks of an event loop: arming, firing, repeating, cancelling.
#include <weft/scheduler/scheduled_task.hpp>

#include <weft/scheduler/carrier.hpp>
#include <weft/scheduler/errors.hpp>

#include "scheduled_entry.hpp"

namespace weft {

using detail::QueuedEntry;
using detail::ScheduledEntry;

ScheduledTask EventLoop::schedule(Task task, Duration delay) {
    return scheduleTask(std::move(task), delay, Duration::zero(), false);
}

ScheduledTask EventLoop::scheduleAtFixedRate(Task task, Duration initialDelay, Duration period) {
    if (period <= Duration::zero())
        throw std::invalid_argument("EventLoop::scheduleAtFixedRate: the period must be positive");
    return scheduleTask(std::move(task), initialDelay, period, true);
}

ScheduledTask EventLoop::scheduleWithFixedDelay(Task task, Duration initialDelay, Duration delay) {
    if (delay <= Duration::zero())
        throw std::invalid_argument("EventLoop::scheduleWithFixedDelay: the delay must be positive");
    return scheduleTask(std::move(task), initialDelay, delay, false);
}

ScheduledTask EventLoop::scheduleTask(Task task, Duration delay, Duration period, bool fixedRate) {
    auto entry = std::make_shared<ScheduledEntry>(*this, std::move(task), period, fixedRate);
    const TimePoint now = clock_.now();
    entry->due = delay >= never - now ? never : now + std::max(delay, Duration::zero());
    if (inEventLoop()) {
        if (closed_) throw SystemError(operationAborted(), "EventLoop::schedule on a loop that has ended");
        timers().catchUp(now);
        armScheduled(entry);
    } else {
        execute([this, queued = QueuedEntry(entry)]() mutable { armScheduled(queued.arrive()); });
    }
    return ScheduledTask(std::move(entry));
}

void EventLoop::armScheduled(const std::shared_ptr<ScheduledEntry>& entry) {
    if (closed_) return entry->abandon();
    if (!entry->state.isWaiting()) return entry->task.reset();  // cancelled on the way here
    entry->self = entry;
    entry->nextArmed = firstArmed_;
    if (firstArmed_) firstArmed_->previousArmed = entry.get();
    firstArmed_ = entry.get();
    timers().arm(*entry, entry->due);
}

EventLoop::EntryPointer EventLoop::disarmScheduled(ScheduledEntry& entry) noexcept {
    if (!entry.self) return nullptr;
    timers().disarm(entry);
    (entry.previousArmed ? entry.previousArmed->nextArmed : firstArmed_) = entry.nextArmed;
    if (entry.nextArmed) entry.nextArmed->previousArmed = entry.previousArmed;
    entry.previousArmed = entry.nextArmed = nullptr;
    return std::move(entry.self);
}

void EventLoop::cancelScheduled() noexcept {
    while (firstArmed_ != nullptr) {
        disarmScheduled(*firstArmed_)->abandon();
    }
}

// The timer is due: the task runs as a loop task, in the order of deadlines (L-2).
void ScheduledEntry::fired(TimerEntry& timer) noexcept {
    auto& entry = static_cast<ScheduledEntry&>(timer);
    EventLoop& loop = *entry.loop;
    std::shared_ptr<ScheduledEntry> due = loop.disarmScheduled(entry);
    try {
        loop.tasks_.reserveOne();
    } catch (const std::bad_alloc&) {
        return loop.armScheduled(due);  // it comes again at once, and maybe there is memory then
    }
    loop.tasks_.push([&loop, queued = QueuedEntry(std::move(due))]() mutable { loop.runScheduled(queued.arrive()); });
}

void EventLoop::runScheduled(const std::shared_ptr<ScheduledEntry>& entry) {
    if (!entry->state.beginRun()) return entry->task.reset();  // cancelled while it was queued
    try {
        entry->task();
    } catch (...) {
        entry->state.end();
        throw;  // reported as a task's error; a periodic task ends by it
    }
    if (entry->period == Duration::zero()) {
        entry->state.end();
        entry->task.reset();
        return;
    }
    if (!entry->state.endRun()) {
        entry->task.reset();  // cancelled meanwhile
        return;
    }
    entry->due = (entry->fixedRate ? entry->due : clock_.now()) + entry->period;
    armScheduled(entry);
}

bool ScheduledTask::cancel() noexcept {
    if (!entry_) return false;
    const detail::CancelDuty duty = entry_->state.cancel(entry_->period != Duration::zero());
    if (duty == detail::CancelDuty::forget) EventLoop::forget(entry_);
    return duty != detail::CancelDuty::none;
}

// Unlinks a cancelled entry from the wheel and lets go of its task, which may hold on to a good deal: at once in the
// loop, else by a task of the loop. A loop that has ended has done it.
void EventLoop::forget(const std::shared_ptr<ScheduledEntry>& entry) noexcept {
    const auto drop = [](const std::shared_ptr<ScheduledEntry>& cancelled) {
        const auto self = cancelled->loop->disarmScheduled(*cancelled);
        cancelled->task.reset();
    };
    if (entry->thread.isHere()) return drop(entry);
    try {
        static_cast<void>(entry->inbox->post([drop, entry] { drop(entry); }));
    } catch (const std::bad_alloc&) {
        // The entry is cancelled all the same and goes when its time comes.
    }
}

bool ScheduledTask::done() const noexcept {
    return !entry_ || entry_->state.isDone();
}

}  // namespace weft
