// The bodies of streamed responses: pieces and their end, as the framing of their head demands.
#include <weft/pipeline/http/server_codec.hpp>

#include <stdexcept>
#include <utility>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_handler_context.hpp>
#include <weft/pipeline/channel_option.hpp>
#include <weft/scheduler/errors.hpp>
#include <weft/scheduler/log.hpp>

#include "http/codec_log.hpp"
#include "http/misuse.hpp"

namespace weft::http {

using detail::misuse;

void ServerCodec::emitContent(Buffer&& data, ChannelPromise&& promise) {
    ResponseSlot& slot = slots_.front();
    if (slot.complete || slot.framing == BodyFraming::none || data.empty()) return finishWrite(std::move(promise));
    if (slot.framing == BodyFraming::length) {
        if (data.readableBytes() > slot.remaining) {
            if (!promise.isVoid()) promise.tryFailure(misuse("more HTTP content than its Content-Length"));
            return abortBody();
        }
        slot.remaining -= data.readableBytes();
    }
    if (slot.framing != BodyFraming::chunked) return emitBytes(std::move(data), std::move(promise));
    output_.produced(writeChunkHead(data.readableBytes(), reserve(maxChunkHeadBytes)));
    emitBytes(std::move(data), {});
    appendSmall(chunkEnd);
    finishWrite(std::move(promise));
}

void ServerCodec::emitEnd(const HeaderList* trailers, ChannelPromise&& promise) {
    ResponseSlot& slot = slots_.front();
    if (slot.complete) return finishWrite(std::move(promise));
    if (slot.framing == BodyFraming::length && slot.remaining > 0) {
        if (!promise.isVoid()) promise.tryFailure(misuse("less HTTP content than its Content-Length"));
        return abortBody();
    }
    if (slot.framing == BodyFraming::untilClose) slot.keepAlive = false;
    slot.complete = true;  // the last look at the slot: trailers may have to make room
    EncodeError error = EncodeError::none;
    if (slot.framing == BodyFraming::chunked) {
        if (trailers != nullptr) error = emitLastChunk(*trailers);
        if (trailers == nullptr || error != EncodeError::none) appendSmall(lastChunk);
    }
    if (error == EncodeError::none) return finishWrite(std::move(promise));
    detail::logUnsent(LogLevel::error, ctx_,
                      std::string("the trailers of an HTTP response were left out: ").append(textOf(error)));
    if (!promise.isVoid())
        promise.tryFailure(std::make_exception_ptr(std::invalid_argument(std::string(textOf(error)))));
}

EncodeError ServerCodec::emitLastChunk(const HeaderList& trailers) {
    EncodeError error = EncodeError::none;
    trailers.visit({}, [&](std::span<const HeaderView> fields) {
        const std::size_t bound = lastChunkBound(fields);
        output_.produced(encodeLastChunk(fields, std::span<char>(reserve(bound), bound), error));
    });
    return error;
}

// The client will take the end of the connection for the end of this body, so any end before it is to be a reset: a
// dropped BodyWriter, a shutdown, the end of the process.
void ServerCodec::resetUnlessWhole() {
    Channel& channel = ctx_->channel();
    try {
        lingerAfterBody_ = channel.option(ChannelOption::LINGER);
        channel.setOption(ChannelOption::LINGER, 0);
    } catch (const SystemError& error) {
        log(LogLevel::debug, std::string("a cut HTTP body may look whole to its client: ") + error.what());
    }
}

// The client has been promised another length: only the end of our output tells it that the body is not whole.
void ServerCodec::abortBody() {
    if (special_.closing || ctx_ == nullptr) return;  // a listener has ended it otherwise
    detail::logUnsent(LogLevel::error, ctx_,
                      "a streamed HTTP response did not keep to its Content-Length, so the connection is closed");
    closeAfterResponse();
}

}  // namespace weft::http
