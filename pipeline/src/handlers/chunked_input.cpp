#include <weft/pipeline/handlers/chunked_input.hpp>

#include <istream>
#include <stdexcept>

#include "argument_checks.hpp"

namespace weft {

ChunkedBuffer::ChunkedBuffer(Buffer bytes, std::size_t chunkBytes)
    : bytes_(std::move(bytes)),
      chunkBytes_(detail::checked("ChunkedBuffer", "chunkBytes", chunkBytes, 1, largestChunkBytes)) {}

Message ChunkedBuffer::readChunk() {
    if (bytes_.empty()) return {};
    if (bytes_.readableBytes() <= chunkBytes_) return Message(std::exchange(bytes_, Buffer()));
    return Message(bytes_.split(chunkBytes_));
}

ChunkedStream::ChunkedStream(std::unique_ptr<std::istream> stream, std::size_t chunkBytes)
    : stream_(std::move(stream)),
      chunkBytes_(detail::checked("ChunkedStream", "chunkBytes", chunkBytes, 1, largestChunkBytes)) {
    if (!stream_ || !*stream_) {
        throw std::invalid_argument("ChunkedStream: the stream cannot be read; check that the file was opened");
    }
}

ChunkedStream::~ChunkedStream() = default;

Message ChunkedStream::readChunk() {
    if (ended_) return {};
    Buffer chunk = Buffer::allocate(chunkBytes_);
    stream_->read(chunk.writeData(), static_cast<std::streamsize>(chunkBytes_));
    chunk.produced(static_cast<std::size_t>(stream_->gcount()));
    ended_ = !*stream_ || stream_->peek() == std::istream::traits_type::eof();
    if (stream_->bad()) throw std::runtime_error("ChunkedStream: reading the stream failed");
    return chunk.empty() ? Message() : Message(std::move(chunk));
}

Message ChunkedGenerator::readChunk() {
    if (ended_) return {};
    std::optional<Buffer> chunk = generator_();
    ended_ = !chunk;
    return ended_ || chunk->empty() ? Message() : Message(std::move(*chunk));
}

}  // namespace weft
