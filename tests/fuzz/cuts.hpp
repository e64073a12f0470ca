// Ways to cut an input into pieces; the input itself chooses, so that the same bytes are always delivered the same way.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace weft::fuzz {

enum class Cut { whole, bytes, some };

// Calls take(piece) for every piece, each in memory of exactly its size, so that a sanitizer finds a read past the end.
// `chosenBy`: the input, where the bytes are made of it and of chance.
template <class Take>
void deliver(std::string_view bytes, Cut cut, std::string_view chosenBy, Take take) {
    std::uint64_t state = 0x9e3779b97f4a7c15ULL + chosenBy.size();
    for (const char c : chosenBy) state = (state ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    for (std::size_t at = 0; at < bytes.size();) {
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        const std::size_t wanted = cut == Cut::whole ? bytes.size() : cut == Cut::bytes ? 1 : 1 + (state >> 33) % 23;
        const std::size_t size = std::min(wanted, bytes.size() - at);
        const std::unique_ptr<char[]> copy(new char[size]);
        std::copy_n(bytes.data() + at, size, copy.get());
        take(std::string_view(copy.get(), size));
        at += size;
    }
}

template <class Take>
void deliver(std::string_view bytes, Cut cut, Take take) {
    deliver(bytes, cut, bytes, take);
}

}  // namespace weft::fuzz
