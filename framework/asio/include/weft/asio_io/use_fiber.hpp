// use_fiber: a completion token that blocks the fiber which starts an asynchronous operation.
#pragma once

#include <chrono>
#include <cstddef>
#include <exception>
#include <tuple>
#include <type_traits>
#include <utility>

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/execution.hpp>

#include <weft/asio_io/detail/fiber_operation.hpp>
#include <weft/asio_io/detail/place.hpp>
#include <weft/scheduler/deadline.hpp>
#include <weft/scheduler/errors.hpp>
#include <weft/scheduler/non_suspending_scope.hpp>

namespace weft::asio_io {

//     std::size_t size = socket.async_read_some(buffer, use_fiber);             // throws SystemError
//     std::size_t size = socket.async_read_some(buffer, use_fiber[error]);      // stores the error
//     timer.async_wait(use_fiber.until(deadline));
// Returns the arguments after the error in the operation's signature: nothing, a value, or a tuple. An exception_ptr in
// place of the error is rethrown. When the fiber is cancelled, its carrier shuts down, or the `until()` deadline
// passes, the operation is cancelled (terminal) where its I/O object runs, and the call returns once the operation has
// completed: with its result if it finished first, or, if it was cancelled, with timed_out because of the deadline and
// with operation_aborted otherwise. An operation counts as cancelled when it, or the exception of a coroutine, reports
// operation_aborted or a channel's channel_cancelled. An operation that does not support cancellation, such as the
// resolver's, is awaited. A handler destroyed without a call means operation_aborted, which is thrown even with
// `[error]` if the result has no default value, as a socket has none, or if the object's Context has ended meanwhile:
// what the fiber would use next may be gone with it. (asio::spawn unwinds its coroutines there.) An operation of an
// object on a FiberExecutor or FiberStrand completes in the loop, not in a fiber, so a function of the strand may wait
// for it.
// Context: a fiber that may block, or a plain thread, which then blocks. Elsewhere it throws BlockingOperationException
// before the operation starts. Code that runs while the operation is started, such as the implementation of an
// async_compose(), must not wait either.
// If an operation is ready when it is started, its Context runs and the fiber is on that carrier, the operation
// completes immediately, and the fiber yields after it. In a steady state, operations of up to 512 bytes allocate
// nothing. If the loop ends while a fiber or a thread is in an operation, the loop cancels the operation and waits for
// it.
class use_fiber_t {
  public:
    constexpr use_fiber_t() = default;

    // Stores the error in `error` instead of throwing it; `error` must live until the call returns.
    constexpr use_fiber_t operator[](ErrorCode& error) const noexcept {
        use_fiber_t token = *this;
        token.error_ = &error;
        return token;
    }
    constexpr use_fiber_t until(Deadline deadline) const noexcept {
        use_fiber_t token = *this;
        token.deadline_ = deadline;
        return token;
    }
    template <class Rep, class Period>
    use_fiber_t within(std::chrono::duration<Rep, Period> time) const {
        return until(deadlineAfter(saturated(time)));
    }

    // Asio's convention to make it the default token of an I/O object: use_fiber_t::as_default_on_t<tcp::socket>.
    template <class InnerExecutor>
    struct executor_with_default : InnerExecutor {
        using default_completion_token_type = use_fiber_t;
        // The is_same check comes first, because is_convertible on this same type would depend on itself.
        template <class Other,
                  class = std::enable_if_t<std::conjunction_v<std::negation<std::is_same<Other, executor_with_default>>,
                                                              std::is_convertible<Other, InnerExecutor>>>>
        executor_with_default(const Other& other) noexcept : InnerExecutor(other) {}
    };
    template <class T>
    using as_default_on_t =
        typename T::template rebind_executor<executor_with_default<typename T::executor_type>>::other;
    template <class T>
    static typename std::decay_t<T>::template rebind_executor<
        executor_with_default<typename std::decay_t<T>::executor_type>>::other
    as_default_on(T&& object) {
        return typename std::decay_t<T>::template rebind_executor<
            executor_with_default<typename std::decay_t<T>::executor_type>>::other(std::forward<T>(object));
    }

    ErrorCode* error() const noexcept { return error_; }
    Deadline deadline() const noexcept { return deadline_; }

  private:
    ErrorCode* error_ = nullptr;
    Deadline deadline_ = never;
};

inline constexpr use_fiber_t use_fiber{};

namespace detail {

// The result of a call with the token: the arguments without the leading error.
template <class Type>
Type noResult() {
    if constexpr (std::is_void_v<Type> || std::is_default_constructible_v<Type>) return Type();
    throw SystemError(operationAborted(), "use_fiber: the handler was destroyed, and the result has no default value");
}

template <class... Values>
struct FiberResult {
    using Type = std::tuple<Values...>;
    static Type of(std::tuple<Values...>&& values) { return std::move(values); }
};
template <class Value>
struct FiberResult<Value> {
    using Type = Value;
    static Type of(std::tuple<Value>&& values) { return std::get<0>(std::move(values)); }
};
template <>
struct FiberResult<> {
    using Type = void;
    static void of(std::tuple<>&&) noexcept {}
};

template <class First, class... Rest>
std::tuple<Rest...> restOf(std::tuple<First, Rest...>&& all) {
    return std::apply([](First&&, Rest&&... rest) { return std::tuple<Rest...>(std::move(rest)...); }, std::move(all));
}

template <class... Args>
struct FiberCall : FiberResult<Args...> {
    using Result = FiberResult<Args...>;
    static typename Result::Type finish(FiberOperationOf<Args...>& operation, const use_fiber_t& token) {
        if (!operation.result) throw SystemError(operationAborted(), "use_fiber: the handler was destroyed");
        if (token.error() != nullptr) *token.error() = {};
        return Result::of(std::move(*operation.result));
    }
};
template <class... Rest>
struct FiberCall<ErrorCode, Rest...> : FiberResult<Rest...> {
    using Result = FiberResult<Rest...>;
    static typename Result::Type finish(FiberOperationOf<ErrorCode, Rest...>& operation, const use_fiber_t& token) {
        if (!operation.result && operation.outlivedItsContext())
            throw SystemError(operationAborted(), "use_fiber: the context was destroyed meanwhile");
        const ErrorCode error =
            operation.asSeen(operation.result ? std::get<0>(*operation.result) : operationAborted());
        if (token.error() != nullptr) {
            *token.error() = error;
        } else if (error) {
            throw SystemError(error, "use_fiber");
        }
        if (!operation.result) return noResult<typename Result::Type>();
        return Result::of(restOf(std::move(*operation.result)));
    }
};
template <class... Rest>
struct FiberCall<std::exception_ptr, Rest...> : FiberResult<Rest...> {
    using Result = FiberResult<Rest...>;
    static typename Result::Type finish(FiberOperationOf<std::exception_ptr, Rest...>& operation,
                                        const use_fiber_t& token) {
        if (!operation.result) throw SystemError(operationAborted(), "use_fiber: the handler was destroyed");
        if (const auto error = std::get<0>(*operation.result)) std::rethrow_exception(operation.asSeen(error));
        if (token.error() != nullptr) *token.error() = {};
        return Result::of(restOf(std::move(*operation.result)));
    }
};

}  // namespace detail
}  // namespace weft::asio_io

namespace boost::asio {

template <class... Args, weft::asio_io::detail::HasOtherPlace Executor>
struct associated_executor<weft::asio_io::detail::FiberHandler<Args...>, Executor> {
    using type = decltype(weft::asio_io::detail::placeOf(std::declval<const Executor&>()));
    static type get(const weft::asio_io::detail::FiberHandler<Args...>&, const Executor& executor = {}) {
        return weft::asio_io::detail::placeOf(executor);
    }
};

template <class Returned, class... Args>
class async_result<weft::asio_io::use_fiber_t, Returned(Args...)> {
    using Call = weft::asio_io::detail::FiberCall<std::decay_t<Args>...>;
    using Operation = weft::asio_io::detail::FiberOperationOf<std::decay_t<Args>...>;
    using Handler = weft::asio_io::detail::FiberHandler<std::decay_t<Args>...>;

  public:
    using return_type = typename Call::Result::Type;
    using completion_handler_type = Handler;

    template <class Initiation, class... InitArgs>
    static return_type initiate(Initiation initiation, weft::asio_io::use_fiber_t token, InitArgs&&... args) {
        Operation operation;
        // If there is an I/O object, the operation must be cancelled on its executor.
        constexpr bool placed = requires {
            typename Initiation::executor_type;
        };
        if constexpr (placed) {
            const auto own = get_associated_executor(initiation);
            const auto executor = weft::asio_io::detail::placeOf(own);
            if (!operation.begin(&query(executor, execution::context))) return refused(operation, token);
            if (!weft::asio_io::detail::mayWaitInside(own)) operation.startHere();
            launch(std::move(initiation), operation, std::forward<InitArgs>(args)...);
            operation.await(token.deadline(), [&] {
                weft::asio_io::detail::Emission emission(operation);
                if (operation.isHere()) return emission();
                dispatch(executor, std::move(emission));
            });
        } else {
            if (!operation.begin(nullptr)) return refused(operation, token);
            launch(std::move(initiation), operation, std::forward<InitArgs>(args)...);
            operation.await(token.deadline(), [&] {
                weft::asio_io::detail::Emission emission(operation);
                emission();
            });
        }
        return Call::finish(operation, token);
    }

  private:
    // Yields, because a fiber that tries again would starve the others.
    static return_type refused(Operation& operation, const weft::asio_io::use_fiber_t& token) {
        Operation::yieldHere();
        return Call::finish(operation, token);
    }
    // Not inlined, so that no address of Asio's thread-local state is kept across a wait. On the I/O object's carrier,
    // part of that state is in this frame, so nothing may wait here.
    template <class Initiation, class... InitArgs>
    [[gnu::noinline]] static void launch(Initiation&& initiation, Operation& operation, InitArgs&&... args) {
        const auto start = [&] {
            std::forward<Initiation>(initiation)(Handler(operation), std::forward<InitArgs>(args)...);
        };
        if (operation.thread() == nullptr) return start();
        {
            const weft::NonSuspendingScope scope;
            const weft::asio_io::detail::AsioThread::Use thread(*operation.thread());
            start();
            operation.completeReady();
        }
        operation.started();
    }
};

}  // namespace boost::asio
