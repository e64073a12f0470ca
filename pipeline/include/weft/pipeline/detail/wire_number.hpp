// Numbers as bytes in either byte order.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace weft::detail {

// Integers, floating-point values and enumerations of 1, 2, 4 or 8 bytes; not bool.
template <class T>
concept WireNumber = (std::integral<T> || std::floating_point<T> || std::is_enum_v<T>)&&!std::same_as<T, bool> &&
                     (sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8);

template <std::size_t size>
using UnsignedOf = std::conditional_t<
    size == 1, std::uint8_t,
    std::conditional_t<size == 2, std::uint16_t, std::conditional_t<size == 4, std::uint32_t, std::uint64_t>>>;

template <class Unsigned>
Unsigned inOrder(Unsigned value, std::endian order) noexcept {
    if (order == std::endian::native) return value;
    if constexpr (sizeof(Unsigned) == 1) return value;
    if constexpr (sizeof(Unsigned) == 2) return __builtin_bswap16(value);
    if constexpr (sizeof(Unsigned) == 4) return __builtin_bswap32(value);
    if constexpr (sizeof(Unsigned) == 8) return __builtin_bswap64(value);
}

template <WireNumber T>
T loadNumber(const char* from, std::endian order) noexcept {
    UnsignedOf<sizeof(T)> bits;
    std::memcpy(&bits, from, sizeof bits);
    return std::bit_cast<T>(inOrder(bits, order));
}

template <WireNumber T>
void storeNumber(char* to, T value, std::endian order) noexcept {
    const auto bits = inOrder(std::bit_cast<UnsignedOf<sizeof(T)>>(value), order);
    std::memcpy(to, &bits, sizeof bits);
}

}  // namespace weft::detail
