// LengthFieldPrepender: writes the length of each outgoing Buffer before it.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include <weft/pipeline/channel_handler.hpp>

namespace weft {

struct LengthPrependOptions {
    unsigned length = 4;          // bytes of the field, which is unsigned: 1, 2, 3, 4 or 8
    std::int32_t adjustment = 0;  // added to the value
    bool includesField = false;   // the field counts itself
    std::endian byteOrder = std::endian::big;
};

// A Buffer becomes the field and the frame, and the write can no longer be cancelled (W-2). Other messages pass
// unchanged. A length that the field cannot hold fails the write with EncoderException, and nothing is written.
class LengthFieldPrepender final : public ChannelOutboundHandler {
  public:
    // Throws std::invalid_argument when options.length is not 1, 2, 3, 4 or 8.
    explicit LengthFieldPrepender(LengthPrependOptions options = {});

    void write(ChannelHandlerContext& ctx, Message&& message, ChannelPromise promise) override;

  private:
    std::uint64_t lengthOf(std::size_t bytes) const;

    const LengthPrependOptions options_;
};

}  // namespace weft
