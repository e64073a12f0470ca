// What a process that was forked from one with carriers must know: fork() copies the calling thread only, so it has none.
#pragma once

#include <cstdint>
#include <string>

#include <weft/scheduler/errors.hpp>

namespace weft::detail {

// How often this process and those that it was forked from have been forked since carriers exist. One load; any thread.
std::uint32_t forkGeneration() noexcept;
// From now on forks are counted, and a fiber that calls fork() goes on in the child as a plain thread. Returns
// forkGeneration(). Throws SystemError when the C library has no memory for its handler.
std::uint32_t watchForks();
// What a call throws that only a carrier's thread could serve.
SystemError forkedError(const std::string& call);
// A fiber's function has returned in a forked child: there is no carrier to return to. Says so and aborts.
[[noreturn]] void endOfForkedFiber() noexcept;

}  // namespace weft::detail
