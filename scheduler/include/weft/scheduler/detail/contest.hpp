// Contest: how race() and firstSuccess() run their functions.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include <weft/scheduler/detail/is_abort.hpp>
#include <weft/scheduler/task_scope.hpp>

namespace weft {

template <class T>
struct FirstResult;

namespace detail {

template <class F>
using ResultOf = std::invoke_result_t<std::decay_t<F>&>;

// Runs functions in fibers of their own. The first that ends, or with onlySuccess the first with a result, wins and
// cancels the others.
template <bool onlySuccess, class... F>
class Contest {
    template <class T, class... More>
    static constexpr bool same = (std::is_same_v<T, More> && ...);

  public:
    static auto run(F&&... functions) {
        Contest contest;
        return contest.runAll(std::index_sequence_for<F...>(), std::forward<F>(functions)...);
    }

  private:
    static constexpr std::size_t none = sizeof...(F);

    template <class G>
    struct Contestant {
        using Result = std::invoke_result_t<G&>;
        Outcome<Result> operator()() {
            Outcome<Result> outcome = outcomeOf(function);
            if (!onlySuccess || !outcome.failed()) contest.ended(index);
            if (outcome.failed()) static_cast<void>(contest.scope_.childFailed(outcome.error));
            return outcome;
        }
        Contest& contest;
        std::size_t index;
        G function;
    };
    template <class G>
    auto start(std::size_t index, G&& function) {
        return scope_.spawn(Contestant<std::decay_t<G>>{*this, index, std::forward<G>(function)});
    }

    // Context: a child.
    void ended(std::size_t index) noexcept {
        std::size_t expected = none;
        // relaxed: the caller reads it after all children have ended, and no other data is published with it.
        if (winner_.compare_exchange_strong(expected, index, std::memory_order_relaxed)) scope_.cancel();
    }

    template <std::size_t... index>
    auto runAll(std::index_sequence<index...>, F&&... functions) {
        std::tuple tasks{start(index, std::forward<F>(functions))...};
        const ErrorCode error = scope_.await(never);
        const std::size_t winner = winner_.load(std::memory_order_relaxed);
        if (winner == none) throwAsNone(error, std::get<index>(tasks).get().error...);
        if constexpr (!onlySuccess) {
            ((winner == index ? void() : reportDiscarded("race", std::get<index>(tasks).get().error)), ...);
        }
        using First = ResultOf<std::tuple_element_t<0, std::tuple<F...>>>;
        if constexpr (!same<First, ResultOf<F>...>) {
            std::optional<std::variant<ValueOf<ResultOf<F>>...>> result;
            ((winner == index ? take<index>(result, tasks) : void()), ...);
            return *std::move(result);
        } else if constexpr (std::is_void_v<First>) {
            ((winner == index ? std::get<index>(tasks).get().get() : void()), ...);
            return winner;
        } else {
            std::optional<First> result;
            ((winner == index ? void(result.emplace(std::get<index>(tasks).get().get())) : void()), ...);
            return FirstResult<First>{winner, *std::move(result)};
        }
    }
    template <std::size_t index, class Result, class Tasks>
    static void take(Result& result, Tasks& tasks) {
        auto outcome = std::get<index>(tasks).get();
        if (outcome.failed()) outcome.get();
        result.emplace(std::in_place_index<index>, *std::move(outcome.value));
    }
    // All have failed. After an interruption, those that it has ended do not count.
    template <class... Errors>
    [[noreturn]] void throwAsNone(const ErrorCode& error, const Errors&... errors) {
        const bool interrupted = error || scope_.interrupted_;
        for (const std::exception_ptr* const each : {&errors...}) {
            if (!interrupted || !isAbort(*each)) std::rethrow_exception(*each);
        }
        throw SystemError(operationAborted(), "firstSuccess");
    }

    std::atomic<std::size_t> winner_{none};
    TaskScope scope_{TaskScope::Policy::collect};  // destroyed first
};

}  // namespace detail

}  // namespace weft
