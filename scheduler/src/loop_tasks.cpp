// EventLoop: queueing and running tasks. A closure is wrapped in an intrusive task.
#include <weft/scheduler/event_loop.hpp>

#include <weft/scheduler/carrier.hpp>
#include <weft/scheduler/log.hpp>

#include "describe_error.hpp"

namespace weft {

namespace {

constexpr unsigned mostKeptClosures = 256;  // 80 bytes each
constexpr std::size_t stepsPerCheck = 64;   // between reads of the clock, which cost as much as a step (a cache miss)

[[noreturn]] void refuse() {
    throw SystemError(operationAborted(), "EventLoop::execute on a loop that has ended");
}

}  // namespace

// Any thread creates closures. The loop keeps some of them after they have run and reuses them for its own tasks, which
// then need no allocation.
class EventLoop::Closure final : public LoopTask {
  public:
    Closure(EventLoop& loop, Task&& task) noexcept : task_(std::move(task)), loop_(loop) {}

    void fill(Task&& task) noexcept { task_ = std::move(task); }
    void run() noexcept override {
        static_cast<void>(succeeds(task_));
        task_.reset();
        loop_.keep(*this);
    }
    void abandon() noexcept override { delete this; }

    Closure* nextKept = nullptr;

  private:
    Task task_;
    EventLoop& loop_;
};

std::unique_ptr<EventLoop::Closure> EventLoop::makeClosure(Task&& task) {
    if (!inEventLoop() || kept_ == nullptr) return std::make_unique<Closure>(*this, std::move(task));
    std::unique_ptr<Closure> closure(std::exchange(kept_, kept_->nextKept));
    --keptClosures_;
    closure->fill(std::move(task));
    return closure;
}

void EventLoop::keep(Closure& closure) noexcept {
    if (keptClosures_ == mostKeptClosures) {
        delete &closure;
        return;
    }
    closure.nextKept = std::exchange(kept_, &closure);
    ++keptClosures_;
}

void EventLoop::execute(Task task) {
    auto closure = makeClosure(std::move(task));
    if (!execute(*closure)) refuse();
    static_cast<void>(closure.release());
}

void EventLoop::executeLazily(Task task) {
    auto closure = makeClosure(std::move(task));
    if (!executeLazily(*closure)) refuse();
    static_cast<void>(closure.release());
}

bool EventLoop::execute(LoopTask& task) noexcept {
    return inEventLoop() ? enqueueHere(task) : post(task);
}

bool EventLoop::executeLazily(LoopTask& task) noexcept {
    return inEventLoop() ? enqueueHere(task) : inbox_->post(task);
}

bool EventLoop::enqueueHere(LoopTask& task) noexcept {
    if (closed_) return false;
    tasks_.push(task);
    return true;
}

// Does not use the carrier of a loop that has ended, because it may have been destroyed.
bool EventLoop::post(LoopTask& task) noexcept {
    if (carrier_ == nullptr || inbox_->closed()) return inbox_->post(task);
    Carrier& carrier = *carrier_;  // the task may end this loop before the wake below
    const Carrier::SubmitGuard visit(carrier.core_);
    if (!inbox_->post(task)) return false;
    carrier.wakeIfParked();
    return true;
}

// Runs tasks until none is left or the budget has passed. Runs at least one, unless none is visible yet or too many
// tasks have arrived at once to be put in order within the budget.
[[gnu::noinline]] std::size_t EventLoop::runTasksFor(Duration budget) noexcept {
    taskClock_.begin(Clock::steady().now(), budget);
    takeOverTasks();
    std::size_t ran = 0;
    while (LoopTask* task = tasks_.pop()) {
        task->run();
        ++ran;
        if (taskClock_.passed()) break;
    }
    return ran;
}

void EventLoop::takeOverTasks() noexcept {
    if (tasks_.reversed()) tasks_.adopt(inbox_->takeNewestFirst());
    do tasks_.reverse(stepsPerCheck);
    while (!tasks_.reversed() && !taskClock_.passed());
}

bool EventLoop::succeeds(Task& task) noexcept {
    try {
        task();
        return true;
    } catch (...) {
        log(LogLevel::error, {"a task of an event loop threw: ", detail::describe(std::current_exception())});
        return false;
    }
}

// The loop will not run again: returns the tasks that it has not run to their owners.
void EventLoop::abandonTasks() noexcept {
    do {
        tasks_.reverse(~std::size_t{0});
        while (LoopTask* task = tasks_.pop()) task->abandon();
    } while (!tasks_.empty());
    while (Closure* closure = kept_) {
        kept_ = closure->nextKept;
        delete closure;
    }
    keptClosures_ = 0;
}

}  // namespace weft
