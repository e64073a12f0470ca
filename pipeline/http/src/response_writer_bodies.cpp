// The bodies of streamed responses: pieces and their end, encoded as the framing of their head requires.
#include <weft/http/detail/response_writer.hpp>

#include <stdexcept>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_option.hpp>
#include <weft/scheduler/errors.hpp>

#include "chunked_output.hpp"
#include "codec_log.hpp"
#include "common_response.hpp"

namespace weft::http::detail {

void ResponseWriter::emitContent(Buffer&& data, ChannelPromise&& promise) {
    ResponseSlot& slot = connection_.slots.front();
    if (slot.complete || slot.framing == BodyFraming::none || data.empty()) return finishWrite(std::move(promise));
    if (slot.framing == BodyFraming::length) {
        if (data.readableBytes() > slot.remaining)
            return abortBody(promise, "more HTTP content than its Content-Length");
        slot.remaining -= data.readableBytes();
    }
    appendPiece(output(), std::move(data), slot.framing == BodyFraming::chunked);
    finishWrite(std::move(promise));
}

void ResponseWriter::emitEnd(const HeaderList* trailers, ChannelPromise&& promise) {
    ResponseSlot& slot = connection_.slots.front();
    if (slot.complete) return finishWrite(std::move(promise));
    if (slot.framing == BodyFraming::length && slot.remaining > 0)
        return abortBody(promise, "less HTTP content than its Content-Length");
    if (slot.framing == BodyFraming::untilClose) slot.keepAlive = false;
    slot.complete = true;
    EncodeError error = EncodeError::none;
    if (slot.framing == BodyFraming::chunked) error = appendLastChunk(output(), trailers);
    if (error == EncodeError::none) return finishWrite(std::move(promise));
    finishWrite({});
    logUnsent(LogLevel::error, connection_.ctx,
              std::string("the trailers of an HTTP response were omitted: ").append(textOf(error)));
    if (!promise.isVoid())
        promise.tryFailure(std::make_exception_ptr(std::invalid_argument(std::string(textOf(error)))));
}

// The client takes the end of the connection for the end of this body. So an earlier end must be a reset, whether a
// BodyWriter was destroyed, the output shut down, or the process ended.
void ResponseWriter::resetUnlessWhole() {
    Channel& channel = connection_.ctx->channel();
    try {
        lingerAfterBody_ = channel.option(ChannelOption::LINGER);
        channel.setOption(ChannelOption::LINGER, 0);
    } catch (const SystemError& error) {
        log(LogLevel::debug, std::string("a truncated HTTP body may look complete to its client: ") + error.what());
    }
}

std::optional<int> ResponseWriter::takeLinger() noexcept {
    if (connection_.slots.empty()) return std::exchange(lingerAfterBody_, std::nullopt);
    const ResponseSlot& slot = connection_.slots.front();
    const bool cut = slot.framing == BodyFraming::untilClose && !slot.complete;
    return cut ? std::nullopt : std::exchange(lingerAfterBody_, std::nullopt);
}

// The head promised another length: only the end of our output tells the client that the body is incomplete.
void ResponseWriter::abortBody(const ChannelPromise& promise, const char* why) {
    if (!promise.isVoid()) promise.tryFailure(misuse(why));
    // A listener may already have ended the connection.
    if (connection_.slowPath.closing || connection_.ctx == nullptr) return;
    logUnsent(LogLevel::error, connection_.ctx,
              "a streamed HTTP response did not match its Content-Length, so the connection is closed");
    connection_.owner.closeAfterResponse();
}

}  // namespace weft::http::detail
