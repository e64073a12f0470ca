// Place: where an operation that a fiber waits for completes and is cancelled.
#pragma once

#include <concepts>
#include <type_traits>
#include <utility>
#include <variant>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/execution.hpp>

#include <weft/asio_io/detail/fiber_operation.hpp>
#include <weft/asio_io/fiber_executor.hpp>
#include <weft/asio_io/fiber_strand.hpp>
#include <weft/asio_io/loop_executor.hpp>

namespace weft::asio_io::detail {

// Replaces an any_io_executor. If that holds a LoopExecutor, Place calls it directly and avoids the allocation per
// function that type erasure costs. Does not track work; the I/O object's executor does.
class Place {
  public:
    explicit Place(const LoopExecutor& loop, bool ofStrand = false) noexcept : ofStrand_(ofStrand), executor_(loop) {}
    // Only for any_io_executor itself, not for types that convert to it: a compiler that checks such a conversion asks
    // whether Place converts.
    template <std::same_as<boost::asio::any_io_executor> Other>
    explicit Place(const Other& other) noexcept : executor_(other) {}
    Place(const Place& place) noexcept  // the variant's copy constructor may throw
        : ofStrand_(place.ofStrand_), executor_(place.executor_) {}
    Place& operator=(const Place&) = default;
    ~Place() = default;

    template <class Function>
    void execute(Function&& function) const {
        if (const LoopExecutor* const loop = asLoop()) {
            loop->execute(std::forward<Function>(function));
        } else {
            other().execute(std::forward<Function>(function));
        }
    }
    Place require(boost::asio::execution::blocking_t::never_t never) const {
        const LoopExecutor* const loop = asLoop();
        return loop != nullptr ? Place(boost::asio::require(*loop, never))
                               : Place(boost::asio::require(other(), never));
    }
    boost::asio::execution_context& query(boost::asio::execution::context_t context) const noexcept {
        const LoopExecutor* const loop = asLoop();
        return loop != nullptr ? boost::asio::query(*loop, context) : boost::asio::query(other(), context);
    }
    ServedContext* served() const noexcept {  // null: not known to be a ServedContext
        const LoopExecutor* const loop = asLoop();
        return loop != nullptr ? &loop->context() : nullptr;
    }

    bool ofStrand() const noexcept { return ofStrand_; }  // made from a FiberStrand

    friend bool operator==(const Place& a, const Place& b) noexcept { return a.executor_ == b.executor_; }
    friend bool operator!=(const Place& a, const Place& b) noexcept { return !(a == b); }

  private:
    const LoopExecutor* asLoop() const noexcept { return std::get_if<LoopExecutor>(&executor_); }
    const boost::asio::any_io_executor& other() const noexcept {
        return *std::get_if<boost::asio::any_io_executor>(&executor_);
    }

    bool ofStrand_ = false;
    std::variant<LoopExecutor, boost::asio::any_io_executor> executor_;
};
static_assert(boost::asio::execution::is_executor<Place>::value);

// Selects the loop's dispatch for an I/O object's executor. An executor of fibers would start a fiber for each
// completion, and a strand would wait for the very function that waits for the operation.
template <class Executor>
auto placeOf(const Executor& executor) {
    if constexpr (std::is_base_of_v<FiberExecutor, Executor> || std::is_base_of_v<FiberStrand, Executor>) {
        return executor.context().get_executor();
    } else if constexpr (std::is_base_of_v<boost::asio::any_io_executor, Executor>) {
        const boost::asio::any_io_executor& erased = executor;
        if (const auto* loop = erased.template target<LoopExecutor>()) return Place(*loop);
        if (const auto* fibers = erased.template target<FiberExecutor>())
            return Place(fibers->context().get_executor());
        if (const auto* strand = erased.template target<FiberStrand>())
            return Place(strand->context().get_executor(), true);
        return Place(erased);
    } else {
        return executor;
    }
}
template <class Executor>
concept HasOtherPlace = !std::is_same_v<decltype(placeOf(std::declval<const Executor&>())), Executor>;

// True when the I/O object's executor `Own` is a FiberStrand: it may run a function inside the initiating call, in a
// fiber, where the function may wait.
template <class Own, class Executor>
bool mayWaitInside(const Executor& place) {
    if constexpr (std::is_same_v<Executor, Place>) {
        return place.ofStrand();
    } else {
        return std::is_base_of_v<FiberStrand, Own>;
    }
}

// Calls FiberOperation::begin() for this executor's context.
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
