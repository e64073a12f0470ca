// The value that is being delivered on this thread, so that it can tell its codec when it ends there.
#pragma once

#include <cstdint>

namespace weft::detail {

// The address of the value whose delivery a codec on this thread watches; 0: none. It is only compared, never followed.
// The codec sets it around fireChannelRead(), and the value changes it when it is destroyed there. A delivery inside
// another one, and the tail, leave 0.
extern thread_local constinit std::uintptr_t watchedDelivery [[gnu::tls_model("initial-exec")]];
// When the watched value has ended inside its delivery: this bit, with what the value has to tell in the others.
inline constexpr std::uintptr_t endedInDelivery = 1;

}  // namespace weft::detail
