// FiberStrand: runs functions that may block, one at a time.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <type_traits>
#include <utility>

#include <boost/asio/execution.hpp>
#include <boost/smart_ptr/intrusive_ptr.hpp>

#include <weft/asio_io/context.hpp>
#include <weft/asio_io/detail/executor_base.hpp>
#include <weft/asio_io/detail/strand_state.hpp>

namespace weft::asio_io {

//     FiberStrand strand(context);
//     asio::post(strand, [&] { balance -= price; backend.confirm(); });   // nothing else of the strand runs meanwhile
// Replaces boost::asio::strand where functions block: a function that waits keeps the strand until it returns. Each
// function runs in its own fiber on the Context's carrier, in the order of execute(), after the previous one has
// returned and been destroyed. Copies are the same strand. A function that waits for another function of its strand
// deadlocks: do not await an operation inside the strand when its handler is bound to the strand.
// Properties: as for FiberExecutor, except that blocking may be possibly: execute() inside the strand then runs the
// function at once. Exceptions are handled as for FiberExecutor, and the next function runs regardless. A function
// counts as work of the Context until it has returned. When the loop ends, functions that have not begun are destroyed
// with it, and the fiber of the one that runs is cancelled.
// Context: any thread. The constructor and execute() allocate. They pass on exceptions of the allocation and of the
// function's move, and then have no effect.
class FiberStrand : public detail::ExecutorBase {
  public:
    explicit FiberStrand(Context& context) : ExecutorBase(&context, 0), state_(new detail::StrandState(context)) {}
    FiberStrand(const FiberStrand&) noexcept = default;
    FiberStrand(FiberStrand&&) noexcept = default;
    FiberStrand& operator=(const FiberStrand&) noexcept = default;
    FiberStrand& operator=(FiberStrand&&) noexcept = default;

    template <class Function>
    void execute(Function&& function) const {
        using Call = std::decay_t<Function>;
        if (!(bits_ & neverBlocking) && running_in_this_thread()) {
            Call call(std::forward<Function>(function));
            try {
                call();
            } catch (...) {
                state_->failed(std::current_exception());
            }
            return;
        }
        state_->enter(std::make_unique<detail::StrandFunction<Call>>(std::forward<Function>(function)));
    }

    FiberStrand require(boost::asio::execution::blocking_t::possibly_t) const { return with(0, neverBlocking); }
    FiberStrand require(boost::asio::execution::blocking_t::never_t) const { return with(neverBlocking, 0); }
    FiberStrand require(boost::asio::execution::relationship_t::fork_t) const { return with(0, continuation); }
    FiberStrand require(boost::asio::execution::relationship_t::continuation_t) const { return with(continuation, 0); }
    FiberStrand require(boost::asio::execution::outstanding_work_t::tracked_t) const { return with(tracked, 0); }
    FiberStrand require(boost::asio::execution::outstanding_work_t::untracked_t) const { return with(0, tracked); }

    using ExecutorBase::query;
    boost::asio::execution::blocking_t query(boost::asio::execution::blocking_t) const noexcept {
        if (bits_ & neverBlocking) return boost::asio::execution::blocking.never;
        return boost::asio::execution::blocking.possibly;
    }

    // True in a function of the strand: in its own fiber, not in other fibers of the thread.
    bool running_in_this_thread() const noexcept { return state_->isInside(); }

    friend bool operator==(const FiberStrand& a, const FiberStrand& b) noexcept {
        return a.equals(b) && a.state_ == b.state_;
    }
    friend bool operator!=(const FiberStrand& a, const FiberStrand& b) noexcept { return !(a == b); }

  private:
    FiberStrand(Context* context, std::uint8_t bits, const boost::intrusive_ptr<detail::StrandState>& state) noexcept
        : ExecutorBase(context, bits), state_(state) {}
    FiberStrand with(std::uint8_t set, std::uint8_t clear) const noexcept {
        return {context_, bitsWith(set, clear), state_};
    }

    boost::intrusive_ptr<detail::StrandState> state_;
};

}  // namespace weft::asio_io
