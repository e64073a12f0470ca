// What the HTTP codecs log of messages that they do not send. Each line names the channel and the handler that passed
// the message on last, and is limited in rate.
#pragma once

#include <exception>
#include <string>
#include <string_view>

#include <weft/scheduler/log.hpp>

namespace weft {
class ChannelHandlerContext;
}

namespace weft::http::detail {

// A message that came to `codec` and is not sent. A null `codec` has been removed, and the line names neither channel
// nor handler. Lines of LogLevel::debug are limited apart from the others. Context: the loop. Never throws.
void logUnsent(LogLevel level, const ChannelHandlerContext* codec, std::string_view what) noexcept;

// What `codec` had encoded, and lost by an exception. Context: the loop. Never throws.
void logLostOutput(const ChannelHandlerContext* codec, const std::exception_ptr& cause) noexcept;

// The same limits, for any line.
void logOfCodec(LogLevel level, const ChannelHandlerContext& codec, std::string_view line) noexcept;

// "'a', 'b'": the handlers behind the codec, any of which may have had its messages.
std::string handlersBehind(const ChannelHandlerContext& codec);

}  // namespace weft::http::detail
