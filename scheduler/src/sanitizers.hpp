// What AddressSanitizer and ThreadSanitizer must be told of a context switch; nothing in other builds.
#pragma once

#include <cstddef>

#include <weft/scheduler/detail/fiber_context.hpp>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WEFT_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define WEFT_TSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define WEFT_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define WEFT_TSAN 1
#endif

#ifdef WEFT_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef WEFT_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace weft::detail {

#ifdef WEFT_ASAN
inline void startAsanSwitch(void** fakeStack, const FiberContext& to) noexcept {
    __sanitizer_start_switch_fiber(fakeStack, to.stackBottom, to.stackSize);
}
// A thread's own context learns its bounds the first time it is left.
inline void finishAsanSwitch(void* fakeStack, FiberContext* cameFrom) noexcept {
    const void* bottom = nullptr;
    std::size_t size = 0;
    __sanitizer_finish_switch_fiber(fakeStack, &bottom, &size);
    if (cameFrom != nullptr && cameFrom->stackBottom == nullptr) {
        cameFrom->stackBottom = bottom;
        cameFrom->stackSize = size;
    }
}
inline void asanUnpoison(void* bottom, std::size_t size) noexcept {
    __asan_unpoison_memory_region(bottom, size);
}
#else
inline void startAsanSwitch(void**, const FiberContext&) noexcept {}
inline void finishAsanSwitch(void*, FiberContext*) noexcept {}
inline void asanUnpoison(void*, std::size_t) noexcept {}
#endif

#ifdef WEFT_TSAN
inline void switchTsanFiber(const FiberContext& to) noexcept {
    __tsan_switch_to_fiber(to.tsanFiber, 0);
}
inline void* currentTsanFiber() noexcept {
    return __tsan_get_current_fiber();
}
inline void* newTsanFiber() noexcept {
    return __tsan_create_fiber(0);
}
inline void deleteTsanFiber(void* fiber) noexcept {
    if (fiber) __tsan_destroy_fiber(fiber);
}
#else
inline void switchTsanFiber(const FiberContext&) noexcept {}
inline void* currentTsanFiber() noexcept {
    return nullptr;
}
inline void* newTsanFiber() noexcept {
    return nullptr;
}
inline void deleteTsanFiber(void*) noexcept {}
#endif

}  // namespace weft::detail
