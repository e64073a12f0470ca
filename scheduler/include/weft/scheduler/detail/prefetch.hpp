// Prefetching of what a fiber will use, for carriers with more fibers than the cache holds (docs/adr/0033).
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::detail {

// Prefetches `count` cache lines from `first`, which may be any address. GCC takes a function that does nothing else
// for one without effects and drops its calls; the empty statement keeps them.
[[gnu::always_inline]] inline void prefetchLines(const void* first, std::size_t count) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(first);
    for (std::size_t i = 0; i < count; ++i) __builtin_prefetch(reinterpret_cast<const void*>(address + i * 64));
    asm volatile("");
}

}  // namespace weft::detail
