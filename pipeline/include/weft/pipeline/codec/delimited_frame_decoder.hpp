// DelimitedFrameDecoder: the common base of the line and delimiter decoders, whose frames end with a byte sequence.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include <weft/pipeline/codec/byte_to_message_decoder.hpp>

namespace weft {

// Takes Buffers and fires one Buffer per frame, without copying; frames may be empty. Discards a frame of more than
// `maxLength` bytes (not counting its delimiter) and its delimiter, and reports it once as TooLongFrameException: with
// `failFast` as soon as the length is known, otherwise when the frame has ended (D-7). The frames depend only on the
// bytes, not on how the reads cut them. Bytes after the last delimiter are dropped at the end of input. Keeps at most
// `maxLength` bytes and a delimiter.
class DelimitedFrameDecoder : public ByteToMessageDecoder {
  public:
    using InboundOut = Messages<Buffer>;

  protected:
    struct Boundary {
        std::size_t frame;      // bytes before the delimiter
        std::size_t delimiter;  // bytes of it
    };

    // `maxLength` and `longestDelimiter`: 1 to 2 GiB - 1 bytes; throws std::invalid_argument, with a message that
    // begins with `who`, otherwise.
    DelimitedFrameDecoder(const char* who, std::size_t maxLength, std::size_t longestDelimiter, bool stripDelimiter,
                          bool failFast);

    // The delimiter in `bytes` that ends first; the longest of those that end at the same byte. None ends at or before
    // `searched`.
    virtual std::optional<Boundary> find(std::string_view bytes, std::size_t searched) const = 0;

  private:
    void decode(ChannelHandlerContext& ctx, Buffer& in, DecoderOutput& out) final;
    void decodeLast(ChannelHandlerContext& ctx, Buffer& in, DecoderOutput& out) final;
    void endFrame(ChannelHandlerContext& ctx, Buffer& in, Boundary boundary, DecoderOutput& out);
    void report(ChannelHandlerContext& ctx);

    const std::size_t maxLength_;
    const std::size_t longestDelimiter_;
    const bool stripDelimiter_;
    const bool failFast_;
    std::size_t searched_ = 0;  // bytes of the input in which no delimiter ends
    bool discarding_ = false;   // the frame is too long: searching for its end
    bool reported_ = false;     // the discarded frame has been reported
};

}  // namespace weft
