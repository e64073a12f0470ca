// LengthFieldBasedFrameDecoder: frames that say in a field near their beginning how long they are.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include <weft/pipeline/codec/byte_to_message_decoder.hpp>

namespace weft {

// Where the length stands in a frame and what it counts, in bytes:
//     frame = offset + length + (value of the field) + adjustment
// A field that counts the whole frame has adjustment -(offset + length). Example: a magic byte, then two bytes that
// count what follows them, of which only that is wanted: {.maxFrameLength = 1000, .offset = 1, .length = 2, .strip =
// 3}.
struct LengthFieldOptions {
    std::size_t maxFrameLength = 1 << 20;  // of the whole frame, before stripping; up to 2 GiB - 1
    std::size_t offset = 0;                // bytes before the field
    unsigned length = 4;                   // of the field: 1, 2, 3, 4 or 8; it is unsigned
    std::int32_t adjustment = 0;           // bytes that the field does not count, or (negative) counts too much
    std::size_t strip = 0;                 // bytes to drop from the front of each frame
    bool failFast = true;                  // report a frame that is too long at once, not at its end
    std::endian byteOrder = std::endian::big;
};

// Buffers in, one Buffer per frame out, without copying; it may be empty. Nothing is reserved for a length that is only
// announced. A frame of more than maxFrameLength is thrown away and reported once as TooLongFrameException (D-7). A
// length by which the frame would end within its own header or before `strip` is a CorruptedFrameException: no later
// byte can be trusted, and all that follows on the connection is thrown away. What it yields depends on the bytes
// alone, not on how they were cut.
class LengthFieldBasedFrameDecoder final : public ByteToMessageDecoder {
  public:
    using InboundOut = Messages<Buffer>;

    // Throws std::invalid_argument for options out of range, or a header that does not fit into maxFrameLength.
    explicit LengthFieldBasedFrameDecoder(LengthFieldOptions options);

  private:
    void decode(ChannelHandlerContext& ctx, Buffer& in, DecoderOutput& out) override;
    void decodeLast(ChannelHandlerContext& ctx, Buffer& in, DecoderOutput& out) override;
    std::int64_t frameLength(const Buffer& in) const noexcept;
    void beginDiscarding(ChannelHandlerContext& ctx, std::int64_t length);
    void discard(ChannelHandlerContext& ctx, Buffer& in);
    void report(ChannelHandlerContext& ctx);
    void corrupt(ChannelHandlerContext& ctx, Buffer& in, std::int64_t length);

    const LengthFieldOptions options_;
    const std::size_t headerLength_;  // up to the end of the field
    std::int64_t toDiscard_ = 0;      // bytes of a frame that is too long and still to come
    bool corrupted_ = false;          // everything is thrown away
};

}  // namespace weft
