// Leak detection, for debug builds: who dropped a message without looking at it, and who keeps what. Messages are owned
// by move, so none can leak as a count that nobody takes down would; but one that dies unseen leaves a peer without an
// answer, and one that is kept for ever takes memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <weft/pipeline/detail/message_watch.hpp>

namespace weft {

// off: nothing is watched.
// simple: a handler is named in a warning that lets a message die which channelRead() or write() gave it, although it
//   has not known it (is(), getIf() that found their type, get(), take()), not passed it on, not said reset(), and not
//   completed the write's promise; once for each type of handler and of message. A few instructions per call, no lock,
//   no allocation.
// paranoid: besides, the last handler of each buffer, of each message that it keeps, and of each write's promise is
//   written down. A promise that dies while it is pending is named in a warning; and when a closed channel's handlers
//   are gone, what they left behind: messages and promises in a warning, buffers alone in a line of level info. Takes a
//   lock and allocates.
enum class LeakDetection : unsigned char { off, simple, paranoid };

// Built with CMake's WEFT_LEAK_DETECTION (AUTO, its default: in Debug builds); else there is nothing to switch on.
inline constexpr bool leakDetectionBuilt = detail::leakDetectionBuilt;

// Default: the variable WEFT_LEAK_DETECTION (off, simple, paranoid), else simple; in a build without it always off.
// Throws std::invalid_argument when the variable says anything else: where the first channel is made, too.
// Context: any thread.
LeakDetection leakDetection();
// For messages that are given to handlers from now on. Throws std::logic_error in a build without it, unless `level` is
// off. Context: any thread, best before there are channels.
void setLeakDetection(LeakDetection level);

// What is alive and was last given to one handler of one channel.
struct HeldByHandler {
    std::string handler;    // "name (type)"
    std::uint64_t channel;  // Channel::id()
    std::size_t messages;   // Messages that it moved away and did not pass on; a value that was taken out is no Message
    std::size_t buffers;    // blocks of Buffers, in messages or not
    std::size_t bufferBytes;  // their capacities
    std::size_t promises;     // of writes, pending
};

// Level paranoid: what was given to handlers since it was set and is alive now, by channel and handler. Context: any
// thread; takes a lock, allocates. Exact while no channel is at work.
std::vector<HeldByHandler> heldByHandlers();
// The same as lines for a log; "" when nothing is held.
std::string describeHeld();

// How many messages handlers have dropped unseen, also those that were not named again. Context: any thread.
std::uint64_t droppedMessages() noexcept;

}  // namespace weft
