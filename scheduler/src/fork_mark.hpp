// Detection of fork(). It copies only the calling thread, so a process forked from one with carriers has none.
#pragma once

#include <cstdint>
#include <string>

#include <weft/scheduler/errors.hpp>

namespace weft::detail {

// Number of forks, since the first watchForks(), between the original process and this one. One load; any thread.
std::uint32_t forkGeneration() noexcept;
// Starts counting forks. From then on, a fiber that calls fork() continues in the child as a plain thread. Returns
// forkGeneration(). Throws SystemError if the C library has no memory for its handler.
std::uint32_t watchForks();
// The exception for a call that would need a carrier's thread.
SystemError forkedError(const std::string& call);
// Called when a fiber has ended in a forked child, which has no carrier to continue on. Logs it and aborts.
[[noreturn]] void endOfForkedFiber() noexcept;
// The same for a function of a BlockingPool: the fiber that waits for it, and the pool, are in the parent.
[[noreturn]] void endOfForkedFunction() noexcept;

}  // namespace weft::detail
