// ExecutorTask: a function that an executor was given. ExecutorTasks: the queue of those that wait in their context.
#pragma once

#include <weft/scheduler/loop_task.hpp>

namespace weft::asio_io::detail {

class ServedContext;

// Handed from the caller to the loop and, until the context runs, to the context's queue.
class ExecutorTask : public LoopTask {
  public:
    // Frees this task, then calls its function, which may throw. Context: the loop's dispatch.
    virtual void call() = 0;
    // Frees this task and its function. Any thread.
    virtual void destroy() noexcept = 0;

  protected:
    explicit ExecutorTask(ServedContext& context) noexcept : context_(context) {}

  private:
    friend class ExecutorTasks;
    friend class ServedContext;
    void run() noexcept final;
    void abandon() noexcept final;

    ServedContext& context_;
    ExecutorTask* next_ = nullptr;
    bool counted_ = false;  // as work of the context until it has run
};

// First in, first out. Context: the loop, or where nothing else has it any more.
class ExecutorTasks {
  public:
    bool empty() const noexcept { return first_ == nullptr; }
    void push(ExecutorTask& task) noexcept {
        task.next_ = nullptr;
        *last_ = &task;
        last_ = &task.next_;
    }
    // Not counted as work: what its context holds for itself stands for it. It may have been counted before.
    void pushUncounted(ExecutorTask& task) noexcept {
        task.counted_ = false;
        lastUncounted_ = &task;
        push(task);
    }
    bool anyUncounted() const noexcept { return lastUncounted_ != nullptr; }
    // The queue must not be empty.
    ExecutorTask& take() noexcept {
        ExecutorTask& task = *first_;
        first_ = task.next_;
        if (first_ == nullptr) last_ = &first_;
        if (&task == lastUncounted_) lastUncounted_ = nullptr;
        return task;
    }
    static bool isCounted(const ExecutorTask& task) noexcept { return task.counted_; }

  private:
    ExecutorTask* first_ = nullptr;
    ExecutorTask** last_ = &first_;
    const ExecutorTask* lastUncounted_ = nullptr;
};

}  // namespace weft::asio_io::detail
