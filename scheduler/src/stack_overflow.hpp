// StackOverflowReporter: says which fiber overflowed its stack before the process dies of it.
#pragma once

#include <cstddef>

namespace weft {

namespace detail {

struct Fiber;

// For a stack without a guard page: the end of a process whose memory can no longer be trusted.
[[noreturn]] void reportOverflowAndAbort(const Fiber& fiber) noexcept;

}  // namespace detail

// Lives on a carrier's thread for as long as fibers run there: gives the thread a signal stack, and the process, once,
// a SIGSEGV handler that names the fiber whose guard page was touched and then hands on to the previous disposition, so
// that a core dump is as it would have been. Does nothing under AddressSanitizer, which has a handler of its own.
class StackOverflowReporter {
  public:
    // `signalStack` has signalStackSize bytes and lives longer.
    explicit StackOverflowReporter(std::byte* signalStack) noexcept;
    ~StackOverflowReporter();
    StackOverflowReporter(const StackOverflowReporter&) = delete;
    StackOverflowReporter& operator=(const StackOverflowReporter&) = delete;

    static constexpr std::size_t signalStackSize = 64 * 1024;
};

}  // namespace weft
