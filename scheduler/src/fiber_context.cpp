#include <weft/scheduler/detail/fiber_context.hpp>

#include <cxxabi.h>
#include <cstddef>
#include <cstdlib>

#include "context_switch.hpp"

namespace weft::detail {

#ifdef WEFT_INLINE_SWITCH

namespace {

void prepareFirstJump(FiberContext& context, void* top, FiberEntry entry) noexcept {
    // As after a call: the return address, here null for debuggers, is at a multiple of 16 minus 8.
    auto* const frame = reinterpret_cast<void**>(reinterpret_cast<std::uintptr_t>(top) & ~std::uintptr_t{15}) - 1;
    *frame = nullptr;
    context.stackPointer = frame;
    context.next = reinterpret_cast<const void*>(entry);
}

}  // namespace

#else

namespace {

void trampoline(boost::context::detail::transfer_t arrival) noexcept {
    auto& self = *static_cast<FiberContext*>(arrival.data);
    self.resumedFrom->stackPointer = arrival.fctx;
    reinterpret_cast<FiberEntry>(const_cast<void*>(self.next))(self.resumedFrom, &self);
}

void prepareFirstJump(FiberContext& context, void* top, FiberEntry entry) noexcept {
    context.stackPointer = boost::context::detail::make_fcontext(top, context.stackSize, &trampoline);
    context.next = reinterpret_cast<const void*>(entry);
}

}  // namespace

#endif

void makeContext(FiberContext& context, void* bottom, void* top, FiberEntry entry) noexcept {
    context.stackBottom = bottom;
    context.stackSize = static_cast<std::size_t>(static_cast<std::byte*>(top) - static_cast<std::byte*>(bottom));
    prepareFirstJump(context, top, entry);
    tsanHandOver(&context);
}

void keepFloatControl(FiberContext& context) noexcept {
    constexpr std::uint32_t statusFlags = 0x3f;
    saveFloatControl(context.floatControl);
    context.floatControl.mxcsr &= ~statusFlags;
}

[[gnu::noinline]] ExceptionGlobals& threadExceptionGlobals() noexcept {
    asm volatile("" ::: "memory");  // <cxxabi.h> declares the call const, which is wrong once a fiber changes threads
    return *reinterpret_cast<ExceptionGlobals*>(abi::__cxa_get_globals());
}

void adoptThreadContext(FiberContext& context) noexcept {
    loadFloatControl(context.floatControl);
    context.tsanFiber = currentTsanFiber();
}

void* createTsanFiber() noexcept {
    return newTsanFiber();
}
void destroyTsanFiber(void* fiber) noexcept {
    deleteTsanFiber(fiber);
}
void unpoisonStack(void* bottom, std::size_t size) noexcept {
    asanUnpoison(bottom, size);
}

}  // namespace weft::detail
