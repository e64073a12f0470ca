// ExecutorTask: a function submitted to an executor. ExecutorTasks: the queue of tasks that wait in their context.
#pragma once

#include <weft/scheduler/loop_task.hpp>

namespace weft::asio_io::detail {

class ServedContext;

// Submitted to the loop or, on the loop's carrier, directly to the context's queue, where it waits for the context to
// run.
class ExecutorTask : public LoopTask {
  public:
    // Frees this task, then calls its function, which may throw. Context: the loop's dispatch.
    virtual void call() = 0;
    // Frees this task and its function. Context: any thread.
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
    bool counted_ = false;  // counted as work of the context until it has run
};

// FIFO. Context: the loop and fibers of its carrier, or any thread once nothing else can reach the queue.
class ExecutorTasks {
  public:
    bool empty() const noexcept { return first_ == nullptr; }
    void push(ExecutorTask& task) noexcept {
        task.next_ = nullptr;
        *last_ = &task;
        last_ = &task.next_;
    }
    // Pushes a task that is not counted as work, because the loop's own unit of work covers it (Service::holdWork()).
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
