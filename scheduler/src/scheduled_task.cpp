// EventLoop: timed tasks.
#include <weft/scheduler/scheduled_task.hpp>

#include <algorithm>

#include <weft/scheduler/carrier.hpp>
#include <weft/scheduler/errors.hpp>

#include "scheduled_entry.hpp"

namespace weft {

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
    const TimePoint now = clock_.now();
    const Deadline due = deadlineAfter(now, std::max(delay, Duration::zero()));
    auto entry = std::make_shared<ScheduledEntry>(*this, std::move(task), due, period, fixedRate);
    if (inEventLoop() && !closed_) {
        timers().catchUp(now);
        armScheduled(entry, due);
        return ScheduledTask(std::move(entry));
    }
    entry->self = entry;
    if (execute(*entry)) return ScheduledTask(std::move(entry));
    entry->self.reset();
    throw SystemError(operationAborted(), "EventLoop::schedule on a loop that has ended");
}

void EventLoop::armScheduled(const std::shared_ptr<ScheduledEntry>& entry, Deadline due) noexcept {
    if (closed_) return entry->abandon();
    if (!entry->state.isWaiting()) return entry->task.reset();  // cancelled while it was queued
    entry->self = entry;
    entry->listed = true;
    entry->nextArmed = firstArmed_;
    if (firstArmed_) firstArmed_->previousArmed = entry.get();
    firstArmed_ = entry.get();
    timers().arm(*entry, due);
}

EventLoop::EntryPointer EventLoop::disarmScheduled(ScheduledEntry& entry) noexcept {
    if (!std::exchange(entry.listed, false)) return nullptr;
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

// The timer is due: queues the task in the loop, in the order of deadlines (L-2).
void ScheduledEntry::fired(TimerEntry& timer) noexcept {
    auto& entry = static_cast<ScheduledEntry&>(timer);
    EventLoop& loop = entry.inbox->loop;
    entry.self = loop.disarmScheduled(entry);
    entry.isDue = true;
    loop.tasks_.push(entry);
}

void ScheduledEntry::run() noexcept {
    const auto queued = std::move(self);
    EventLoop& loop = inbox->loop;
    std::exchange(isDue, false) ? loop.runScheduled(queued) : loop.armScheduled(queued, deadline());
}

void ScheduledEntry::abandon() noexcept {
    const auto queued = std::move(self);
    state.abandon();
    task.reset();
}

void EventLoop::runScheduled(const std::shared_ptr<ScheduledEntry>& entry) noexcept {
    if (!entry->state.beginRun()) return entry->task.reset();  // cancelled while it was queued
    const bool again = succeeds(entry->task) && entry->period != Duration::zero();
    if (!again) entry->state.end();
    if (!again || !entry->state.endRun()) return entry->task.reset();  // ended, or cancelled during the run
    armScheduled(entry, deadlineAfter(entry->fixedRate ? entry->deadline() : clock_.now(), entry->period));
}

bool ScheduledTask::cancel() noexcept {
    if (!entry_) return false;
    const detail::CancelDuty duty = entry_->state.cancel(entry_->period != Duration::zero());
    if (duty == detail::CancelDuty::forget) EventLoop::forget(entry_);
    return duty != detail::CancelDuty::none;
}

// Unlinks a cancelled entry from the wheel and destroys its task's function, which may own much memory: at once on the
// loop's thread, otherwise by a task of the loop. A loop that has ended has done so already.
void EventLoop::forget(const std::shared_ptr<ScheduledEntry>& entry) noexcept {
    ScheduledEntry::Cancellation& cancellation = entry->cancellation;
    cancellation.self = entry;
    if (entry->inbox->thread.isHere()) return cancellation.run();
    if (!entry->inbox->post(cancellation)) cancellation.abandon();
}

void ScheduledEntry::Cancellation::run() noexcept {
    const auto queued = std::move(self);
    const auto armed = queued->inbox->loop.disarmScheduled(*queued);
    queued->task.reset();
}

bool ScheduledTask::done() const noexcept {
    return !entry_ || entry_->state.isDone();
}

}  // namespace weft
