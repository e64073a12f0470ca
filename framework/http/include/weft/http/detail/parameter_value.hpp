// Numbers and truth values in the text of a path, a query or a command line.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace weft::http::detail {

template <class T>
inline constexpr bool isCharacter =
    std::is_same_v<T, char> || std::is_same_v<T, wchar_t> || std::is_same_v<T, char8_t> ||
    std::is_same_v<T, char16_t> || std::is_same_v<T, char32_t>;

// What Call::path<T>() and Call::query<T>() convert to, besides std::string: bool, the integers (of at most 64 bits,
// and no character type), float and double.
template <class T>
concept ParameterNumber = (std::floating_point<T> && sizeof(T) <= sizeof(double)) ||
                          (std::integral<T> && !isCharacter<T> && sizeof(T) <= sizeof(std::int64_t));

// Each returns std::nullopt unless the whole text is one such value. Decimal; a sign only in front of signed numbers,
// as '-'; real numbers are finite.
std::optional<std::int64_t> signedNumber(std::string_view text, std::int64_t least, std::int64_t most) noexcept;
std::optional<std::uint64_t> unsignedNumber(std::string_view text, std::uint64_t most) noexcept;
std::optional<double> realNumber(std::string_view text, double most) noexcept;
// "1", "true" and "" (the name alone); "0" and "false".
std::optional<bool> truth(std::string_view text) noexcept;

template <ParameterNumber T>
std::optional<T> parameterValue(std::string_view text) noexcept {
    using Limits = std::numeric_limits<T>;
    const auto as = [](const auto& value) {
        return value ? std::optional<T>(static_cast<T>(*value)) : std::optional<T>();
    };
    if constexpr (std::is_same_v<T, bool>) {
        return truth(text);
    } else if constexpr (std::floating_point<T>) {
        return as(realNumber(text, static_cast<double>(Limits::max())));
    } else if constexpr (std::signed_integral<T>) {
        return as(signedNumber(text, Limits::min(), Limits::max()));
    } else {
        return as(unsignedNumber(text, Limits::max()));
    }
}

// "a whole number from 0 to 255".
template <ParameterNumber T>
std::string acceptedValues() {
    if constexpr (std::is_same_v<T, bool>) {
        return "true, false, 1 or 0";
    } else if constexpr (std::floating_point<T>) {
        return "a finite decimal number";
    } else {
        return "a whole number from " + std::to_string(std::numeric_limits<T>::min()) + " to " +
               std::to_string(std::numeric_limits<T>::max());
    }
}

// "limit is 'x'; accepted: a whole number from 0 to 255".
std::string notAccepted(std::string_view what, std::string_view text, std::string_view accepted);

}  // namespace weft::http::detail
