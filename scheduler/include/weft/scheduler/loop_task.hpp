// LoopTask: a task of an event loop that brings its own memory, so that EventLoop::execute() can neither allocate nor
// throw. For code that has an object per operation anyway: another executor's handlers, completions of a thread pool.
#pragma once

namespace weft {

namespace detail {
struct QueueLink;
template <class Node>
class TaskFifo;
}  // namespace detail

// Linked into at most one loop's queue at a time. From an execute() that returned true until run() or abandon() begins,
// the loop has it: it must stay where it is. Then it is its owner's again, who may destroy it or execute it anew, also
// from inside these calls.
class LoopTask {
  public:
    LoopTask(const LoopTask&) = delete;
    LoopTask& operator=(const LoopTask&) = delete;

    // The loop runs it. Context: the loop's dispatch, where nothing may block.
    virtual void run() noexcept = 0;
    // The loop is gone and has never run it: it was destroyed without having been started, its handler's open() failed,
    // or nobody drove the embedded loop. A loop that has run runs every task that it has accepted. Context: any thread.
    virtual void abandon() noexcept = 0;

  protected:
    LoopTask() = default;
    virtual ~LoopTask() = default;

  private:
    friend struct detail::QueueLink;
    template <class Node>
    friend class detail::TaskFifo;

    LoopTask* next = nullptr;
};

}  // namespace weft
