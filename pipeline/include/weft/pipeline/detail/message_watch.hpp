// The calls of Message to the leak detection: it was used, moved, or has ended. Other builds make no such calls.
#pragma once

#ifndef WEFT_LEAK_DETECTION
#define WEFT_LEAK_DETECTION 0  // the CMake target and weft.pc of a build with detection define it as 1
#endif

namespace weft {
class Message;
}

namespace weft::detail {

inline constexpr bool leakDetectionBuilt = WEFT_LEAK_DETECTION != 0;

// Out of line: they use thread-locals, whose addresses the compiler must not keep across a fiber switch.
void messageUsed(const Message& message) noexcept;  // its type was queried, or reset() was called
void messageMoved(const Message& from, const Message& to) noexcept;
void messageEnded(const Message& message) noexcept;  // while it held something

}  // namespace weft::detail
