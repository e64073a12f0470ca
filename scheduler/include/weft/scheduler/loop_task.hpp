// LoopTask: an intrusive task of an event loop, for which EventLoop::execute() neither allocates nor throws. For code
// that has an object per operation anyway, such as another executor's handlers or a thread pool's completions.
#pragma once

namespace weft {

namespace detail {
struct QueueLink;
template <class Node>
class TaskFifo;
}  // namespace detail

// A task is in at most one loop's queue at a time. After an execute() that returned true, the loop owns the task until
// run() or abandon() begins: do not destroy or queue it again until then. From then on its owner may do either, also
// inside these calls.
class LoopTask {
  public:
    LoopTask(const LoopTask&) = delete;
    LoopTask& operator=(const LoopTask&) = delete;

    // Context: the loop's dispatch, where nothing may block.
    virtual void run() noexcept = 0;
    // Called instead of run() if the loop will never run the task: the loop was destroyed before it was started, its
    // handler's open() threw, or the owner of an embedded loop did not run it. A loop that has run runs every task that
    // it has accepted. Context: any thread.
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
