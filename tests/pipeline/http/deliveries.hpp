// The ways in which the same bytes may arrive: whole, split at one position, in equal pieces, in random pieces. A
// delivery is the list of the pieces' sizes; the last piece takes what is left.
#pragma once

#include <algorithm>
#include <cstddef>
#include <random>
#include <string_view>
#include <vector>

namespace weft::http::test {

// Calls take(piece) for the pieces of `bytes` that end at these positions, and for the last one.
template <class Take>
void deliver(std::string_view bytes, const std::vector<std::size_t>& cuts, Take take) {
    std::size_t at = 0;
    for (const std::size_t cut : cuts) {
        take(bytes.substr(at, cut - at));
        at = cut;
    }
    take(bytes.substr(at));
}

inline std::vector<std::size_t> equalCuts(std::size_t size, std::size_t piece) {
    std::vector<std::size_t> cuts;
    for (std::size_t at = piece; at < size; at += piece) cuts.push_back(at);
    return cuts;
}

inline std::vector<std::size_t> randomCuts(std::size_t size, std::mt19937& random, std::size_t longest = 40) {
    std::vector<std::size_t> cuts;
    std::uniform_int_distribution<std::size_t> step(1, longest);
    for (std::size_t at = step(random); at < size; at += step(random)) cuts.push_back(at);
    return cuts;
}

// Whole, byte by byte, split at each position (at some positions of long messages), and in random pieces.
template <class Each>
void forEachDelivery(std::size_t size, std::mt19937& random, Each each) {
    each(std::vector<std::size_t>{});
    const std::size_t stride = size > 600 ? size / 97 : 1;
    for (std::size_t cut = 1; cut < size; cut += stride) each(std::vector<std::size_t>{cut});
    for (const std::size_t piece : {1u, 2u, 3u, 7u, 16u, 17u, 64u}) {
        if (size / piece < 6000) each(equalCuts(size, piece));
    }
    for (int round = 0; round < 5; ++round) each(randomCuts(size, random));
}

}  // namespace weft::http::test
