// The atomics policy: protocol cores are templates over it, so that the model explorer can run the shipped headers on
// an atomic of its own. NativeAtomics costs nothing.
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>

namespace weft::detail {

struct NativeAtomics {
    template <class T>
    using Atomic = std::atomic<T>;
    // Data whose accesses the protocol orders: the explorer looks for races on it.
    template <class T>
    using Plain = T;
    using Mutex = std::mutex;
};

// Each word that several threads write gets a line of its own (two: the adjacent-line prefetcher pairs them).
inline constexpr std::size_t cacheLine = 64;

}  // namespace weft::detail
