// Placement by the power of two choices: work that may start anywhere goes to the less loaded of two candidates.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::detail {

// Selects one of `count` places (1 or more) for placement number `turn`: the next one in round-robin order, or a
// pseudo-random other one if its load() is less. With equal loads the order is round-robin. Source: Mitzenmacher, The
// Power of Two Choices in Randomized Load Balancing.
template <class Load>
std::size_t betterOfTwo(std::uint32_t turn, std::size_t count, Load load) {
    const std::size_t first = turn % count;
    if (count == 1) return first;
    const std::uint32_t chance = (turn * 2'654'435'761u) >> 16;  // Knuth's multiplicative hash
    const std::size_t second = (first + 1 + chance % (count - 1)) % count;
    return load(second) < load(first) ? second : first;
}

}  // namespace weft::detail
