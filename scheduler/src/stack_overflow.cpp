#include "stack_overflow.hpp"

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string_view>

#include <weft/scheduler/carrier.hpp>

#include "fiber_access.hpp"
#include "sanitizers.hpp"

#include <sys/syscall.h>
#include <unistd.h>

namespace weft {

namespace {

struct sigaction previousAction;

// A line of text built without allocation, for use in a signal handler.
class Line {
  public:
    Line& text(std::string_view text) noexcept {
        length_ += text.copy(bytes_ + length_, sizeof bytes_ - length_);
        return *this;
    }
    Line& number(std::uint64_t value, unsigned base) noexcept {
        char digits[20];
        unsigned count = 0;
        do digits[count++] = "0123456789abcdef"[value % base];
        while ((value /= base) != 0);
        while (count > 0 && length_ < sizeof bytes_) bytes_[length_++] = digits[--count];
        return *this;
    }
    void write() const noexcept { [[maybe_unused]] const auto written = ::write(STDERR_FILENO, bytes_, length_); }

  private:
    char bytes_[256];
    std::size_t length_ = 0;
};

void report(const detail::Fiber& fiber, const void* address) noexcept {
    Line line;
    line.text("weft: fiber stack overflow in fiber '").text(detail::FiberName(fiber));
    if (address != nullptr) {
        line.text("' at 0x").number(reinterpret_cast<std::uintptr_t>(address), 16);
    } else {
        line.text("' (without a guard page: detected when the fiber ended)");
    }
    line.text(", stack size ")
        .number(fiber.stack.size, 10)
        .text(" bytes; spawn it with a larger SpawnOptions::stackSize\n");
    line.write();
}

void onSegmentationFault(int signal, siginfo_t* info, void*) noexcept {
    const detail::Fiber* fiber = FiberAccess::currentFiber();
    if (fiber != nullptr && fiber->stack.guardContains(info->si_addr)) report(*fiber, info->si_addr);
    const bool sent = info->si_code <= 0;  // by kill(), raise() or similar
    if (sent && previousAction.sa_handler == SIG_IGN) return;
    ::sigaction(signal, &previousAction, nullptr);  // the instruction faults again, with the previous disposition
    // A signal that was sent has no faulting instruction. Send it again unchanged; it is delivered when this handler
    // returns.
    if (sent) ::syscall(SYS_rt_tgsigqueueinfo, ::getpid(), ::gettid(), signal, info);
}

[[maybe_unused]] void installHandler() noexcept {
    struct sigaction action;
    std::memset(&action, 0, sizeof action);
    action.sa_sigaction = &onSegmentationFault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    ::sigaction(SIGSEGV, &action, &previousAction);
}

}  // namespace

void detail::reportOverflowAndAbort(const Fiber& fiber) noexcept {
    report(fiber, nullptr);
    std::abort();
}

StackOverflowReporter::StackOverflowReporter([[maybe_unused]] std::byte* signalStack) noexcept {
#ifndef WEFT_ASAN
    static std::once_flag once;
    std::call_once(once, installHandler);
    stack_t stack{};
    stack.ss_sp = signalStack;
    stack.ss_size = signalStackSize;
    ::sigaltstack(&stack, nullptr);
#endif
}

StackOverflowReporter::~StackOverflowReporter() {
#ifndef WEFT_ASAN
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    ::sigaltstack(&none, nullptr);
#endif
}

}  // namespace weft
