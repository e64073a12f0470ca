// race(), firstSuccess(), collect(): several functions at a time, and how the caller takes their results.
#pragma once

#include <cstddef>
#include <tuple>
#include <utility>

#include <weft/scheduler/detail/contest.hpp>

namespace weft {

// The result of the function with this index.
template <class T>
struct FirstResult {
    std::size_t index;
    T value;
};

// Runs each function in a fiber of its own. The first that ends, with a value or an exception, decides: its value is
// returned or its exception rethrown. The others are cancelled, and have ended when race() returns or throws. The
// result is a FirstResult<T> if all functions return T, the index of the function if all return void, and otherwise a
// std::variant with one alternative for each function (detail::Unit for void). The results of the others are discarded,
// so what a loser has received (bytes of a socket, a value of a queue, the result of a join) is lost; an exception
// among them, other than operation_aborted, is logged as a warning. The functions may use the caller's variables. A
// loser that ignores its cancellation delays the caller. Context, errors and cancellation of the caller: as
// TaskScope::join(), but the first function that ends decides also when only the caller's cancellation made it end.
// Allocates only stacks.
template <class... F>
auto race(F&&... functions) {
    return detail::Contest<false, F...>::run(std::forward<F>(functions)...);
}

// As race(), but functions that throw are out of the race; if another one wins, their exceptions are discarded. If all
// throw, rethrows the exception of the first function; after the caller's cancellation or a deadline, of the first one
// that has failed otherwise, and operation_aborted if there is none.
template <class... F>
auto firstSuccess(F&&... functions) {
    return detail::Contest<true, F...>::run(std::forward<F>(functions)...);
}

// Runs each function in a fiber of its own until all have ended. Returns a tuple of their Outcomes, in the order of the
// arguments. An exception cancels no other function. Context, errors and cancellation of the caller: as TaskScope; if
// it throws, exceptions of the functions, other than operation_aborted, are logged as warnings.
template <class... F>
auto collect(F&&... functions) {
    TaskScope scope(TaskScope::Policy::collect);
    std::tuple tasks{scope.spawn(std::forward<F>(functions))...};
    try {
        scope.join();
    } catch (...) {
        std::apply([](auto&... task) { (detail::reportDiscarded("collect", task.outcome().error), ...); }, tasks);
        throw;
    }
    return std::apply([](auto&... task) { return std::tuple{task.outcome()...}; }, tasks);
}

}  // namespace weft
