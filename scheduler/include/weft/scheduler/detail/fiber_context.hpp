// FiberContext: a saved machine context, and the switch between two. The raw fcontext record, the C++ exception globals
// and the sanitizer annotations live in one translation unit (docs/adr/0007). Source: Boost.Context's fcontext.
#pragma once

#include <cstddef>

namespace weft::detail {

// What the C++ runtime keeps per thread and a fiber must have for itself: the stack of caught exceptions and the count
// of uncaught ones (the layout of __cxa_eh_globals in the Itanium C++ ABI).
struct ExceptionGlobals {
    void* caughtExceptions = nullptr;
    unsigned uncaughtExceptions = 0;
};

struct FiberContext {
    void* saved = nullptr;                // fcontext_t while switched out
    FiberContext* resumedFrom = nullptr;  // who switched to this context last
    ExceptionGlobals exceptions;
    const void* stackBottom = nullptr;  // sanitizers: the lowest address and the size of the stack
    std::size_t stackSize = 0;
    void* asanFakeStack = nullptr;
    void* tsanFiber = nullptr;
};

using FiberEntry = void (*)(FiberContext& self) noexcept;

// Prepares a context that will run entry(self) on the given stack; `top` is one past its highest byte.
void makeContext(FiberContext& context, void* bottom, void* top, FiberEntry entry) noexcept;

// Saves into `from` and continues `to`; returns when something switches back to `from`. `threadExceptions` are the
// runtime's globals of the calling thread.
void switchContext(FiberContext& from, FiberContext& to, ExceptionGlobals& threadExceptions) noexcept;
// As switchContext, from a context that will never run again.
[[noreturn]] void leaveContext(FiberContext& from, FiberContext& to, ExceptionGlobals& threadExceptions) noexcept;

// The calling thread's globals; never inlined, so that no compiler caches the address over a switch.
ExceptionGlobals& threadExceptionGlobals() noexcept;

// Whether an exception is on its way in the calling fiber or thread: std::uncaught_exceptions() > 0, at less cost.
bool unwinding() noexcept;

// Makes the calling thread's own context known to the sanitizers.
void adoptThreadContext(FiberContext& context) noexcept;

// Sanitizer state of a stack: kept with it while it is pooled, because making it anew is dear.
void* createTsanFiber() noexcept;
void destroyTsanFiber(void* fiber) noexcept;
void unpoisonStack(void* bottom, std::size_t size) noexcept;

}  // namespace weft::detail
