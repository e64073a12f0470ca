// StackOverflowReporter: reports which fiber has overflowed its stack before the process dies of it.
#pragma once

#include <cstddef>

namespace weft {

namespace detail {

struct Fiber;

// For a stack without a guard page: reports the overflow and aborts, because other memory has been overwritten.
[[noreturn]] void reportOverflowAndAbort(const Fiber& fiber) noexcept;

}  // namespace detail

// Lives on a carrier's thread while fibers run there. Gives the thread a signal stack and installs, once per process, a
// SIGSEGV handler. The handler reports the fiber whose guard page was touched, then restores the previous disposition,
// so that a core dump is not affected. Does nothing under AddressSanitizer, which has a handler of its own.
class StackOverflowReporter {
  public:
    // `signalStack` has signalStackSize bytes and outlives this object.
    explicit StackOverflowReporter(std::byte* signalStack) noexcept;
    ~StackOverflowReporter();
    StackOverflowReporter(const StackOverflowReporter&) = delete;
    StackOverflowReporter& operator=(const StackOverflowReporter&) = delete;

    static constexpr std::size_t signalStackSize = 64 * 1024;
};

}  // namespace weft
