// Service: an HTTP server made of routes, whose functions run in fibers and return or throw their answers.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <weft/framework/event_loop_group.hpp>
#include <weft/framework/server.hpp>
#include <weft/http/detail/parameter_value.hpp>
#include <weft/http/error.hpp>
#include <weft/http/limits.hpp>
#include <weft/http/routes.hpp>
#include <weft/http/server_timeouts.hpp>

namespace weft::http {

struct ServiceOptions {
    RouteOptions routes = {};  // of every route that does not say otherwise
    PathValues pathValues = PathValues::checked;
    std::string serverName = {};   // the value of the Server header; empty: none
    std::size_t maxInFlight = 16;  // unanswered requests of a connection, 1 to 1024; at the limit reading stops
    Limits limits = {};
    ServerTimeouts timeouts = {};
    EventLoopGroupOptions group = {};                       // of run()
    Duration drainTime = EventLoopGroup::defaultDrainTime;  // of run()
};

namespace detail {

// An option of the command line.
struct CommandLineOption {
    std::string name;
    std::string help;
    bool flag = false;                           // it takes no value
    std::string standard;                        // its value before run(); empty: none
    std::string accepted;                        // empty: any text
    UniqueFunction<bool(std::string_view)> set;  // false: not accepted
};

}  // namespace detail

//     http::Service service;
//     service.get("/hello/{name}", [](http::Call& call) { return "hello " + call.path("name") + "\n"; });
//     return service.run(argc, argv);
// A request's route is found when its head has arrived: a request without one, or with too long a body, is answered
// without its body. Then a fiber on the connection's carrier calls the middleware and the route's function; it may
// block, and is cancelled when the client closes the connection. An exception is answered, through onError(): an Error
// with its status and text; the route's deadline with 504; the end of the server with 503; a ClientError with 502, or
// 504 if it is a timeout; every other one with 500, and logged with the id of the request. The client gets the text of
// an Error only. Once the answer has begun (Call::stream()), it is cut instead, and the exception is logged.
// A request without a route is answered with 404, 405 (with Allow), 400 (a malformed path) or 501 (an unknown method),
// OPTIONS with 204: all of them through the Service's own middleware and, if they are errors, onError().
// Malformed and slow requests are answered by the codec; of them, onServed() is told.
// Built from ServerBootstrap, ServerCodec and RouteTable's patterns, which stay the way down (Call::context()).
class Service : public Routes {
  public:
    // Throws std::invalid_argument for options out of range.
    explicit Service(ServiceOptions options = {});
    Service(Service&&) noexcept = default;
    Service& operator=(Service&&) noexcept = default;
    ~Service() = default;

    // Makes the answer of every error: (Call&, const Error&), returning what a route's function may return. It runs as
    // the route's function does, under its deadline, which may have passed, so that nothing can wait in it; when it
    // throws, the answer is what it is without an onError(): the status and its text as text/plain.
    template <class F>
    Service& onError(F&& function) {
        using Function = std::decay_t<F>;
        static_assert(std::is_invocable_v<Function&, Call&, const Error&>,
                      "Weft: Service::onError() takes a callable (http::Call&, const http::Error&)");
        setOnError([function = Function(std::forward<F>(function))](Call& call, const Error& error) mutable {
            return detail::answerOf<std::invoke_result_t<Function&, Call&, const Error&>>(call, function, call, error);
        });
        return *this;
    }

    // An option of run()'s command line, "--workers": a std::string, a bool (a flag without a value), an integer, float
    // or double, or a std::optional of these. `value` keeps what it holds when the option is not given; it must exist
    // until run() returns. Throws std::invalid_argument for a name that is not "--name" or is taken.
    template <class T>
    Service& option(std::string_view name, T& value, std::string_view help = {}) {
        addOption(name, help, optionOf(value));
        return *this;
    }

    // Called by run() after it has read the command line and before it listens, in a fiber: it may block. What it
    // throws ends run(), with one line on stderr; a signal meanwhile ends the process. Each call replaces the former
    // function.
    Service& onStart(UniqueFunction<void()> function);

    // Listens, and serves until SIGINT, SIGTERM or SIGHUP; then drains, for ServiceOptions::drainTime at most. Prints
    // "listening on ADDR:PORT" on stdout. Returns what main() returns: 0; 1 when it cannot listen or onStart() throws,
    // or when something does not end (runUntilSignal()); 2 for a wrong command line or environment; each failure is one
    // line on stderr. Flags: --listen, --carriers, --transport, --log-level, --help and those of option(). The log goes
    // to stderr, from level info on. Context: main(). Blocks.
    int run(int argc, const char* const* argv);

    // Serves in a group of the caller's. May be called for several addresses, and several groups. Throws SystemError,
    // with the address. Blocks the fiber or thread until it listens.
    Server bind(EventLoopGroup& group, const SocketAddress& address);
    // "ADDR:PORT"; throws as SocketAddress::parse(), too.
    Server bind(EventLoopGroup& group, std::string_view address) { return bind(group, SocketAddress::parse(address)); }

  private:
    using OnError = UniqueFunction<Response(Call&, const Error&)>;

    template <class T>
    static detail::CommandLineOption optionOf(T& value);
    void setOnError(OnError function);
    void addOption(std::string_view name, std::string_view help, detail::CommandLineOption option);
    int serve(int argc, const char* const* argv);
};

namespace detail {
template <class T>
struct OptionValue {
    using Type = T;
    static std::string text(const T& value) {
        if constexpr (std::is_same_v<T, std::string>) {
            return value;
        } else {
            return std::to_string(value);
        }
    }
};
template <class T>
struct OptionValue<std::optional<T>> {
    using Type = T;
    static std::string text(const std::optional<T>& value) { return value ? OptionValue<T>::text(*value) : ""; }
};
}  // namespace detail

template <class T>
detail::CommandLineOption Service::optionOf(T& value) {
    using Value = typename detail::OptionValue<T>::Type;
    static_assert(std::is_same_v<Value, std::string> || detail::ParameterNumber<Value>,
                  "Weft: an option of a Service is a std::string, a bool, an integer, float or double, or a "
                  "std::optional of these");
    detail::CommandLineOption option;
    option.standard = detail::OptionValue<T>::text(value);
    if constexpr (std::is_same_v<Value, std::string>) {
        option.set = [&value](std::string_view text) {
            value = std::string(text);
            return true;
        };
    } else {
        option.flag = std::is_same_v<Value, bool>;
        option.accepted = detail::acceptedValues<Value>();
        option.set = [&value](std::string_view text) {
            const auto given = detail::parameterValue<Value>(text);
            if (given) value = *given;
            return given.has_value();
        };
    }
    return option;
}

}  // namespace weft::http
