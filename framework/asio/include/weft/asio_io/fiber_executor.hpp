// FiberExecutor: runs each function in its own fiber on a Context's carrier, where it may block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include <boost/asio/execution.hpp>

#include <weft/asio_io/context.hpp>
#include <weft/asio_io/detail/executor_base.hpp>
#include <weft/asio_io/detail/function_in_fiber.hpp>
#include <weft/scheduler/carrier.hpp>

namespace weft::asio_io {

//     tcp::socket socket(FiberExecutor(context));      // its completion handlers may block
// Properties: context (the Context), blocking (never: execute() returns before the function runs), relationship (fork,
// continuation; a hint without effect), outstanding_work (untracked, tracked), mapping (thread). Two executors are
// equal when they have the same context and the same properties, except for tracking. The fibers of functions submitted
// by one thread start in the order of submission; while one waits, others run. A function counts as work of the Context
// until it has returned. Context::run() throws the functions' exceptions; without a caller of run() they are logged.
// SystemError(operation_aborted), with which cancellation and shutdown end their waits, is not reported. Use
// FiberStrand for functions that must not run at the same time. Do not use a boost::asio::strand over this executor
// with functions that wait: Asio marks "in the strand" per thread, so other fibers of the carrier would count as inside
// meanwhile. The end of the loop, or of the Context, cancels the fibers of functions that have begun. Context: any
// thread. execute() allocates, and throws what the allocation and the function's move throw. A function that has not
// begun when the loop ends is destroyed with the Context.
class FiberExecutor : public detail::ExecutorBase {
  public:
    explicit FiberExecutor(Context& context) noexcept : ExecutorBase(&context, neverBlocking) {}

    template <class Function>
    void execute(Function&& function) const {
        using Call = std::decay_t<Function>;
        if constexpr (sizeof(Call) <= largestOnStack && alignof(Call) <= alignof(std::max_align_t)) {
            submit(Spawn<Call>{context_, Call(std::forward<Function>(function))});
        } else {
            auto boxed = [call = std::make_unique<Call>(std::forward<Function>(function))] { (*call)(); };
            submit(Spawn<decltype(boxed)>{context_, std::move(boxed)});
        }
    }

    FiberExecutor require(boost::asio::execution::blocking_t::never_t) const { return *this; }
    FiberExecutor require(boost::asio::execution::relationship_t::fork_t) const { return with(0, continuation); }
    FiberExecutor require(boost::asio::execution::relationship_t::continuation_t) const {
        return with(continuation, 0);
    }
    FiberExecutor require(boost::asio::execution::outstanding_work_t::tracked_t) const { return with(tracked, 0); }
    FiberExecutor require(boost::asio::execution::outstanding_work_t::untracked_t) const { return with(0, tracked); }

    using ExecutorBase::query;
    static constexpr boost::asio::execution::blocking_t query(boost::asio::execution::blocking_t) noexcept {
        return boost::asio::execution::blocking.never;
    }

    friend bool operator==(const FiberExecutor& a, const FiberExecutor& b) noexcept { return a.equals(b); }
    friend bool operator!=(const FiberExecutor& a, const FiberExecutor& b) noexcept { return !a.equals(b); }

  private:
    static constexpr std::size_t largestOnStack = 1024;

    // Runs in the loop and spawns the fiber.
    template <class Call>
    struct Spawn {
        void operator()() {
            Carrier& carrier = *context->loop().carrier();
            carrier.spawnDetached([own = detail::FunctionInFiber(context->service()),
                                   call = std::move(call)]() mutable { own.run(call); },
                                  {.name = "asio", .stealable = Stealable::never});
        }
        Context* context;
        Call call;
    };

    FiberExecutor(Context* context, std::uint8_t bits) noexcept : ExecutorBase(context, bits) {}
    FiberExecutor with(std::uint8_t set, std::uint8_t clear) const noexcept { return {context_, bitsWith(set, clear)}; }
    template <class Spawning>
    void submit(Spawning spawning) const {
        boost::asio::require(context_->get_executor(), boost::asio::execution::blocking.never)
            .execute(std::move(spawning));
    }
};

}  // namespace weft::asio_io
