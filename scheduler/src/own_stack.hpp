// isOnOwnStack: whether an address lies on the stack of the calling fiber or thread. Private to the scheduler.
#pragma once

namespace weft::detail {

// False for null. Context: any thread. Does not block; on a plain thread the first call may allocate, and returns false
// if it fails.
bool isOnOwnStack(const void* address) noexcept;

}  // namespace weft::detail
