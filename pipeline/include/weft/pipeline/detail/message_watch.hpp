// What a Message tells the leak detection: that it was looked at, moved, or has ended. Nothing in ordinary builds.
#pragma once

#ifndef WEFT_LEAK_DETECTION
#define WEFT_LEAK_DETECTION 0  // 1: the CMake target and weft.pc of a build that has it say so
#endif

namespace weft {
class Message;
}

namespace weft::detail {

inline constexpr bool leakDetectionBuilt = WEFT_LEAK_DETECTION != 0;

// Out of line: they look at thread-locals, whose addresses must not be kept over a fiber switch.
void messageUsed(const Message& message) noexcept;  // its type was asked for, or it ends on purpose
void messageMoved(const Message& from, const Message& to) noexcept;
void messageEnded(const Message& message) noexcept;  // while it held something

}  // namespace weft::detail
