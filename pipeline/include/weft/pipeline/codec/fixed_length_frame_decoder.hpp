// FixedLengthFrameDecoder: frames that all have the same length.
#pragma once

#include <cstddef>

#include <weft/pipeline/codec/byte_to_message_decoder.hpp>

namespace weft {

// Takes Buffers and fires Buffers of exactly `frameLength` bytes, without copying. A shorter rest is dropped at the end
// of input.
class FixedLengthFrameDecoder final : public ByteToMessageDecoder {
  public:
    using InboundOut = Messages<Buffer>;

    // `frameLength`: 1 to 2 GiB - 1 bytes; throws std::invalid_argument otherwise.
    explicit FixedLengthFrameDecoder(std::size_t frameLength);

  private:
    void decode(ChannelHandlerContext& ctx, Buffer& in, DecoderOutput& out) override;

    const std::size_t frameLength_;
};

}  // namespace weft
