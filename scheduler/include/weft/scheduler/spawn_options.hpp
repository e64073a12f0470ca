// SpawnOptions: what a spawn may say about its fiber.
#pragma once

#include <cstddef>
#include <string_view>

namespace weft {

// Whether another carrier may run a slice of the fiber once work stealing is on. Every value is accepted and nothing is
// stolen while it is off.
enum class Stealable : unsigned char {
    never,
    fresh,  // before its first run only: none of the thread-local hazards
    any,
};

struct SpawnOptions {
    std::string_view name = {};  // copied, cut to 31 characters; empty: "fiber-<id>"
    std::size_t stackSize = 0;   // bytes of virtual memory, rounded up to a power of two; 0: the group's default
    Stealable stealable = Stealable::fresh;
};

}  // namespace weft
