// callerId: identifies the calling fiber or thread. Private to the scheduler.
#pragma once

#include <cstdint>

namespace weft::detail {

// The fiber's id, or on a plain thread one of the same series: unique in the process, never used again, never 0. Any
// thread; never blocks or allocates.
std::uint64_t callerId() noexcept;

}  // namespace weft::detail
