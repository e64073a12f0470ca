// The atomics policy. The protocol headers are templates over it, so that the model explorer can run the shipped code
// on its own atomics. NativeAtomics has no overhead.
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>

namespace weft::detail {

struct NativeAtomics {
    template <class T>
    using Atomic = std::atomic<T>;
    // Non-atomic data whose accesses the protocol orders. The explorer checks it for data races.
    template <class T>
    using Plain = T;
    using Mutex = std::mutex;
};

// Alignment of words that several threads write, so that each has a cache line of its own.
inline constexpr std::size_t cacheLine = 64;

}  // namespace weft::detail
