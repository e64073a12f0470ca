// Placement by the power of two choices: work that may begin anywhere goes to one of two candidates, the one with less to do.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::detail {

// Which of `count` places (1 or more) is next, when it is the `turn`-th time: the one whose turn it is, or another, by chance,
// if load(that) is less. So equal loads are served in turn. Source: Mitzenmacher, The Power of Two Choices in
// Randomized Load Balancing.
template <class Load>
std::size_t betterOfTwo(std::uint32_t turn, std::size_t count, Load load) {
    const std::size_t first = turn % count;
    if (count == 1) return first;
    const std::uint32_t chance = (turn * 2'654'435'761u) >> 16;  // Knuth's multiplicative hash
    const std::size_t second = (first + 1 + chance % (count - 1)) % count;
    return load(second) < load(first) ? second : first;
}

}  // namespace weft::detail
