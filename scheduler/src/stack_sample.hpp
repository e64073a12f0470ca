// StackSample: the stack of another thread, recorded by that thread in a signal handler. Private to the scheduler.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <weft/scheduler/detail/fiber.hpp>

namespace weft::detail {

struct StackSample {
    // What the thread runs; empty: no fiber.
    std::string fiber;
    std::uint64_t fiberId = 0;
    bool isPoller = false;
    std::vector<const void*> frames;  // innermost first
};

// Installs the handler. Throws std::invalid_argument when the signal cannot be handled or has another handler, and
// SystemError if the C library has no memory for a handler of forks.
void handleSampleSignal(int signal);

// Makes a carrier's thread record its stack. `threadId`: the kernel's. False: it did not answer within `timeout`, or an
// earlier request is still unanswered. Blocks. Any thread that is no carrier. A process that is forked meanwhile has no
// request.
[[nodiscard]] bool takeSample(int threadId, int signal, Duration timeout, StackSample& sample);

// "function+0x12", or "module+0x1234" without a symbol.
std::string describeFrame(const void* address);

}  // namespace weft::detail
