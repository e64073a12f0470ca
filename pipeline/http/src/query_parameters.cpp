#include <weft/http/query_parameters.hpp>

#include <algorithm>

#include <weft/http/percent_encoding.hpp>
#include <weft/http/request.hpp>

namespace weft::http {

namespace {

std::optional<std::string> decoded(std::string_view text) {
    if (text.find('+') == std::string_view::npos) return percentDecode(text);
    std::string spaced(text);
    std::replace(spaced.begin(), spaced.end(), '+', ' ');
    return percentDecode(spaced);
}

}  // namespace

std::optional<QueryParameters> QueryParameters::parse(std::string_view text, std::size_t maxParameters) {
    QueryParameters result;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('&'), text.size());
        const std::string_view part = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (part.empty()) continue;
        if (result.size() == maxParameters) return std::nullopt;
        const std::size_t equals = std::min(part.find('='), part.size());
        auto name = decoded(part.substr(0, equals));
        auto value = decoded(part.substr(std::min(equals + 1, part.size())));
        if (!name || !value) return std::nullopt;
        result.parameters_.emplace_back(std::move(*name), std::move(*value));
    }
    return result;
}

std::optional<QueryParameters> QueryParameters::of(const Request& request, std::size_t maxParameters) {
    const std::string_view target = request.target();
    const std::size_t mark = target.find('?');
    return parse(mark == std::string_view::npos ? std::string_view() : target.substr(mark + 1), maxParameters);
}

std::optional<std::string_view> QueryParameters::value(std::string_view name) const noexcept {
    for (const auto& [its, value] : parameters_) {
        if (its == name) return value;
    }
    return std::nullopt;
}

std::vector<std::string_view> QueryParameters::values(std::string_view name) const {
    std::vector<std::string_view> found;
    for (const auto& [its, value] : parameters_) {
        if (its == name) found.emplace_back(value);
    }
    return found;
}

}  // namespace weft::http
