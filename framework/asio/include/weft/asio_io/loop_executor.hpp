// LoopExecutor: runs functions in the dispatch of a Context's loop, one at a time, as io_context's executor does.
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

// Properties: context (the Context), blocking (possibly, never), relationship (fork, continuation; a hint that changes
// nothing), outstanding_work (untracked, tracked), allocator, mapping (thread).
// Two of them are equal when they have the same context and the same properties, except for tracking.
// A function runs in the order in which its thread submitted it, in the dispatch of the Context's loop, where nothing
// may block (BlockingOperationException): FiberExecutor is for functions that block. It runs inside execute() when
// that is allowed (blocking.possibly), the context runs, and the caller is in this dispatch itself, at most 16 deep. A
// fiber is no such caller, unless it starts an operation with use_fiber that is ready at once: the handlers by which
// that operation completes run on the fiber's stack, where nothing may block meanwhile. What it throws is thrown by
// Context::run(). Nothing runs until Context::run() or one of its variants is called. A function that never ran is
// destroyed with the Context; one that is submitted after the loop's end, at once. Context: any thread. execute()
// allocates, by the allocator property if there is one, else from the Context; throws what that or the move of the
// function throws.
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

    // The interface of executors before Boost 1.74: boost::asio::executor and older programs use it. dispatch() is
    // execute() with blocking.possibly, post() and defer() with blocking.never, all three with this allocator.
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

    // In the dispatch of the context's loop.
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
