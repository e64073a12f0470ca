// What is logged of writes that are lost although nobody holds a promise for them: nothing is dropped without a line.
#pragma once

#include <exception>
#include <string>
#include <string_view>

#include <weft/scheduler/log.hpp>

namespace weft {

class Channel;
class ChannelHandlerContext;
class Message;

namespace detail {

// "channel 7 (peer 127.0.0.1:80)"; without a peer when the channel has none, or has lost it. Context: the loop.
std::string channelName(const Channel& channel);

// The name of the handler that passed on last what `taker` is given to write; empty: no handler behind it handles
// writes. Context: the loop; `taker` is in its pipeline.
std::string lastWriterTo(const ChannelHandlerContext& taker);

// All are limited in rate and never throw; on the loop, but for the third.
// `how` says what had ended before the write: "the channel was closed".
void logLateWrite(LogLevel level, const Channel& channel, const std::string& writer, const Message& message,
                  std::string_view how) noexcept;
void logThrownWrite(const ChannelHandlerContext& thrower, const std::exception_ptr& cause) noexcept;
// A write of another thread that its loop did not live to run. Any thread.
void logUnrunWrite(const Channel& channel, const Message& message) noexcept;
void logUnsupportedWrite(std::string_view what) noexcept;

}  // namespace detail
}  // namespace weft
