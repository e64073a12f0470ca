// What the HTTP codecs report: failures of promises, and lines of the log, limited in rate: messages that they do not
// send, with the channel and the last handler that passed them on, requests without an answer, and bytes that they
// lose.
#pragma once

#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>

#include <weft/scheduler/log.hpp>

namespace weft {
class ChannelHandlerContext;
}

namespace weft::http::detail {

// The failure of a promise if the application has violated the contract of a codec.
inline std::exception_ptr misuse(const char* what) {
    return std::make_exception_ptr(std::logic_error(what));
}

// Logs a message that reached `codec` and is not sent. If `codec` is null, it has been removed, and the line names
// neither channel nor handler. With a codec, LogLevel::debug has a rate limit of its own. Context: the loop. Never
// throws.
void logUnsent(LogLevel level, const ChannelHandlerContext* codec, std::string_view what) noexcept;

// Logs that an exception made `codec` lose bytes that it had encoded. Context: the loop. Never throws.
void logLostOutput(const ChannelHandlerContext* codec, const std::exception_ptr& cause) noexcept;

// Logs any line, with the same rate limits.
void logLimited(LogLevel level, const ChannelHandlerContext& codec, std::string_view line) noexcept;

// The names of the handlers after the codec ("'a', 'b'"), any of which may have had its messages.
std::string handlersBehind(const ChannelHandlerContext& codec);

}  // namespace weft::http::detail
