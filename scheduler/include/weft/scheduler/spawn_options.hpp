// SpawnOptions: the properties of a new fiber.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace weft {

// Which slices of the fiber another carrier may run, with work stealing (CarrierOptions::workStealing). Such a slice
// ends when the fiber waits or yields; the fiber goes home before it waits, uses a socket or enters a channel.
enum class Stealable : unsigned char {
    never,
    fresh,  // the first slice only: no frame of the fiber can hold another thread's thread_local addresses yet
    any,    // also after thisFiber::yield() and JoinHandle::join(): thread_local addresses and errno may then be stale
};

struct SpawnOptions {
    // Copied, cut to at most 31 bytes, between two characters of UTF-8; empty: "fiber-<id>".
    std::string_view name = {};
    std::size_t stackSize = 0;  // bytes of virtual memory, rounded up to a power of two; 0: the group's default
    // Empty: `never` for a fiber that is started from or on a carrier (spawn(), ctx.spawn(), a scope), so that the
    // fibers of one carrier need no lock between two waits; `fresh` for one whose home no caller has chosen: of
    // CarrierGroup::spawn() and weft::spawn() on any thread but the group's carriers.
    std::optional<Stealable> stealable = {};
};

}  // namespace weft
