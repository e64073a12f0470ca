// RouteIndex: the number of the route that a method and a path ask for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <weft/http/method.hpp>
#include <weft/http/path_parameters.hpp>
#include <weft/http/request_head.hpp>
#include <weft/http/status.hpp>

namespace weft::http::detail {

// Of a set of methods.
constexpr std::uint16_t bitOf(Method method) noexcept {
    return static_cast<std::uint16_t>(1u << static_cast<unsigned>(method));
}

// How patterns are matched: see RouteTable. Adding is not thread-safe; find() is const, and any number of threads may
// call it.
class RouteIndex {
  public:
    enum class Outcome : std::uint8_t {
        found,
        noPath,    // no pattern matches
        noMethod,  // patterns match, none has a route for the method
        badPath,   // a malformed percent escape, a NUL, a segment "." or "..", or a value against PathValues::checked
    };
    struct Match {
        Outcome outcome = Outcome::noPath;
        std::uint16_t methods = 0;  // noMethod: a bit for each method that the path has
        std::size_t route = 0;      // found
        PathParameters parameters;
    };

    // The answer to a request without a route.
    struct Unrouted {
        Status status = {};
        std::string_view reason = {};  // a constant text
        bool hasAllow = false;
        std::uint16_t allow = 0;  // see allow()
    };

    explicit RouteIndex(PathValues values);
    RouteIndex(RouteIndex&&) noexcept;  // a moved-from index may only be assigned to or destroyed
    RouteIndex& operator=(RouteIndex&&) noexcept;
    ~RouteIndex();

    // Returns the number of the new route: 0, 1, 2... Throws std::invalid_argument, quoting the pattern, as
    // RouteTable::add(); then nothing has changed that find() could see.
    std::size_t add(Method method, std::string_view pattern);
    // As add(), but std::nullopt if the pattern has a route for this method already.
    std::optional<std::size_t> tryAdd(Method method, std::string_view pattern);
    // `match` is a new one.
    void find(Method method, std::string_view path, Match& match) const;
    std::uint16_t methods() const noexcept { return methods_; }
    // 404, 405, 400 for a malformed path, 501 for an unknown method, and 204 for OPTIONS.
    Unrouted unrouted(Method method, TargetForm form, const Match& match) const noexcept;
    // The value of an Allow header: see RouteTable::allow().
    static std::string allow(std::uint16_t methods);

  private:
    struct Route;
    struct Endpoint;
    struct Node;
    struct Tree;
    class Search;

    std::unique_ptr<Tree> tree_;
    PathValues values_;
    std::uint16_t methods_ = 0;
    std::size_t size_ = 0;
};

}  // namespace weft::http::detail
