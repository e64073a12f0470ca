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
struct UnsignedOf;
template <>
struct UnsignedOf<1> {
    using Type = std::uint8_t;
};
template <>
struct UnsignedOf<2> {
    using Type = std::uint16_t;
};
template <>
struct UnsignedOf<4> {
    using Type = std::uint32_t;
};
template <>
struct UnsignedOf<8> {
    using Type = std::uint64_t;
};

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
    typename UnsignedOf<sizeof(T)>::Type bits;
    std::memcpy(&bits, from, sizeof bits);
    return std::bit_cast<T>(inOrder(bits, order));
}

template <WireNumber T>
void storeNumber(char* to, T value, std::endian order) noexcept {
    const auto bits = inOrder(std::bit_cast<typename UnsignedOf<sizeof(T)>::Type>(value), order);
    std::memcpy(to, &bits, sizeof bits);
}

}  // namespace weft::detail
