// Annotations of context switches for AddressSanitizer and ThreadSanitizer, and of stacks for valgrind; no-ops without
// them. All are inlined, because a function call would begin on one fiber's shadow stack and end on another's.
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
#include <cstdlib>

#include <sanitizer/tsan_interface.h>
#endif
#ifdef WEFT_VALGRIND
#include <valgrind/valgrind.h>
#endif

namespace weft::detail {

#ifdef WEFT_ASAN
[[gnu::always_inline]] inline void startAsanSwitch(void** fakeStack, const FiberContext& to) noexcept {
    __sanitizer_start_switch_fiber(fakeStack, to.stackBottom, to.stackSize);
}
// The first switch away from a thread's own context records the bounds of its stack.
[[gnu::always_inline]] inline void finishAsanSwitch(void* fakeStack, FiberContext* cameFrom) noexcept {
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
// With WEFT_TSAN_NO_SYNC=1 in the environment, a switch to a fiber orders nothing, as if each fiber were a thread.
// ThreadSanitizer then reports data that is safe only because its fibers share a carrier (docs/explanation/testing.md).
inline bool tsanNoSync() noexcept {
    static const bool wanted = [] {
        const char* text = std::getenv("WEFT_TSAN_NO_SYNC");
        return text != nullptr && text[0] == '1';
    }();
    return wanted;
}
[[gnu::always_inline]] inline void switchTsanFiber(const FiberContext& to) noexcept {
    const bool toFiber = to.stackBottom != nullptr;  // null for a thread's own context
    __tsan_switch_to_fiber(to.tsanFiber, toFiber && tsanNoSync() ? __tsan_switch_to_fiber_no_sync : 0);
}
// The orders that remain then, on any carrier: a fiber's spawn before its start, and one user of a stack before the
// next.
inline void tsanHandOver(const void* what) noexcept {
    if (tsanNoSync()) __tsan_release(const_cast<void*>(what));
}
inline void tsanTakeOver(const void* what) noexcept {
    if (tsanNoSync()) __tsan_acquire(const_cast<void*>(what));
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
inline bool tsanNoSync() noexcept {
    return false;
}
inline void switchTsanFiber(const FiberContext&) noexcept {}
inline void tsanHandOver(const void*) noexcept {}
inline void tsanTakeOver(const void*) noexcept {}
inline void* currentTsanFiber() noexcept {
    return nullptr;
}
inline void* newTsanFiber() noexcept {
    return nullptr;
}
inline void deleteTsanFiber(void*) noexcept {}
#endif

// Registers stacks with valgrind, which recognises them by address. No effect when the program does not run in
// valgrind.
#ifdef WEFT_VALGRIND
inline unsigned registerValgrindStack(const void* low, const void* top) noexcept {
    return VALGRIND_STACK_REGISTER(low, top);
}
inline void deregisterValgrindStack(unsigned id) noexcept {
    VALGRIND_STACK_DEREGISTER(id);
}
#else
inline unsigned registerValgrindStack(const void*, const void*) noexcept {
    return 0;
}
inline void deregisterValgrindStack(unsigned) noexcept {}
#endif

}  // namespace weft::detail
