// RouteFunction and Middleware: the functions that a Service calls for a request.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>
#include <type_traits>
#include <utility>

#include <weft/http/call.hpp>
#include <weft/http/response.hpp>
#include <weft/scheduler/unique_function.hpp>

namespace weft::http {

// Makes a Response of what a route's function returned. Specialise it for a type of your own, with
// `static Response make(T&& value)`; its exceptions are those of the function.
template <class T>
struct ResponseFrom;

template <>
struct ResponseFrom<Response> {
    static Response make(Response&& response) { return std::move(response); }
};
template <>
struct ResponseFrom<Status> {  // without a body
    static Response make(Status status) { return Response(status); }
};
template <>
struct ResponseFrom<Buffer> {
    static Response make(Buffer&& body) { return ok(std::move(body), "application/octet-stream"); }
};
template <class Text>
requires std::is_convertible_v<const Text&, std::string_view>
struct ResponseFrom<Text> {
    static Response make(std::string_view text) { return ok(text); }
};

namespace detail {

template <class T>
concept MakesResponse = requires(std::remove_cvref_t<T>&& value) {
    ResponseFrom<std::remove_cvref_t<T>>::make(std::move(value));
};

// After stream(), the answer that has been given; else 204.
Response answerOfNothing(const Call& call);

template <class Result, class F, class... Args>
Response answerOf(Call& call, F& function, Args&&... args) {
    if constexpr (std::is_void_v<Result>) {
        std::invoke(function, std::forward<Args>(args)...);
        return answerOfNothing(call);
    } else if constexpr (std::is_same_v<std::remove_cv_t<Result>, Response>) {
        return std::invoke(function, std::forward<Args>(args)...);
    } else {
        static_assert(MakesResponse<Result>,
                      "Weft: a function of an http::Service returns an http::Response, an http::Status, a text "
                      "(std::string, std::string_view, const char*), a Buffer, a type that has an http::ResponseFrom, "
                      "or nothing");
        return ResponseFrom<std::remove_cvref_t<Result>>::make(
            std::remove_cv_t<Result>(std::invoke(function, std::forward<Args>(args)...)));
    }
}

}  // namespace detail

// A route's function: (Call&) or (), returning what ResponseFrom knows, or nothing: after Call::stream(), or for 204.
// Several carriers may call it at once.
class RouteFunction {
  public:
    template <class F>
    requires(!std::is_same_v<std::decay_t<F>, RouteFunction>)
        RouteFunction(F&& function)  // NOLINT(google-explicit-constructor): a lambda is given in its place
        : function_([function = std::decay_t<F>(std::forward<F>(function))](Call& call) mutable {
              using Function = std::decay_t<F>;
              if constexpr (std::is_invocable_v<Function&, Call&>) {
                  return detail::answerOf<std::invoke_result_t<Function&, Call&>>(call, function, call);
              } else {
                  static_assert(std::is_invocable_v<Function&>,
                                "Weft: the function of a route is a callable (http::Call&) or ()");
                  return detail::answerOf<std::invoke_result_t<Function&>>(call, function);
              }
          }) {}

    Response operator()(Call& call) const { return function_(call); }

  private:
    mutable UniqueFunction<Response(Call&)> function_;
};

namespace detail {
struct ServiceRoute;
class ServicePlan;
}  // namespace detail

// What comes after a middleware: the next one, or the route's function.
class Next {
  public:
    // What it returned, or the answer that onError() made of what it threw. Call it once; not at all to answer in its
    // place. After Call::stream() the answer has been sent: then a change to the Response has no effect.
    Response operator()(Call& call) const;

  private:
    friend class detail::ServicePlan;
    Next(const detail::ServiceRoute& route, std::size_t at) noexcept : route_(&route), at_(at) {}

    const detail::ServiceRoute* route_;
    std::size_t at_;
};

// (Call&, Next), returning what a route's function may return. It runs in the same fiber, before and after its Next.
// Several carriers may call it at once.
class Middleware {
  public:
    template <class F>
    requires(!std::is_same_v<std::decay_t<F>, Middleware>)
        Middleware(F&& function)  // NOLINT(google-explicit-constructor): as RouteFunction
        : function_([function = std::decay_t<F>(std::forward<F>(function))](Call& call, Next next) mutable {
              using Function = std::decay_t<F>;
              static_assert(std::is_invocable_v<Function&, Call&, Next>,
                            "Weft: a middleware is a callable (http::Call&, http::Next)");
              return detail::answerOf<std::invoke_result_t<Function&, Call&, Next>>(call, function, call, next);
          }) {}

    Response operator()(Call& call, Next next) const { return function_(call, next); }

  private:
    mutable UniqueFunction<Response(Call&, Next)> function_;
};

}  // namespace weft::http
