#include <weft/pipeline/codec/delimited_frame_decoder.hpp>

#include <string>
#include <utility>

#include <weft/pipeline/codec/codec_errors.hpp>

#include "argument_checks.hpp"

namespace weft {

DelimitedFrameDecoder::DelimitedFrameDecoder(const char* who, std::size_t maxLength, std::size_t longestDelimiter,
                                             bool stripDelimiter, bool failFast)
    : maxLength_(detail::checkedLength(who, "maxLength", maxLength)),
      longestDelimiter_(detail::checkedLength(who, "a delimiter", longestDelimiter)),
      stripDelimiter_(stripDelimiter),
      failFast_(failFast) {}

void DelimitedFrameDecoder::decode(ChannelHandlerContext& ctx, Buffer& in, DecoderOutput& out) {
    if (const std::optional<Boundary> boundary = find(in.view(), searched_)) return endFrame(ctx, in, *boundary, out);
    // The last bytes may be the beginning of a delimiter: only the bytes before them certainly belong to the frame.
    const std::size_t tail = longestDelimiter_ - 1;
    searched_ = in.readableBytes();
    if (searched_ <= tail || (!discarding_ && searched_ - tail <= maxLength_)) return;
    in.consumed(searched_ - tail);
    searched_ = tail;
    discarding_ = true;
    if (failFast_ && !std::exchange(reported_, true)) report(ctx);
}

void DelimitedFrameDecoder::endFrame(ChannelHandlerContext& ctx, Buffer& in, Boundary boundary, DecoderOutput& out) {
    searched_ = 0;
    Buffer frame = takeFrame(in, boundary.frame + boundary.delimiter);
    if (std::exchange(discarding_, false) || boundary.frame > maxLength_) {
        if (!std::exchange(reported_, false)) report(ctx);
        return;
    }
    out.add(Message(stripDelimiter_ ? takeFrame(frame, boundary.frame) : std::move(frame)));
}

void DelimitedFrameDecoder::decodeLast(ChannelHandlerContext& ctx, Buffer& in, DecoderOutput& out) {
    if (!in.empty()) decode(ctx, in, out);
    if (std::exchange(discarding_, false) && !std::exchange(reported_, false)) report(ctx);
    searched_ = 0;
}

void DelimitedFrameDecoder::report(ChannelHandlerContext& ctx) {
    fail(ctx, std::make_exception_ptr(TooLongFrameException("a frame has more than " + std::to_string(maxLength_) +
                                                            " bytes before its delimiter; it is discarded")));
}

}  // namespace weft
