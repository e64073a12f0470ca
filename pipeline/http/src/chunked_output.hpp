// appendPiece(), appendLastChunk(): chunked bodies, for both codecs.
#pragma once

#include <span>
#include <utility>

#include <weft/http/header_list.hpp>
#include <weft/http/response_encoder.hpp>
#include <weft/pipeline/buffer.hpp>
#include <weft/pipeline/channel_output.hpp>

namespace weft::http::detail {

// Appends a piece of a body, 1 byte or more if it is chunked. Throws std::bad_alloc, and then a part may be there.
inline void appendPiece(ChannelOutput& out, Buffer&& data, bool chunked) {
    if (chunked) out.produced(writeChunkHead(data.readableBytes(), out.room(maxChunkHeadBytes)));
    out.append(std::move(data));
    if (chunked) out.append(chunkEnd);
}

// Appends the last chunk and the trailers (or null). If a trailer must not be sent, returns why, and all are omitted.
// Throws std::bad_alloc.
inline EncodeError appendLastChunk(ChannelOutput& out, const HeaderList* trailers) {
    EncodeError error = EncodeError::none;
    if (trailers != nullptr) {
        trailers->visit({}, [&](std::span<const HeaderView> fields) {
            const std::size_t bound = lastChunkBound(fields);
            out.produced(encodeLastChunk(fields, std::span<char>(out.room(bound), bound), error));
        });
    }
    if (trailers == nullptr || error != EncodeError::none) out.append(lastChunk);
    return error;
}

}  // namespace weft::http::detail
