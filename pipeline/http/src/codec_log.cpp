#include "codec_log.hpp"

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_errors.hpp>
#include <weft/pipeline/channel_handler_context.hpp>
#include <weft/pipeline/detail/limited_log.hpp>

#include <weft/pipeline/detail/lost_writes.hpp>

namespace weft::http::detail {

namespace {

using weft::detail::LimitedLog;

// One limit for all codecs of a carrier: their applications and peers can cause these lines at will.
struct Faults : LimitedLog {};
struct OrdinaryEnds : LimitedLog {};

void writeLimited(LogLevel level, EventLoop& loop, std::string_view line) {
    LimitedLog& limited = level == LogLevel::debug ? static_cast<LimitedLog&>(loop.local<OrdinaryEnds>())
                                                   : static_cast<LimitedLog&>(loop.local<Faults>());
    limited.write(level, {line});
}

void logOutOfMemory() noexcept {
    static LimitedLog limited;
    limited.write(LogLevel::warning, {"an HTTP message was not sent, and there was no memory to log it"});
}

std::string sourceOf(const ChannelHandlerContext& codec) {
    const std::string writer = codec.pipeline().lastWriterTo(codec);
    if (!writer.empty()) return "handler '" + writer + "' was the last to pass it on";
    return "the application wrote it (its handlers are " + handlersBehind(codec) + ")";
}

}  // namespace

void logUnsent(LogLevel level, const ChannelHandlerContext* codec, std::string_view what) noexcept {
    try {
        if (codec == nullptr) {
            static LimitedLog limited;
            return limited.write(level, {what, "; its codec has been removed from the pipeline"});
        }
        const std::string channel = weft::detail::channelName(codec->channel());
        writeLimited(level, codec->loop(), channel + ": " + std::string(what) + "; " + sourceOf(*codec));
    } catch (...) {
        logOutOfMemory();
    }
}

void logLostOutput(const ChannelHandlerContext* codec, const std::exception_ptr& cause) noexcept {
    try {
        logUnsent(LogLevel::error, codec,
                  "HTTP output was lost, so the connection is closed: " + weft::describe(cause));
    } catch (...) {
        logOutOfMemory();
    }
}

void logLimited(LogLevel level, const ChannelHandlerContext& codec, std::string_view line) noexcept {
    try {
        writeLimited(level, codec.loop(), line);
    } catch (...) {
        logOutOfMemory();
    }
}

std::string handlersBehind(const ChannelHandlerContext& codec) {
    std::string text;
    bool behind = false;
    for (const std::string& name : codec.pipeline().names()) {
        if (behind) text += (text.empty() ? "'" : ", '") + name + "'";
        behind = behind || name == codec.name();
    }
    return text.empty() ? "none" : text;
}

}  // namespace weft::http::detail
