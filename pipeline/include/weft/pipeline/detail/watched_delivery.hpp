// The value that is being delivered on this thread, so that its codec learns when the delivery destroys it.
#pragma once

#include <cstdint>

namespace weft::detail {

// The address of the value whose delivery a codec on this thread watches; 0: none. It is only compared, never
// dereferenced. The codec sets it around fireChannelRead(), and the value's destructor changes it there. A delivery
// inside another one, and the tail, leave it 0.
extern thread_local constinit std::uintptr_t watchedDelivery [[gnu::tls_model("initial-exec")]];
// Set once the watched value has been destroyed inside its delivery; the other bits are information from the value.
inline constexpr std::uintptr_t endedInDelivery = 1;

}  // namespace weft::detail
