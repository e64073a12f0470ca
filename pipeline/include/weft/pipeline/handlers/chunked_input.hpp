// ChunkedInput: something large that is written piece by piece, as the peer takes it: memory, a stream, a generator.
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

// Context: the loop of the channel that it is written to. It must not block for long. Lifetime: until its last chunk
// has been read, its write has failed, or the channel is closed.
class ChunkedInput {
  public:
    static constexpr std::size_t defaultChunkBytes = 8192;
    static constexpr std::size_t largestChunkBytes = 16 << 20;

    ChunkedInput() = default;
    ChunkedInput(const ChunkedInput&) = delete;
    ChunkedInput& operator=(const ChunkedInput&) = delete;
    virtual ~ChunkedInput() = default;

    // The next piece, a Buffer as a rule. An empty Message: the end, or, before the end, nothing for now (then somebody
    // calls ChunkedWriteHandler::resumeTransfer() later). A throw fails the write.
    virtual Message readChunk() = 0;
    // True once readChunk() has nothing more to give; asked after each call of it.
    virtual bool isEndOfInput() = 0;
};

// What is written: a message of this type.
using ChunkedInputPointer = std::unique_ptr<ChunkedInput>;

// A message for ChunkedWriteHandler: ctx.write(chunked<ChunkedStream>(std::move(file))).
template <class Input, class... Args>
Message chunked(Args&&... args) {
    return Message(ChunkedInputPointer(std::make_unique<Input>(std::forward<Args>(args)...)));
}

// Bytes that are in memory, in slices of at most `chunkBytes`, without copying. `chunkBytes` here and below: 1 to 16
// MiB; std::invalid_argument otherwise.
class ChunkedBuffer final : public ChunkedInput {
  public:
    explicit ChunkedBuffer(Buffer bytes, std::size_t chunkBytes = defaultChunkBytes);
    Message readChunk() override;
    bool isEndOfInput() override { return bytes_.empty(); }

  private:
    Buffer bytes_;
    const std::size_t chunkBytes_;
};

// What a std::istream gives from where it stands, to its end; a std::ifstream for a file. Reading blocks the loop as
// the stream does: for files on a disk, not for pipes. Throws std::invalid_argument for a stream that has failed
// already (a file that could not be opened), std::runtime_error from readChunk() when reading fails.
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

// What a callable makes: a Buffer, an empty Buffer for "nothing for now", or nothing at the end.
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
