// StrandState: the queued functions of a FiberStrand, and the one that runs.
#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>

#include <boost/smart_ptr/intrusive_ref_counter.hpp>

#include <weft/asio_io/detail/asio_internals.hpp>
#include <weft/asio_io/detail/function_in_fiber.hpp>

namespace weft::asio_io {
class Context;
}

namespace weft::asio_io::detail {

// A function in the strand's queue.
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
    requires(!std::same_as<std::remove_cvref_t<Source>, StrandFunction>) explicit StrandFunction(Source&& source)
        : function_(std::forward<Source>(source)) {}
    void call() override { function_(); }

  private:
    Function function_;
};

// Runs one function at a time, each in its own fiber, in the order of enter(). While functions wait or run, the state
// is queued in Asio as the operation that starts the next fiber; it then holds a reference to itself and counts as work
// of the context.
class StrandState final : public OwnOperation, public boost::intrusive_ref_counter<StrandState> {
  public:
    explicit StrandState(Context& context);

    // A function that has not begun when the loop ends is destroyed with the Context. Context: any thread.
    void enter(std::unique_ptr<StrandTask> task) noexcept;
    // True when the calling fiber runs a function of this strand.
    bool isInside() const noexcept;
    // Reports the exception of a function that runs inside another one of the strand. Context: its fiber.
    void failed(const std::exception_ptr& error) const noexcept;

  private:
    struct Turn;

    void called() override;
    void dropped() noexcept override;
    void submit() noexcept;
    void runFirst(FunctionInFiber& function);
    void passOn() noexcept;
    void becomeIdle() noexcept;
    std::unique_ptr<StrandTask> takeFirst() noexcept;

    Service& service_;
    std::mutex lock_;
    std::unique_ptr<StrandTask> first_;
    StrandTask* last_ = nullptr;
    bool busy_ = false;                     // guarded by lock_, as are first_ and last_
    bool spawning_ = false;                 // used by the loop only
    std::atomic<std::uint64_t> inside_{0};  // id of the running fiber; relaxed: a fiber can only match its own id
};

}  // namespace weft::asio_io::detail
