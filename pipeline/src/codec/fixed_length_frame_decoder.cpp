#include <weft/pipeline/codec/fixed_length_frame_decoder.hpp>

#include "argument_checks.hpp"

namespace weft {

FixedLengthFrameDecoder::FixedLengthFrameDecoder(std::size_t frameLength)
    : frameLength_(detail::checkedLength("FixedLengthFrameDecoder", "frameLength", frameLength)) {}

void FixedLengthFrameDecoder::decode(ChannelHandlerContext&, Buffer& in, DecoderOutput& out) {
    if (in.readableBytes() >= frameLength_) out.add(Message(takeFrame(in, frameLength_)));
}

}  // namespace weft
