// StrandState: the functions of a FiberStrand, and who is inside.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include <boost/smart_ptr/intrusive_ref_counter.hpp>

#include <weft/asio_io/detail/served_context.hpp>

namespace weft::asio_io::detail {

// A function that waits for its turn.
class StrandTask {
  public:
    StrandTask() = default;
    virtual ~StrandTask() = default;
    StrandTask(const StrandTask&) = delete;
    StrandTask& operator=(const StrandTask&) = delete;

    virtual void call() = 0;  // once; context: its fiber

  private:
    friend class StrandState;
    std::unique_ptr<StrandTask> next_;
};

template <class Function>
class StrandFunction final : public StrandTask {
  public:
    template <class Source>
    explicit StrandFunction(Source&& source) : function_(std::forward<Source>(source)) {}
    void call() override { function_(); }

  private:
    Function function_;
};

// Runs one function at a time, each in a fiber of its own, in the order of enter(). While functions wait or run, the
// state is in the loop's hands: it is the task that starts the next fiber, holds a reference to itself, and counts as
// work of the context.
class StrandState final : public ExecutorTask, public boost::intrusive_ref_counter<StrandState> {
  public:
    explicit StrandState(ServedContext& context) noexcept : ExecutorTask(context), context_(context) {}

    // Any thread. When the loop has ended, the function is destroyed.
    void enter(std::unique_ptr<StrandTask> task) noexcept;
    // The calling fiber runs a function of this strand.
    bool isInside() const noexcept;

  private:
    struct Turn;

    void call() override;
    void destroy() noexcept override;
    void runFirst(FunctionInFiber& function);
    void passOn() noexcept;
    void becomeIdle() noexcept;
    std::unique_ptr<StrandTask> takeFirst() noexcept;

    ServedContext& context_;
    std::mutex lock_;
    std::unique_ptr<StrandTask> first_;
    StrandTask* last_ = nullptr;
    bool busy_ = false;      // these three under the lock
    bool spawning_ = false;  // the loop's
    std::atomic<std::uint64_t> inside_{0};  // the fiber's id; relaxed: only that fiber finds its own
};

}  // namespace weft::asio_io::detail
