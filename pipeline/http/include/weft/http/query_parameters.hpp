// QueryParameters: the names and values of a query or of a form body, decoded.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::http {

class Request;

// An owning, copyable value: names and values in the order of the text. Not thread-safe. Parsing throws std::bad_alloc.
class QueryParameters {
  public:
    using Parameter = std::pair<std::string, std::string>;
    // A parameter takes about 70 bytes of memory besides its text, and one byte of the text is enough for it.
    static constexpr std::size_t defaultMaxParameters = 1000;

    QueryParameters() = default;
    // Parses "a=1&b=x%20y" as HTML forms write it (application/x-www-form-urlencoded): '+' is a space, a name without
    // '=' has an empty value, empty parts are skipped. Returns nothing when a percent escape is malformed, or there are
    // more than `maxParameters`; it then stops at the first one too many.
    static std::optional<QueryParameters> parse(std::string_view text,
                                                std::size_t maxParameters = defaultMaxParameters);
    // Parses the query of the request's target; empty when it has none.
    static std::optional<QueryParameters> of(const Request& request, std::size_t maxParameters = defaultMaxParameters);

    // The first value of this name, by exact comparison; nothing when it is absent. Valid as long as this object.
    std::optional<std::string_view> value(std::string_view name) const noexcept;
    // All values of this name, in order.
    std::vector<std::string_view> values(std::string_view name) const;

    std::size_t size() const noexcept { return parameters_.size(); }
    bool empty() const noexcept { return parameters_.empty(); }
    auto begin() const noexcept { return parameters_.begin(); }
    auto end() const noexcept { return parameters_.end(); }

  private:
    std::vector<Parameter> parameters_;
};

}  // namespace weft::http
