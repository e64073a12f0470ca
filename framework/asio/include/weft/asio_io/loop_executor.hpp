// LoopExecutor: runs functions in the dispatch of a Context's loop, one at a time, like io_context's executor.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include <boost/asio/execution.hpp>

#include <weft/asio_io/detail/executor_base.hpp>
#include <weft/asio_io/detail/executor_function.hpp>
#include <weft/asio_io/detail/served_context.hpp>

namespace weft::asio_io {

// Properties: context (the Context), blocking (possibly, never), relationship (fork, continuation; a hint without
// effect), outstanding_work (untracked, tracked), allocator, mapping (thread). Two executors are equal when they have
// the same context and the same properties, except for tracking.
// Each thread's functions run in the order of their submission, in the dispatch of the Context's loop, where nothing
// may block (BlockingOperationException): use FiberExecutor for functions that block. Nothing runs until Context::run()
// or one of its variants is called, which also throws the functions' exceptions. A function runs inside execute() when
// that is allowed (blocking.possibly), the context runs, and the caller is in this dispatch, up to 16 deep. A fiber
// does not count as such a caller, with one exception: when it starts an operation with use_fiber that is ready at
// once, the operation's handlers run on the fiber's stack, where nothing may block meanwhile. A function that never ran
// is destroyed with the Context; one submitted after the loop has ended is destroyed at once.
// Context: any thread. execute() allocates with the allocator property if there is one, else from the Context, and
// passes on exceptions of the allocation and of the function's move.
template <class Allocator>
class BasicLoopExecutor : public detail::ExecutorBase {
    template <class Other>
    friend class BasicLoopExecutor;
    friend class Context;

  public:
    BasicLoopExecutor(const BasicLoopExecutor&) noexcept = default;
    BasicLoopExecutor(BasicLoopExecutor&&) noexcept = default;
    BasicLoopExecutor& operator=(const BasicLoopExecutor&) noexcept = default;
    BasicLoopExecutor& operator=(BasicLoopExecutor&&) noexcept = default;

    template <class Function>
    void execute(Function&& function) const {
        using Call = std::decay_t<Function>;
        if (!(bits_ & neverBlocking) && context_->mayRunHere()) {
            Call call(std::forward<Function>(function));
            context_->enterHandler();
            try {
                call();
            } catch (...) {
                context_->capture(std::current_exception());
            }
            return context_->leaveHandler();
        }
        context_->submit(detail::makeFunction<Call>(*context_, allocator_, std::forward<Function>(function)));
    }

    BasicLoopExecutor require(boost::asio::execution::blocking_t::possibly_t) const { return with(0, neverBlocking); }
    BasicLoopExecutor require(boost::asio::execution::blocking_t::never_t) const { return with(neverBlocking, 0); }
    BasicLoopExecutor require(boost::asio::execution::relationship_t::fork_t) const { return with(0, continuation); }
    BasicLoopExecutor require(boost::asio::execution::relationship_t::continuation_t) const {
        return with(continuation, 0);
    }
    BasicLoopExecutor require(boost::asio::execution::outstanding_work_t::tracked_t) const { return with(tracked, 0); }
    BasicLoopExecutor require(boost::asio::execution::outstanding_work_t::untracked_t) const {
        return with(0, tracked);
    }
    template <class Other>
    BasicLoopExecutor<Other> require(boost::asio::execution::allocator_t<Other> property) const {
        return {context_, bits_, property.value()};
    }
    BasicLoopExecutor<std::allocator<void>> require(boost::asio::execution::allocator_t<void>) const {
        return {context_, bits_, {}};
    }

    using ExecutorBase::query;
    boost::asio::execution::blocking_t query(boost::asio::execution::blocking_t) const noexcept {
        if (bits_ & neverBlocking) return boost::asio::execution::blocking.never;
        return boost::asio::execution::blocking.possibly;
    }
    template <class Other>
    Allocator query(boost::asio::execution::allocator_t<Other>) const noexcept {
        return allocator_;
    }
    Allocator query(boost::asio::execution::allocator_t<void>) const noexcept { return allocator_; }

    // The executor interface from before Boost 1.74, which boost::asio::executor and older programs use. dispatch() is
    // execute() with blocking.possibly, post() and defer() are execute() with blocking.never; all use the given
    // allocator.
    void on_work_started() const noexcept { context_->workStarted(); }
    void on_work_finished() const noexcept { context_->workFinished(); }
    template <class Function, class Other>
    void dispatch(Function&& function, const Other& allocator) const {
        with(0, neverBlocking).submitBy(allocator, std::forward<Function>(function));
    }
    template <class Function, class Other>
    void post(Function&& function, const Other& allocator) const {
        with(neverBlocking, continuation).submitBy(allocator, std::forward<Function>(function));
    }
    template <class Function, class Other>
    void defer(Function&& function, const Other& allocator) const {
        with(neverBlocking | continuation, 0).submitBy(allocator, std::forward<Function>(function));
    }

    // True in the dispatch of the context's loop.
    bool running_in_this_thread() const noexcept { return context_->runsInThisThread(); }

    friend bool operator==(const BasicLoopExecutor& a, const BasicLoopExecutor& b) noexcept {
        return a.equals(b) && a.allocator_ == b.allocator_;
    }
    friend bool operator!=(const BasicLoopExecutor& a, const BasicLoopExecutor& b) noexcept { return !(a == b); }

  private:
    BasicLoopExecutor(detail::ServedContext* context, std::uint8_t bits, const Allocator& allocator) noexcept
        : ExecutorBase(context, bits), allocator_(allocator) {}
    BasicLoopExecutor with(std::uint8_t set, std::uint8_t clear) const noexcept {
        return {context_, bitsWith(set, clear), allocator_};
    }
    template <class Function, class Other>
    void submitBy(const Other& allocator, Function&& function) const {
        require(boost::asio::execution::allocator(allocator)).execute(std::forward<Function>(function));
    }

    [[no_unique_address]] Allocator allocator_;
};

using LoopExecutor = BasicLoopExecutor<std::allocator<void>>;
static_assert(sizeof(LoopExecutor) <= 16);

}  // namespace weft::asio_io

#include <weft/asio_io/context.hpp>  // the executor's user converts a Context& to an execution_context&
