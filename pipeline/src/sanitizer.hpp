// Lets the pools mark idle blocks for the address sanitizer, which then treats them as freed memory.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define WEFT_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WEFT_ASAN 1
#endif
#endif
#ifdef WEFT_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace weft::detail {

#ifdef WEFT_ASAN
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
