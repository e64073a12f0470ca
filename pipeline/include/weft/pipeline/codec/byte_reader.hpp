// ByteReader: reads a connection's bytes in a fiber, which blocks until they have arrived. Belongs to a FiberDecoder.
#pragma once

#include <bit>
#include <cstddef>
#include <string_view>

#include <weft/pipeline/buffer.hpp>
#include <weft/pipeline/codec/codec_errors.hpp>
#include <weft/pipeline/detail/wire_number.hpp>
#include <weft/scheduler/wait_list.hpp>

namespace weft {

class FiberDecoder;

// The input ended before the bytes that a read needs had arrived.
class EndOfInputException : public DecoderException {
  public:
    using DecoderException::DecoderException;
};

// Reads remove the bytes that they return, and copy none of them. Those that need bytes that have not arrived block the
// fiber, never the carrier. Context: the fiber of its FiberDecoder. Errors of every read: EndOfInputException, and the
// bytes that are left stay readable; SystemError(operation_aborted) once the channel is closed, the decoder removed, or
// the fiber cancelled; TooLongFrameException for more than maxRead bytes; std::bad_alloc.
class ByteReader {
  public:
    ByteReader(const ByteReader&) = delete;
    ByteReader& operator=(const ByteReader&) = delete;

    // True once a byte is readable, false at the end of the input. Call it where a message may begin.
    bool hasMore();
    // Exactly `n` bytes.
    Buffer read(std::size_t n);
    // A number, in network byte order unless `order` is std::endian::little. Its type: see Buffer::read().
    template <detail::WireNumber T>
    T read(std::endian order = std::endian::big) {
        require(sizeof(T), "ByteReader::read");
        const T number = bytes_.read<T>(order);
        removed();
        return number;
    }
    // The bytes before the next `delimiter`, which must not be empty and is removed, too.
    Buffer readUntil(std::string_view delimiter);
    // The bytes before the next LF, without a CR at their end.
    Buffer readLine();
    // Between 1 and `most` (>= 1) bytes, as many as have arrived; an empty Buffer at the end of the input.
    Buffer readSome(std::size_t most = npos);
    // Removes `n` bytes, as they arrive: `n` may be more than maxRead.
    void skip(std::size_t n);

    // Bytes that can be read without blocking.
    std::size_t available() const noexcept { return bytes_.readableBytes(); }

  private:
    friend class FiberDecoder;
    static constexpr std::size_t npos = Buffer::npos;

    ByteReader(FiberDecoder& decoder, std::size_t maxRead) noexcept : decoder_(decoder), maxRead_(maxRead) {}

    bool waitFor(std::size_t n, const char* call);
    void require(std::size_t n, const char* call);
    Buffer take(std::size_t n);
    void removed();

    // Called by the decoder.
    void add(Buffer&& bytes);
    void end() noexcept;
    void close() noexcept;

    FiberDecoder& decoder_;
    const std::size_t maxRead_;
    Buffer bytes_;
    std::size_t needed_ = 0;  // bytes that the fiber waits for; 0: it does not wait
    bool ended_ = false;      // no more bytes will come
    bool closed_ = false;     // reads fail
    WaitList fiber_;
};

}  // namespace weft
