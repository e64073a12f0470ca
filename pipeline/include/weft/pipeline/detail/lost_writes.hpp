// Logs the loss of writes with the void promise, which cannot report it. Only the rate limit leaves out lines.
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

// "channel 7 (peer 127.0.0.1:80)", without the peer when its address is not known (any more). Context: the loop.
std::string channelName(const Channel& channel);

// All are limited in rate and never throw. Context: the loop, except logUndeliveredWrite().
// `how` names what had ended before the write: "the channel was closed".
void logLateWrite(LogLevel level, const Channel& channel, const std::string& writer, const Message& message,
                  std::string_view how) noexcept;
void logThrownWrite(const ChannelHandlerContext& thrower, const std::exception_ptr& cause) noexcept;
// A write of another thread was dropped because the loop ended first. Context: any thread.
void logUndeliveredWrite(const Channel& channel, const Message& message) noexcept;
void logUnsupportedWrite(std::string_view what) noexcept;

}  // namespace detail
}  // namespace weft
