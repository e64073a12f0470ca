// The value that is being delivered on this thread, so that it can tell its codec when it ends there.
#pragma once

#include <cstdint>

namespace weft::detail {

// The value whose delivery somebody on this thread watches, 0: none. Only compared, never followed. What a codec sets
// around a fireChannelRead() the value may change when it dies there; a delivery inside another one, and the tail,
// leave 0.
extern thread_local constinit std::uintptr_t watchedDelivery [[gnu::tls_model("initial-exec")]];
// When the watched value has ended inside its delivery: this bit, with what the value has to tell in the others.
inline constexpr std::uintptr_t endedInDelivery = 1;

}  // namespace weft::detail
