// RouteTable: which function answers a request, by method and path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <weft/http/method.hpp>
#include <weft/http/request.hpp>

namespace weft {
class ChannelHandlerContext;
}

namespace weft::http {

// How a RouteTable gives the {parameters} of a path to its routes.
enum class PathValues : std::uint8_t {
    // Decoded. {id} contains no '/', {path...} is a relative path in normal form: no '/' at its start, no empty segment
    // before its last. Neither has a NUL, or a segment "." or "..". Paths with other values are malformed.
    checked,
    // As sent, with their percent escapes: the routes decode and check them. After decoding, a value may contain '/'
    // anywhere, "../" included. For names with an escaped '/', such as "group%2Fproject".
    raw,
};

// The values of a path's {parameters}. An owning, copyable value: a fiber may keep it.
class PathParameters {
  public:
    // The value of the parameter with this name in the route's pattern. Throws std::out_of_range when the pattern has
    // none of this name. Valid as long as this object.
    std::string_view operator[](std::string_view name) const;
    std::size_t size() const noexcept { return values_.size(); }

  private:
    friend class RouteTable;
    std::vector<std::pair<std::string, std::string>> values_;
};

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

    explicit RouteTable(PathValues values = PathValues::checked);
    RouteTable(RouteTable&&) noexcept;  // a moved-from table may only be assigned to or destroyed
    RouteTable& operator=(RouteTable&&) noexcept;
    ~RouteTable();

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

    enum class Outcome : std::uint8_t {
        found,
        noPath,    // no pattern matches
        noMethod,  // patterns match, none has a route for the method
        badPath,   // a malformed percent escape, a NUL, a segment "." or "..", or a value against PathValues::checked
    };
    struct Match {
        Outcome outcome = Outcome::noPath;
        const Function* function = nullptr;  // found
        PathParameters parameters;
        std::uint16_t methods = 0;  // noMethod: a bit for each method that the path has
    };
    // `path`: as Request::path(). Allocates only for paths with escapes and for parameters.
    Match find(Method method, std::string_view path) const;
    // The value of an Allow header: "GET, HEAD, OPTIONS". HEAD comes with GET, and OPTIONS always.
    static std::string allow(std::uint16_t methods);
    // Of all routes together.
    std::uint16_t methods() const noexcept { return methods_; }

  private:
    struct Route;
    struct Endpoint;
    struct Node;
    struct Tree;
    class Search;

    void addRoute(Method method, std::string_view pattern, Function function);

    std::unique_ptr<Tree> tree_;
    PathValues values_;
    std::uint16_t methods_ = 0;
};

}  // namespace weft::http
