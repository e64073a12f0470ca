// ScheduledTask: a handle to a delayed or periodic task of an event loop.
#pragma once

#include <memory>

namespace weft {

namespace detail {
struct ScheduledEntry;
}

// Copyable; destroying every copy does not cancel the task. Context: any thread; never blocks or throws.
class ScheduledTask {
  public:
    ScheduledTask() = default;
    explicit ScheduledTask(std::shared_ptr<detail::ScheduledEntry> entry) noexcept : entry_(std::move(entry)) {}

    // Prevents further runs of the task. Returns false, without effect, if the task has ended or has been cancelled, or
    // if its only run has begun. After true no new run begins; a run of a periodic task that has begun still finishes.
    bool cancel() noexcept;
    // True once the task has run (unless periodic), was cancelled, or threw.
    bool done() const noexcept;
    explicit operator bool() const noexcept { return entry_ != nullptr; }

  private:
    std::shared_ptr<detail::ScheduledEntry> entry_;
};

}  // namespace weft
