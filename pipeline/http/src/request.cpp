#include <weft/http/request.hpp>

#include <utility>

namespace weft::http {

namespace detail {

void RequestData::takePart(Buffer& input) noexcept {
    longText = input.slice(0, head.consumed);
    start = longText.readData();
    input.consumed(head.consumed);
}

}  // namespace detail

Request& Request::operator=(Request&& other) noexcept {
    if (this != &other) {
        const Request ended(std::move(data_));
        data_ = std::move(other.data_);
    }
    return *this;
}

std::string_view Request::absolutePath() const noexcept {
    const std::string_view whole = target();
    const auto authority = whole.find("://");
    const auto slash = whole.find_first_of("/?", authority + 3);
    if (slash == std::string_view::npos || whole[slash] == '?') return "/";
    return whole.substr(slash, data_->head.pathSize - slash);
}

std::optional<std::string_view> Request::query(std::string_view name) const noexcept {
    const std::string_view whole = target();
    const auto mark = whole.find('?');
    if (mark == std::string_view::npos) return std::nullopt;
    for (std::string_view rest = whole.substr(mark + 1); !rest.empty();) {
        const auto end = rest.find('&');
        const std::string_view pair = rest.substr(0, end);
        const auto equals = pair.find('=');
        if (pair.substr(0, equals) == name) {
            return equals == std::string_view::npos ? std::string_view() : pair.substr(equals + 1);
        }
        rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    }
    return std::nullopt;
}

}  // namespace weft::http
