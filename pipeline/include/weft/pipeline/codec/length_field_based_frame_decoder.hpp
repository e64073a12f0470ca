// LengthFieldBasedFrameDecoder: frames with a header field that gives their length.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include <weft/pipeline/codec/byte_to_message_decoder.hpp>

namespace weft {

// Where the length field lies in a frame and what it counts, in bytes:
//     frame = offset + length + (value of the field) + adjustment
// A field that counts the whole frame needs adjustment = -(offset + length). Example: a magic byte, then a field of two
// bytes that counts the payload after it; the handlers get only the payload:
//     {.maxFrameLength = 1000, .offset = 1, .length = 2, .strip = 3}
struct LengthFieldOptions {
    std::size_t maxFrameLength = 1 << 20;  // of the whole frame, before stripping; 1 to 2 GiB - 1
    std::size_t offset = 0;                // bytes before the field
    unsigned length = 4;                   // of the field, which is unsigned: 1, 2, 3, 4 or 8
    std::int32_t adjustment = 0;           // bytes that the field does not count, or (negative) counts in excess
    std::size_t strip = 0;                 // bytes to drop from the front of each frame
    bool failFast = true;                  // report a too long frame at once, not at its end
    std::endian byteOrder = std::endian::big;
};

// Takes Buffers and fires one Buffer per frame, without copying; it may be empty. Reserves no memory for an announced
// length. Discards a frame of more than maxFrameLength bytes and reports it once as TooLongFrameException (D-7). A
// length that ends the frame within its own header or before `strip` is a CorruptedFrameException: no later byte can be
// trusted, so everything that follows on the connection is discarded. The frames depend only on the bytes, not on how
// the reads cut them.
class LengthFieldBasedFrameDecoder final : public ByteToMessageDecoder {
  public:
    using InboundOut = Messages<Buffer>;

    // Throws std::invalid_argument for options out of range, or a header that does not fit into maxFrameLength.
    explicit LengthFieldBasedFrameDecoder(LengthFieldOptions options);

  private:
    void decode(ChannelHandlerContext& ctx, Buffer& in, DecoderOutput& out) override;
    void decodeLast(ChannelHandlerContext& ctx, Buffer& in, DecoderOutput& out) override;
    std::int64_t frameLength(const Buffer& in) const noexcept;
    void discard(ChannelHandlerContext& ctx, Buffer& in);
    void report(ChannelHandlerContext& ctx);
    void corrupt(ChannelHandlerContext& ctx, Buffer& in, std::int64_t length);

    const LengthFieldOptions options_;
    const std::size_t headerLength_;  // up to the end of the field
    std::int64_t toDiscard_ = 0;      // remaining bytes of a frame that is too long
    bool corrupted_ = false;          // everything is discarded
};

}  // namespace weft
