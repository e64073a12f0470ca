#include <weft/scheduler/detail/fiber_context.hpp>

#include <cxxabi.h>
#include <cstddef>
#include <cstdlib>

#include <boost/context/detail/fcontext.hpp>

#include "sanitizers.hpp"

namespace weft::detail {

namespace fcontext = boost::context::detail;

namespace {

// Passes only a pointer through the jump: an object on the switching stack would be destroyed with that stack.
[[gnu::always_inline]] inline void jump(FiberContext& from, FiberContext& to) noexcept {
    to.resumedFrom = &from;
    const fcontext::transfer_t back = fcontext::jump_fcontext(to.saved, &to);
    // `from` has been resumed: save the context that switched to it.
    from.resumedFrom->saved = back.fctx;
}

void exchangeExceptions(FiberContext& from, FiberContext& to, ExceptionGlobals& thread) noexcept {
    from.exceptions = thread;
    thread = to.exceptions;
}

// The first frame of every fiber.
void trampoline(fcontext::transfer_t arrival) noexcept {
    auto& self = *static_cast<FiberContext*>(arrival.data);
    self.resumedFrom->saved = arrival.fctx;
    finishAsanSwitch(nullptr, self.resumedFrom);
    tsanTakeOver(&self);
    // makeContext() stored the entry in `asanFakeStack`, which is unused before the first switch.
    auto entry = reinterpret_cast<FiberEntry>(self.asanFakeStack);
    self.asanFakeStack = nullptr;
    entry(self);
    std::abort();  // an entry must end by leaveContext()
}

}  // namespace

void makeContext(FiberContext& context, void* bottom, void* top, FiberEntry entry) noexcept {
    const auto size = static_cast<std::size_t>(static_cast<std::byte*>(top) - static_cast<std::byte*>(bottom));
    context.stackBottom = bottom;
    context.stackSize = size;
    context.asanFakeStack = reinterpret_cast<void*>(entry);
    context.saved = fcontext::make_fcontext(top, size, &trampoline);
    tsanHandOver(&context);
}

void switchContext(FiberContext& from, FiberContext& to, ExceptionGlobals& threadExceptions) noexcept {
    exchangeExceptions(from, to, threadExceptions);
    startAsanSwitch(&from.asanFakeStack, to);
    switchTsanFiber(to);
    jump(from, to);
    finishAsanSwitch(from.asanFakeStack, from.resumedFrom);
}

void leaveContext(FiberContext& from, FiberContext& to, ExceptionGlobals& threadExceptions) noexcept {
    exchangeExceptions(from, to, threadExceptions);
    startAsanSwitch(nullptr, to);  // null: the fake stack of a dying context is freed
    switchTsanFiber(to);
    to.resumedFrom = &from;
    fcontext::jump_fcontext(to.saved, &to);
    std::abort();
}

[[gnu::noinline]] ExceptionGlobals& threadExceptionGlobals() noexcept {
    asm volatile("" ::: "memory");  // <cxxabi.h> declares the call const, which is wrong once a fiber changes threads
    return *reinterpret_cast<ExceptionGlobals*>(abi::__cxa_get_globals());
}

void adoptThreadContext(FiberContext& context) noexcept {
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
