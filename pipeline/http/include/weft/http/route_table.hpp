// RouteTable: which function answers a request, by method and path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <weft/http/detail/route_index.hpp>
#include <weft/http/method.hpp>
#include <weft/http/path_parameters.hpp>
#include <weft/http/request.hpp>

namespace weft {
class ChannelHandlerContext;
}

namespace weft::http {

// Filled in before the first connection, then only read: a Router of each connection shares it. Adding is not
// thread-safe; find() is const, and any number of threads may call it.
//
// A pattern is a path: "/users", "/users/{id}", "/files/{path...}". {id} stands for one segment that is not empty;
// {path...}, at the end only, for the rest of the path, which may be empty. Literal text may have percent escapes; it
// is decoded, and compared with the decoded segment of the request. Where several patterns match, literal text precedes
// {id}, and {id} precedes {path...}, from the left; a pattern without a route for the method gives way to the next one.
class RouteTable {
  public:
    using Function = std::function<void(ChannelHandlerContext&, FullRequest, PathParameters)>;

    explicit RouteTable(PathValues values = PathValues::checked) : index_(values) {}

    // Throws std::invalid_argument for a pattern that does not begin with '/', has an unnamed or repeated parameter or
    // literal text that no request can match (a malformed escape, an escaped '/', a NUL, a segment "." or ".."), or has
    // a route for this method already. `function`: a copyable void(ChannelHandlerContext&, FullRequest), or with a
    // PathParameters as a third argument. It is called on the loop of the connection and must not block: see
    // ChannelHandlerContext::spawn(). Returns *this.
    template <class F>
    RouteTable& add(Method method, std::string_view pattern, F function) {
        if constexpr (std::is_invocable_v<F&, ChannelHandlerContext&, FullRequest, PathParameters>) {
            addRoute(method, pattern, std::move(function));
        } else {
            addRoute(method, pattern,
                     [function = std::move(function)](ChannelHandlerContext& ctx, FullRequest request, PathParameters) {
                         function(ctx, std::move(request));
                     });
        }
        return *this;
    }
    // A GET route answers HEAD, too, unless the pattern has a HEAD route: the codec leaves the body out.
    RouteTable& get(std::string_view pattern, auto function) { return add(Method::get, pattern, std::move(function)); }
    RouteTable& post(std::string_view pattern, auto function) {
        return add(Method::post, pattern, std::move(function));
    }
    RouteTable& put(std::string_view pattern, auto function) { return add(Method::put, pattern, std::move(function)); }
    RouteTable& patch(std::string_view pattern, auto function) {
        return add(Method::patch, pattern, std::move(function));
    }
    RouteTable& delete_(std::string_view pattern, auto function) {
        return add(Method::delete_, pattern, std::move(function));
    }

    using Outcome = detail::RouteIndex::Outcome;
    struct Match : detail::RouteIndex::Match {
        const Function* function = nullptr;  // found
    };
    // `path`: as Request::path(). Allocates only for paths with escapes and for parameters.
    Match find(Method method, std::string_view path) const;
    // The value of an Allow header: "GET, HEAD, OPTIONS". HEAD comes with GET, and OPTIONS always.
    static std::string allow(std::uint16_t methods);
    // The answer of a Router to a request without a route.
    detail::RouteIndex::Unrouted unrouted(Method method, TargetForm form, const Match& match) const noexcept {
        return index_.unrouted(method, form, match);
    }
    // Of all routes together.
    std::uint16_t methods() const noexcept { return index_.methods(); }

  private:
    void addRoute(Method method, std::string_view pattern, Function function);

    detail::RouteIndex index_;
    std::vector<Function> functions_;  // by number of the route
};

}  // namespace weft::http
