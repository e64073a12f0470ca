// PathParameters: the values of the {parameters} of a route's path. PathValues: how they are given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::http {

namespace detail {
class RouteIndex;
}

// How the {parameters} of a path are given to its route.
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
    friend class detail::RouteIndex;
    std::vector<std::pair<std::string, std::string>> values_;
};

}  // namespace weft::http
