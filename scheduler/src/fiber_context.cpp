#include <weft/scheduler/detail/fiber_context.hpp>

#include <cxxabi.h>

#include "context_switch.hpp"

namespace weft::detail {

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

}  // namespace weft::detail
