// ServicePlan: the routes of a Service once it serves, and how a request is answered by them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <weft/http/detail/route_index.hpp>
#include <weft/http/error.hpp>
#include <weft/http/refusal.hpp>
#include <weft/http/routes.hpp>
#include <weft/http/server_codec.hpp>

namespace weft::http::detail {

using OnServed = UniqueFunction<void(const Served&)>;

struct ServiceRoute {
    const ServicePlan* plan = nullptr;
    std::string pattern;
    std::optional<RouteFunction> function;
    std::vector<const Middleware*> middleware;  // the outermost first
    std::vector<OnServed*> onServed;
    bool told = false;  // onServed is not empty
    std::size_t maxBody = 0;
    std::size_t maxGathered = 0;  // of a streamed body that is read as a whole
    std::optional<Duration> deadline;
    bool streamed = false;
    bool inLoop = false;
};

// A request that is to be answered.
struct Arrival {
    const ServiceRoute* route;
    FullRequest request;
    PathParameters parameters;
    std::unique_ptr<BodyReader> body = {};  // of a body that arrives
    Deadline begun = {};                    // the end of the head; only for onServed()
    Refused refused = {};
};

void addFields(Response& response, const HeaderList& fields);
// Throws std::invalid_argument for the status of an interim response.
void requireAnswer(Status status);

// Immutable. The handlers of all connections share it.
class ServicePlan {
  public:
    using OnError = UniqueFunction<Response(Call&, const Error&)>;

    explicit ServicePlan(PathValues values) : index(values) {}

    // Answers a request, in its fiber or on the loop. `byCodec`: the newest request of the connection that its codec
    // has answered, of which nothing is told.
    void serve(ChannelHandlerContext& ctx, Arrival&& arrival, const Ticket& byCodec) const;
    // Tells the Service's own onServed() functions.
    void served(const Served& served) const noexcept { tell(unrouted, served); }
    // Calls the middleware of the route from number `at` on, and its function. Throws std::bad_alloc only when there is
    // no memory for the answer of an error.
    Response run(const ServiceRoute& route, Call& call, std::size_t at) const;

    RouteIndex index;
    std::vector<const ServiceRoute*> byNumber;  // of the index
    std::deque<ServiceRoute> routes;
    std::deque<Middleware> middleware;
    std::deque<OnServed> onServed;
    ServiceRoute unrouted;  // of requests without a route; it has no function
    std::shared_ptr<const ServerCodecOptions> codec;
    mutable OnError onError;  // empty: none

  private:
    Response refused(const Call& call) const;
    static void give(Call& call, Response& response);
    static void tell(const ServiceRoute& route, const Served& served) noexcept;
    static void tellOf(Call& call);
    Response failed(Call& call, const std::exception_ptr& failure) const;
    Response answerTo(Call& call, const Error& error) const;
    static Error errorOf(Call& call, const std::exception_ptr& failure);
    static Error abortion(const Call& call);
    static void cut(Call& call, const std::exception_ptr& failure);
};

}  // namespace weft::http::detail
