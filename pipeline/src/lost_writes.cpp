#include <weft/pipeline/detail/lost_writes.hpp>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_errors.hpp>
#include <weft/pipeline/channel_handler_context.hpp>
#include <weft/pipeline/detail/limited_log.hpp>

namespace weft::detail {

namespace {

constexpr std::string_view outOfMemory = "a write was lost, and there was no memory to log it";

}  // namespace

std::string channelName(const Channel& channel) {
    std::string name = "channel " + std::to_string(channel.id());
    const SocketAddress peer = channel.remoteAddress();
    if (!peer.empty()) name += " (peer " + peer.toString() + ")";
    return name;
}

void logLateWrite(LogLevel level, const Channel& channel, const std::string& writer, const Message& message,
                  std::string_view how) noexcept {
    static LimitedLog faults, ordinaryEnds;  // separate limits, so that ends by peers do not suppress warnings
    LimitedLog& limited = level == LogLevel::debug ? ordinaryEnds : faults;
    try {
        const std::string bytes = std::to_string(message.estimatedBytes());
        limited.write(level,
                      {"a ", message.typeName(), " of ", bytes, " bytes was written to ", channelName(channel), " by ",
                       writer, " after ", how, ": it was dropped; write it earlier, or give the write a ",
                       "promise and check its outcome"});
    } catch (...) {
        limited.write(level, {outOfMemory});
    }
}

void logThrownWrite(const ChannelHandlerContext& thrower, const std::exception_ptr& cause) noexcept {
    static LimitedLog limited;
    try {
        limited.write(
            LogLevel::warning,
            {"write() of handler ", thrower.name(), " of ", channelName(thrower.channel()), " threw ", describe(cause),
             ", and no exceptionCaught() from there to the tail handled the exception: the message is lost, ",
             "so the channel is closed; to keep it open, handle the exception in exceptionCaught(), or give ",
             "the write a promise"});
    } catch (...) {
        limited.write(LogLevel::warning, {outOfMemory});
    }
}

void logUndeliveredWrite(const Channel& channel, const Message& message) noexcept {
    static LimitedLog limited;
    try {
        limited.write(LogLevel::debug,
                      {"a ", message.typeName(), " that another thread wrote to channel ", std::to_string(channel.id()),
                       " was dropped: the channel's event loop has ended"});
    } catch (...) {
        limited.write(LogLevel::debug, {outOfMemory});
    }
}

void logUnsupportedWrite(std::string_view what) noexcept {
    static LimitedLog limited;
    limited.write(LogLevel::warning, {what, "; the message was dropped"});
}

}  // namespace weft::detail
