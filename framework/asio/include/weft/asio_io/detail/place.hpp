// Place: where an operation that a fiber waits for completes and is cancelled.
#pragma once

#include <concepts>
#include <optional>
#include <type_traits>
#include <utility>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/execution.hpp>

#include <weft/asio_io/detail/fiber_operation.hpp>
#include <weft/asio_io/fiber_executor.hpp>
#include <weft/asio_io/fiber_strand.hpp>
#include <weft/asio_io/loop_executor.hpp>

namespace weft::asio_io::detail {

// An executor in the place of an any_io_executor: of a LoopExecutor inside that, without the allocation that type
// erasure costs each function. Tracks no work: the I/O object's executor does.
class Place {
  public:
    explicit Place(const LoopExecutor& loop) noexcept : loop_(loop) {}
    // Of nothing that converts to it: whether a Place does is what a compiler asks here.
    template <std::same_as<boost::asio::any_io_executor> Other>
    explicit Place(const Other& other) noexcept : other_(other) {}
    Place(const Place& place) noexcept : loop_(place.loop_), other_(place.other_) {}  // an optional's may throw
    Place& operator=(const Place&) = default;
    ~Place() = default;

    template <class Function>
    void execute(Function&& function) const {
        if (loop_) {
            loop_->execute(std::forward<Function>(function));
        } else {
            other_.execute(std::forward<Function>(function));
        }
    }
    Place require(boost::asio::execution::blocking_t::never_t never) const {
        return loop_ ? Place(boost::asio::require(*loop_, never)) : Place(boost::asio::require(other_, never));
    }
    boost::asio::execution_context& query(boost::asio::execution::context_t context) const noexcept {
        return loop_ ? boost::asio::query(*loop_, context) : boost::asio::query(other_, context);
    }
    ServedContext* served() const noexcept { return loop_ ? &loop_->context() : nullptr; }  // null: not known to be one

    friend bool operator==(const Place& a, const Place& b) noexcept {
        return a.loop_ == b.loop_ && a.other_ == b.other_;
    }
    friend bool operator!=(const Place& a, const Place& b) noexcept { return !(a == b); }

  private:
    std::optional<LoopExecutor> loop_;
    boost::asio::any_io_executor other_;  // where there is no loop
};
static_assert(boost::asio::execution::is_executor<Place>::value);

// An I/O object's executor gives the loop's dispatch, where executors of fibers would make a fiber for each completion,
// and a strand would wait for the function that waits for the operation.
template <class Executor>
auto placeOf(const Executor& executor) {
    if constexpr (std::is_base_of_v<FiberExecutor, Executor> || std::is_base_of_v<FiberStrand, Executor>) {
        return executor.context().get_executor();
    } else if constexpr (std::is_base_of_v<boost::asio::any_io_executor, Executor>) {
        const boost::asio::any_io_executor& erased = executor;
        if (const auto* loop = erased.template target<LoopExecutor>()) return Place(*loop);
        if (const auto* fibers = erased.template target<FiberExecutor>())
            return Place(fibers->context().get_executor());
        if (const auto* strand = erased.template target<FiberStrand>()) return Place(strand->context().get_executor());
        return Place(erased);
    } else {
        return executor;
    }
}
template <class Executor>
concept HasOtherPlace = !std::is_same_v<decltype(placeOf(std::declval<const Executor&>())), Executor>;

// A FiberStrand may run a function inside the call that starts an operation, in a fiber, where it may wait.
template <class Executor>
bool mayWaitInside(const Executor& executor) {
    if constexpr (std::is_base_of_v<boost::asio::any_io_executor, Executor>) {
        return static_cast<const boost::asio::any_io_executor&>(executor).template target<FiberStrand>() != nullptr;
    } else {
        return std::is_base_of_v<FiberStrand, Executor>;
    }
}

// FiberOperation::begin() there.
template <class Executor>
bool beginAt(FiberOperation& operation, const Executor& executor) {
    if constexpr (std::is_base_of_v<ExecutorBase, Executor>) {
        return operation.begin(executor.context());
    } else if constexpr (std::is_same_v<Executor, Place>) {
        if (ServedContext* const context = executor.served()) return operation.begin(*context);
    }
    return operation.begin(&boost::asio::query(executor, boost::asio::execution::context));
}

}  // namespace weft::asio_io::detail
