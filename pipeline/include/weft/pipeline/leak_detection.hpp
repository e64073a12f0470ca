// Leak detection, for debug builds: finds handlers that drop messages without looking at them, or keep them. Messages
// are owned by move, so no reference count can leak. But a message that is dropped unseen leaves a peer without an
// answer, and one that is kept forever takes memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <weft/pipeline/detail/message_watch.hpp>

namespace weft {

// off: nothing is watched.
// simple: a warning names each handler that lets a message die which channelRead() or write() gave it, unless it asked
//   for the type (is() or getIf() that found it, get(), take()), passed the message on, called reset(), or completed
//   the write's promise. Once for each pair of handler type and message type. Costs a few instructions per call, no
//   lock, no allocation.
// paranoid: also records the last handler of each buffer, of each message that a handler keeps, and of each write's
//   promise. A warning reports a promise that is destroyed while pending. When the handlers of a closed channel are
//   gone, a warning reports the messages and promises that they left behind; buffers alone are reported at level info.
//   Takes a lock and allocates.
enum class LeakDetection : unsigned char { off, simple, paranoid };

// True when built with CMake's WEFT_LEAK_DETECTION (AUTO, its default: in Debug builds). Other builds have no
// detection.
inline constexpr bool leakDetectionBuilt = detail::leakDetectionBuilt;

// The level in force. Initially the environment variable WEFT_LEAK_DETECTION (off, simple, paranoid), or simple when it
// is not set; always off in a build without detection. Throws std::invalid_argument when the variable has another
// value, as does the creation of the first channel. Context: any thread.
LeakDetection leakDetection();
// Applies to messages that are given to handlers from now on. Throws std::logic_error in a build without detection,
// unless `level` is off. Context: any thread, best before there are channels.
void setLeakDetection(LeakDetection level);

// Objects that are alive and were last given to one handler of one channel.
struct HeldByHandler {
    std::string handler;      // "name (type)"
    std::uint64_t channel;    // Channel::id()
    std::size_t messages;     // Messages that it moved away and did not pass on; values that it take()s do not count
    std::size_t buffers;      // blocks of Buffers, in messages or not
    std::size_t bufferBytes;  // their capacities
    std::size_t promises;     // pending promises of writes
};

// Level paranoid: the live objects that were given to handlers since it was set, by channel and handler. Context: any
// thread. Takes a lock, allocates. Exact while no channel is active in another thread.
std::vector<HeldByHandler> heldByHandlers();
// The same as lines for a log; "" when nothing is held.
std::string describeHeld();

// How many messages handlers have dropped unseen, including those without a warning of their own. Context: any thread.
std::uint64_t droppedMessages() noexcept;

}  // namespace weft
