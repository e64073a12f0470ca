// The switch between two FiberContexts, inlined into its callers. On x86-64 it is a few instructions; elsewhere it is
// Boost.Context's fcontext. docs/adr/0032. Private to the scheduler.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include <weft/scheduler/assert.hpp>
#include <weft/scheduler/detail/fiber_context.hpp>

#include "sanitizers.hpp"

// A shadow stack would have to be switched, too.
#if defined(__x86_64__) && defined(__LP64__) && !(defined(__CET__) && (__CET__ & 2) != 0)
#define WEFT_INLINE_SWITCH 1
#else
#include <boost/context/detail/fcontext.hpp>
#endif

namespace weft::detail {

#ifdef WEFT_INLINE_SWITCH

[[gnu::always_inline]] inline void saveFloatControl(FloatControl& control) noexcept {
    asm volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(control.mxcsr), "=m"(control.x87));
}
[[gnu::always_inline]] inline void loadFloatControl(const FloatControl& control) noexcept {
    asm volatile("ldmxcsr %0\n\tfldcw %1" ::"m"(control.mxcsr), "m"(control.x87));
}
// The control registers hold `current`; nearly always these are the same values.
[[gnu::always_inline]] inline void loadFloatControl(const FloatControl& control, const FloatControl& current) noexcept {
    if (control.mxcsr != current.mxcsr || control.x87 != current.x87) [[unlikely]]
        loadFloatControl(control);
}

// Between the two, the registers belong to one stack and the instructions to a function on another one. An unwinder
// that runs then, in a signal handler, must not go on: by that function's frame it would read arbitrary memory.
#ifdef __GCC_HAVE_DWARF2_CFI_ASM
#define WEFT_UNWINDING_ENDS_HERE ".cfi_remember_state\n\t.cfi_undefined rip\n\t"
#define WEFT_UNWINDING_GOES_ON ".cfi_restore_state\n\t"
#else  // the compiler describes frames without directives, or not at all
#define WEFT_UNWINDING_ENDS_HERE
#define WEFT_UNWINDING_GOES_ON
#endif

// Returns the context that has switched back. The registers that are not in the context are clobbered, so the compiler
// saves those that it still needs. There is neither a call nor a return, so the processor goes on to predict the
// returns of its callers. A new context begins in its FiberEntry, whose arguments are in the same registers; above its
// first frame is a null return address, where unwinding ends.
[[gnu::always_inline]] inline FiberContext* jump(FiberContext& from, FiberContext& to) noexcept {
    static_assert(offsetof(FiberContext, stackPointer) == 0 && offsetof(FiberContext, framePointer) == 8 &&
                      offsetof(FiberContext, base) == 16 && offsetof(FiberContext, next) == 24,
                  "the instructions below use these offsets");
    FiberContext* first = &from;
    FiberContext* second = &to;
    asm volatile("leaq 1f(%%rip), %%rax\n\t"
                 "movq %%rsp, 0(%%rdi)\n\t"
                 "movq %%rbp, 8(%%rdi)\n\t"
                 "movq %%rbx, 16(%%rdi)\n\t"
                 "movq %%rax, 24(%%rdi)\n\t"  // the registers still belong to the old stack
                 WEFT_UNWINDING_ENDS_HERE "movq 0(%%rsi), %%rsp\n\t"
                 "movq 8(%%rsi), %%rbp\n\t"
                 "movq 16(%%rsi), %%rbx\n\t"
                 "jmpq *24(%%rsi)\n\t"  // to a function of the new stack
                 WEFT_UNWINDING_GOES_ON "1:"
                 : "+D"(first), "+S"(second)
                 :
                 : "rax", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "memory", "cc", "st",
                   "st(1)", "st(2)", "st(3)", "st(4)", "st(5)", "st(6)", "st(7)", "xmm0", "xmm1", "xmm2", "xmm3",
                   "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15"
#ifdef __AVX512F__
                   ,
                   "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25", "xmm26",
                   "xmm27", "xmm28", "xmm29", "xmm30", "xmm31", "k1", "k2", "k3", "k4", "k5", "k6", "k7"
#endif
    );
    return first;
}
#undef WEFT_UNWINDING_ENDS_HERE
#undef WEFT_UNWINDING_GOES_ON

// The context, on a stack that ends at `top`, will run `entry`.
inline void prepareFirstJump(FiberContext& context, void* top, FiberEntry entry) noexcept {
    // As after a call: the return address, here null for unwinders, is at a multiple of 16 minus 8.
    auto* const frame = reinterpret_cast<void**>(reinterpret_cast<std::uintptr_t>(top) & ~std::uintptr_t{15}) - 1;
    *frame = nullptr;
    context.stackPointer = static_cast<void*>(frame);
    context.next = reinterpret_cast<const void*>(entry);
}

#else  // fcontext keeps these registers itself

inline void saveFloatControl(FloatControl&) noexcept {}
inline void loadFloatControl(const FloatControl&) noexcept {}
inline void loadFloatControl(const FloatControl&, const FloatControl&) noexcept {}

[[gnu::always_inline]] inline FiberContext* jump(FiberContext& from, FiberContext& to) noexcept {
    to.resumedFrom = &from;
    const boost::context::detail::transfer_t back = boost::context::detail::jump_fcontext(to.stackPointer, &to);
    from.resumedFrom->stackPointer = back.fctx;
    return from.resumedFrom;
}

inline void firstFunction(boost::context::detail::transfer_t arrival) noexcept {
    auto& self = *static_cast<FiberContext*>(arrival.data);
    self.resumedFrom->stackPointer = arrival.fctx;
    reinterpret_cast<FiberEntry>(const_cast<void*>(self.next))(self.resumedFrom, &self);
}

inline void prepareFirstJump(FiberContext& context, void* top, FiberEntry entry) noexcept {
    context.stackPointer = boost::context::detail::make_fcontext(top, context.stackSize, &firstFunction);
    context.next = reinterpret_cast<const void*>(entry);
}

#endif

// Resumes a fiber; returns the fiber that switched back, which may be another one. `thread` is the calling thread's own
// context, `threadExceptions` are its runtime globals. The thread's own code, which calls this, handles no exception
// meanwhile.
[[gnu::always_inline]] inline FiberContext& switchToFiber(FiberContext& thread, FiberContext& fiber,
                                                          ExceptionGlobals& threadExceptions) noexcept {
    WEFT_DEBUG_ASSERT(threadExceptions.empty(), "a fiber is resumed while an exception is handled");
    threadExceptions = fiber.exceptions;
    loadFloatControl(fiber.floatControl, thread.floatControl);
    startAsanSwitch(&thread.asanFakeStack, fiber);
    switchTsanFiber(fiber);
    FiberContext* const cameFrom = jump(thread, fiber);
    finishAsanSwitch(thread.asanFakeStack, cameFrom);
    return *cameFrom;
}
// A switch from one fiber to another one or to the thread. The fiber may be resumed by another thread, so the caller
// must not use thread-local variables.
[[gnu::always_inline]] inline void switchAway(FiberContext& fiber, FiberContext& to) noexcept {
    saveFloatControl(fiber.floatControl);
    loadFloatControl(to.floatControl, fiber.floatControl);
    startAsanSwitch(&fiber.asanFakeStack, to);
    switchTsanFiber(to);
    FiberContext* const cameFrom = jump(fiber, to);
    finishAsanSwitch(fiber.asanFakeStack, cameFrom);
}
[[gnu::always_inline]] inline void switchToThread(FiberContext& fiber, FiberContext& thread,
                                                  ExceptionGlobals& threadExceptions) noexcept {
    fiber.exceptions = threadExceptions;
    threadExceptions = {};
    switchAway(fiber, thread);
}
[[gnu::always_inline]] inline void switchToNext(FiberContext& fiber, FiberContext& next,
                                                ExceptionGlobals& threadExceptions) noexcept {
    fiber.exceptions = threadExceptions;
    threadExceptions = next.exceptions;
    switchAway(fiber, next);
}
// To be called first by a FiberEntry.
[[gnu::always_inline]] inline void arrive(FiberContext& fiber, FiberContext& cameFrom) noexcept {
    finishAsanSwitch(nullptr, &cameFrom);
    tsanTakeOver(&fiber);
}
// As switchAway(), for a fiber that will never be resumed. Its function has returned, so it handles no exception.
[[noreturn, gnu::always_inline]] inline void leave(FiberContext& fiber, FiberContext& to) noexcept {
    loadFloatControl(to.floatControl);
    startAsanSwitch(nullptr, to);  // null: the fake stack of a dying context is freed
    switchTsanFiber(to);
    jump(fiber, to);
    std::abort();
}
[[noreturn, gnu::always_inline]] inline void leaveForThread(
    FiberContext& fiber, FiberContext& thread, [[maybe_unused]] const ExceptionGlobals& threadExceptions) noexcept {
    WEFT_DEBUG_ASSERT(threadExceptions.empty(), "a fiber has ended while it handles an exception");
    leave(fiber, thread);
}
[[noreturn, gnu::always_inline]] inline void leaveForNext(FiberContext& fiber, FiberContext& next,
                                                          ExceptionGlobals& threadExceptions) noexcept {
    WEFT_DEBUG_ASSERT(threadExceptions.empty(), "a fiber has ended while it handles an exception");
    threadExceptions = next.exceptions;
    leave(fiber, next);
}

}  // namespace weft::detail
