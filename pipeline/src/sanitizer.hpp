// What the pools tell the address sanitizer, so that pooled memory is watched like freed memory.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace weft::detail {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool addressSanitizer = true;
inline void poison(const void* from, std::size_t size) noexcept {
    __asan_poison_memory_region(from, size);
}
inline void unpoison(const void* from, std::size_t size) noexcept {
    __asan_unpoison_memory_region(from, size);
}
#else
inline constexpr bool addressSanitizer = false;
inline void poison(const void*, std::size_t) noexcept {}
inline void unpoison(const void*, std::size_t) noexcept {}
#endif

}  // namespace weft::detail
