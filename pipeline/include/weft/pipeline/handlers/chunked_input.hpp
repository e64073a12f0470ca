// ChunkedInput: a large payload (memory, a stream, a generator) that is written in chunks as the peer takes them.
#pragma once

#include <cstddef>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <utility>

#include <weft/pipeline/buffer.hpp>
#include <weft/pipeline/message.hpp>

namespace weft {

// Context: the loop of the channel that it is written to. It must not block for long. Lifetime: it is destroyed when
// its last chunk has been read, its write has failed, or the channel is closed.
class ChunkedInput {
  public:
    static constexpr std::size_t defaultChunkBytes = 8192;
    static constexpr std::size_t largestChunkBytes = 16 << 20;

    ChunkedInput() = default;
    ChunkedInput(const ChunkedInput&) = delete;
    ChunkedInput& operator=(const ChunkedInput&) = delete;
    virtual ~ChunkedInput() = default;

    // The next chunk, usually a Buffer. An empty Message means the end or, before the end, that no chunk is ready: the
    // application then calls ChunkedWriteHandler::resumeTransfer() later. An exception fails the write.
    virtual Message readChunk() = 0;
    // True once readChunk() has no more chunks. Called after each call of readChunk().
    virtual bool isEndOfInput() = 0;
};

// The type of the message to write.
using ChunkedInputPointer = std::unique_ptr<ChunkedInput>;

// Makes a message for ChunkedWriteHandler: ctx.write(chunked<ChunkedStream>(std::move(file))).
template <class Input, class... Args>
Message chunked(Args&&... args) {
    return Message(ChunkedInputPointer(std::make_unique<Input>(std::forward<Args>(args)...)));
}

// Bytes in memory, in slices of at most `chunkBytes`, without copying. `chunkBytes`, here and below: 1 byte to 16 MiB;
// throws std::invalid_argument otherwise.
class ChunkedBuffer final : public ChunkedInput {
  public:
    explicit ChunkedBuffer(Buffer bytes, std::size_t chunkBytes = defaultChunkBytes);
    Message readChunk() override;
    bool isEndOfInput() override { return bytes_.empty(); }

  private:
    Buffer bytes_;
    const std::size_t chunkBytes_;
};

// The rest of a std::istream, from its current position to its end; use a std::ifstream for a file. Reading blocks the
// loop for as long as the stream does, so use it for files on disk, not for pipes. Throws std::invalid_argument for a
// stream that has failed already (a file that could not be opened); readChunk() throws std::runtime_error when reading
// fails.
class ChunkedStream final : public ChunkedInput {
  public:
    explicit ChunkedStream(std::unique_ptr<std::istream> stream, std::size_t chunkBytes = defaultChunkBytes);
    ~ChunkedStream() override;
    Message readChunk() override;
    bool isEndOfInput() override { return ended_; }

  private:
    const std::unique_ptr<std::istream> stream_;
    const std::size_t chunkBytes_;
    bool ended_ = false;
};

// The Buffers that a callable returns: an empty Buffer when no chunk is ready, std::nullopt at the end.
class ChunkedGenerator final : public ChunkedInput {
  public:
    using Generator = std::function<std::optional<Buffer>()>;
    explicit ChunkedGenerator(Generator generator) : generator_(std::move(generator)) {}
    Message readChunk() override;
    bool isEndOfInput() override { return ended_; }

  private:
    Generator generator_;
    bool ended_ = false;
};

}  // namespace weft
