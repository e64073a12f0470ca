// placeOf(): where an operation that a fiber waits for completes and is cancelled.
#pragma once

#include <type_traits>
#include <typeinfo>
#include <utility>

#include <boost/asio/any_io_executor.hpp>

#include <weft/asio_io/context.hpp>
#include <weft/asio_io/fiber_executor.hpp>
#include <weft/asio_io/fiber_strand.hpp>

namespace weft::asio_io::detail {

template <class Executor>
constexpr bool runsInFibers = std::is_base_of_v<FiberExecutor, Executor> || std::is_base_of_v<FiberStrand, Executor>;

// Two types compare fast only if they are the same, so the usual one comes first.
template <class Executor>
const Executor* targetOf(const boost::asio::any_io_executor& erased) noexcept {
    if (erased.target_type() == typeid(LoopExecutor)) [[likely]]
        return nullptr;
    return erased.target<Executor>();
}

// The context's own executor in place of one of fibers. An executor of fibers would start a fiber for each completion,
// and a strand would wait for the very function that waits for the operation.
template <class Executor>
auto placeOf(const Executor& executor) {
    if constexpr (runsInFibers<Executor>) {
        return executor.context().get_executor();
    } else if constexpr (std::is_base_of_v<boost::asio::any_io_executor, Executor>) {
        const boost::asio::any_io_executor& erased = executor;
        if (const auto* const fibers = targetOf<FiberExecutor>(erased))
            return boost::asio::any_io_executor(fibers->context().get_executor());
        if (const auto* const strand = targetOf<FiberStrand>(erased))
            return boost::asio::any_io_executor(strand->context().get_executor());
        return erased;
    } else {
        return executor;
    }
}
template <class Executor>
concept HasOtherPlace = runsInFibers<Executor> || std::is_base_of_v<boost::asio::any_io_executor, Executor>;

// True when the I/O object's executor is a FiberStrand: it may run a function inside the initiating call, in a fiber,
// where the function may wait.
template <class Executor>
bool mayWaitInside(const Executor& executor) {
    if constexpr (std::is_base_of_v<boost::asio::any_io_executor, Executor>) {
        return targetOf<FiberStrand>(executor) != nullptr;
    } else {
        return std::is_base_of_v<FiberStrand, Executor>;
    }
}

}  // namespace weft::asio_io::detail
