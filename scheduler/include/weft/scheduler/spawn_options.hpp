// SpawnOptions: what a spawn may say about its fiber.
#pragma once

#include <cstddef>
#include <string_view>

namespace weft {

// Whether another carrier may run a slice of the fiber, where work stealing is on (CarrierOptions::workStealing): until the
// fiber waits, yields, uses a socket or enters a channel, before which it comes home.
enum class Stealable : unsigned char {
    never,
    fresh,  // the first slice only: none of the thread-local hazards
    any,    // also those behind thisFiber::yield() and JoinHandle::join(): thread_local addresses and errno are stale there
};

struct SpawnOptions {
    std::string_view name = {};  // copied, cut to 31 characters; empty: "fiber-<id>"
    std::size_t stackSize = 0;   // bytes of virtual memory, rounded up to a power of two; 0: the group's default
    Stealable stealable = Stealable::fresh;
};

}  // namespace weft
