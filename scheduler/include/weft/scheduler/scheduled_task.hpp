// ScheduledTask: the handle of a task that an event loop runs later or again and again.
#pragma once

#include <memory>

namespace weft {

namespace detail {
struct ScheduledEntry;
}

// Copyable; dropping every copy does not cancel the task. Context: any thread; never blocks or throws.
class ScheduledTask {
  public:
    ScheduledTask() = default;
    explicit ScheduledTask(std::shared_ptr<detail::ScheduledEntry> entry) noexcept : entry_(std::move(entry)) {}

    // Asks that the task not run again. True: it had not ended, and no run begins after this call on the loop's own
    // thread; from another thread a run that has already begun, or begins meanwhile, still finishes.
    bool cancel() noexcept;
    // True when it has run (not periodic), was cancelled, or threw.
    bool done() const noexcept;
    explicit operator bool() const noexcept { return entry_ != nullptr; }

  private:
    std::shared_ptr<detail::ScheduledEntry> entry_;
};

}  // namespace weft
