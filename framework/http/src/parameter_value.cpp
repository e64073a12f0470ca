#include <weft/http/detail/parameter_value.hpp>

#include <charconv>
#include <cmath>

#include <weft/pipeline/detail/printable.hpp>

namespace weft::http::detail {

namespace {

constexpr std::size_t mostShown = 60;  // bytes of a wrong value

template <class T>
std::optional<T> whole(std::string_view text) noexcept {
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

}  // namespace

std::optional<std::int64_t> signedNumber(std::string_view text, std::int64_t least, std::int64_t most) noexcept {
    const auto value = whole<std::int64_t>(text);
    return value && *value >= least && *value <= most ? value : std::nullopt;
}

std::optional<std::uint64_t> unsignedNumber(std::string_view text, std::uint64_t most) noexcept {
    const auto value = whole<std::uint64_t>(text);
    return value && *value <= most ? value : std::nullopt;
}

std::optional<double> realNumber(std::string_view text, double most) noexcept {
    const auto value = whole<double>(text);
    return value && std::isfinite(*value) && std::fabs(*value) <= most ? value : std::nullopt;
}

std::optional<bool> truth(std::string_view text) noexcept {
    if (text.empty() || text == "1" || text == "true") return true;
    if (text == "0" || text == "false") return false;
    return std::nullopt;
}

std::string notAccepted(std::string_view what, std::string_view text, std::string_view accepted) {
    std::string message(what);
    message.append(" is '").append(weft::detail::printable(text, mostShown)).append("'; accepted: ").append(accepted);
    return message;
}

}  // namespace weft::http::detail
