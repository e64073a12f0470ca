// Call: one request as a route's function and its middleware see it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include <weft/http/detail/parameter_value.hpp>
#include <weft/http/detail/route_index.hpp>
#include <weft/http/path_parameters.hpp>
#include <weft/http/request.hpp>
#include <weft/http/request_body.hpp>
#include <weft/http/responder.hpp>
#include <weft/http/response.hpp>
#include <weft/pipeline/attribute_key.hpp>
#include <weft/pipeline/detail/attribute_map.hpp>
#include <weft/pipeline/socket_address.hpp>
#include <weft/scheduler/deadline.hpp>

namespace weft {
class ChannelHandlerContext;
class DeadlineScope;
}  // namespace weft

namespace weft::http {

class ResponseStream;
namespace detail {
class BodyStream;
struct Arrival;
// A request whose answer is given in place of the route's function.
struct Refused {
    RouteIndex::Outcome outcome = RouteIndex::Outcome::found;
    std::uint16_t methods = 0;  // see RouteIndex::Match
    Status status = {};         // of a request with a route: 413 or 417
    bool closes = false;        // the connection, because the rest of the body is not read
    bool isSet = false;
};
struct ServiceRoute;
class ServicePlan;
}  // namespace detail

// Context: the fiber that answers the request, on the carrier of its connection, where anything may block; with
// RouteOptions::inLoop, the event loop. Valid until the outermost middleware has returned.
class Call {
  public:
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    ~Call() = default;

    // method(), target(), header("Accept")...
    const Request& request() const noexcept { return request_; }
    // The pattern of the route, "/users/{id}"; "" when there is none.
    const std::string& route() const noexcept;

    // The value of {name} in the route's pattern, as ServiceOptions::pathValues says. Throws std::out_of_range when the
    // pattern has no such parameter. path<T>() converts it to a detail::ParameterNumber, and throws an Error of status
    // 400 that names the parameter and what is accepted; of a path, 404 would be as right, but says less.
    std::string path(std::string_view name) const { return std::string(parameters_[name]); }
    template <class T>
    T path(std::string_view name) const {
        if constexpr (std::is_same_v<T, std::string>) {
            return path(name);
        } else {
            return number<T>("path parameter", name, parameters_[name]);
        }
    }
    // The first value of this name in the query, decoded; `orElse` when there is none. Of a number, throws an Error of
    // status 400 when the value is none, and any of them when the query is malformed.
    std::string query(std::string_view name, std::string_view orElse);
    template <detail::ParameterNumber T>
    T query(std::string_view name, T orElse) {
        const auto value = queryValue(name);
        return value ? number<T>("query parameter", name, *value) : orElse;
    }
    // For a parameter that has to be there: else throws an Error of status 400 that names it.
    template <class T = std::string>
    T query(std::string_view name) {
        if constexpr (std::is_same_v<T, std::string>) {
            return std::string(requiredQuery(name));
        } else {
            return number<T>("query parameter", name, requiredQuery(name));
        }
    }

    RequestBody& body() noexcept { return body_; }

    // Answers with a head now, and with a body in pieces. The body ends when the route's function returns, and is cut
    // when it throws. `head` is that of Responder::begin(). Throws std::logic_error when the answer has begun.
    ResponseStream stream(std::string_view contentType = "application/octet-stream");
    ResponseStream stream(Response head);
    bool streams() const noexcept { return streams_; }
    // A field of the answer, whatever it will be: a returned one, a streamed one, or that of an error; added as by
    // Response::with(). Throws std::logic_error after stream().
    void addHeader(std::string_view name, std::string_view value);
    // 100 Continue, 103 Early Hints and the like, before the answer. Dropped for an HTTP/1.0 client. Throws
    // std::invalid_argument for any other status, and std::logic_error after the answer.
    void sendInterim(Response response);

    // The client, or the proxy in front.
    SocketAddress peer() const;
    // Names this request in the log: 8 hexadecimal digits of the process and the number of the request, or what
    // requestId() has found.
    const std::string& id();
    void setId(std::string_view id);
    // A value that middleware hands on. Default-constructed at first use, destroyed with the Call.
    template <class T>
    T& attr(const AttributeKey<T>& key) {
        void* const value = attributes().find(&key);
        return value != nullptr ? *static_cast<T*>(value) : attributes().add<T>(&key);
    }
    // The way down: channel, pipeline and loop of the connection.
    ChannelHandlerContext& context() const noexcept { return ctx_; }

  private:
    friend class ResponseStream;
    friend class detail::ServicePlan;

    Call(ChannelHandlerContext& ctx, detail::Arrival&& arrival);

    template <class T>
    static T number(std::string_view kind, std::string_view name, std::string_view text) {
        static_assert(detail::ParameterNumber<T>,
                      "Weft: a parameter of a path or a query is a std::string, a bool, an integer, float or double");
        if (const auto value = detail::parameterValue<T>(text)) return *value;
        refuseValue(kind, name, text, detail::acceptedValues<T>());
    }
    [[noreturn]] static void refuseValue(std::string_view kind, std::string_view name, std::string_view text,
                                         const std::string& accepted);
    std::optional<std::string_view> queryValue(std::string_view name);
    std::string_view requiredQuery(std::string_view name);

    // What few functions use; made at first use.
    static std::unique_ptr<RequestBody::Arriving> arriving(detail::Arrival& arrival);

    struct Extras;
    struct ExtrasEnd {
        void operator()(Extras* extras) const noexcept;
    };
    Extras& extras() const;
    weft::detail::AttributeMap& attributes() const;

    ChannelHandlerContext& ctx_;
    const detail::ServiceRoute& route_;
    FullRequest request_;
    PathParameters parameters_;
    RequestBody body_;
    const DeadlineScope* deadline_ = nullptr;  // the route's; null: none
    const Deadline begun_;                     // the end of the head; only for onServed()
    const detail::Refused refused_;
    bool streams_ = false;   // stream() has begun the answer
    bool answered_ = false;  // with a Response
    mutable std::unique_ptr<Extras, ExtrasEnd> extras_;
};

// The body of an answer that Call::stream() has begun. A handle: copies write to the same body, one fiber at a time.
// Valid as long as the Call.
class ResponseStream {
  public:
    // Sends a piece, as BodyWriter::send(): blocks to keep pace with the client, and throws when it has gone. Short
    // texts are gathered, until 16 KiB have come together or the fiber waits for anything. After an exception of send()
    // the answer is cut, because a part of it may be missing: later calls throw std::logic_error, as after end().
    void send(Buffer piece);
    void send(std::string_view text);
    // Ends the body before the route's function returns.
    void end(HeaderList trailers = {});

  private:
    friend class Call;
    explicit ResponseStream(Call& call) noexcept : call_(&call) {}
    detail::BodyStream& body() const;

    Call* call_;
};

}  // namespace weft::http
