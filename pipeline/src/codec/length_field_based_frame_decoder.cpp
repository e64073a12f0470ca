#include <weft/pipeline/codec/length_field_based_frame_decoder.hpp>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

#include <weft/pipeline/codec/codec_errors.hpp>

#include "argument_checks.hpp"
#include "byte_order.hpp"

namespace weft {

namespace {

void refuse(const std::string& what) {
    throw std::invalid_argument("LengthFieldBasedFrameDecoder: " + what);
}

const LengthFieldOptions& validated(const LengthFieldOptions& options) {
    const std::size_t max =
        detail::checkedLength("LengthFieldBasedFrameDecoder", "maxFrameLength", options.maxFrameLength);
    if (!detail::isFieldLength(options.length)) {
        refuse("the field's length is " + std::to_string(options.length) + " bytes; accepted: 1, 2, 3, 4 or 8");
    }
    if (options.offset > max || options.length > max - options.offset) {
        refuse("a header of offset " + std::to_string(options.offset) + " and length " +
               std::to_string(options.length) + " does not fit in maxFrameLength " + std::to_string(max));
    }
    if (options.strip > max) {
        refuse("strip is " + std::to_string(options.strip) + " bytes; accepted: 0 to maxFrameLength " +
               std::to_string(max));
    }
    return options;
}

}  // namespace

LengthFieldBasedFrameDecoder::LengthFieldBasedFrameDecoder(LengthFieldOptions options)
    : options_(validated(options)), headerLength_(options.offset + options.length) {}

void LengthFieldBasedFrameDecoder::decode(ChannelHandlerContext& ctx, Buffer& in, DecoderOutput& out) {
    if (corrupted_) return in.consumed(in.readableBytes());
    if (toDiscard_ > 0) return discard(ctx, in);
    if (in.readableBytes() < headerLength_) return;
    const std::int64_t length = frameLength(in);
    if (length < static_cast<std::int64_t>(std::max(headerLength_, options_.strip))) return corrupt(ctx, in, length);
    if (length > static_cast<std::int64_t>(options_.maxFrameLength)) {
        toDiscard_ = length;
        if (options_.failFast) report(ctx);
        return discard(ctx, in);
    }
    if (in.readableBytes() < static_cast<std::size_t>(length)) return;
    Buffer frame = takeFrame(in, static_cast<std::size_t>(length));
    frame.consumed(options_.strip);
    out.add(Message(std::move(frame)));
}

// Replaces larger values by one that no connection can ever send, so that the sum below cannot overflow.
std::int64_t LengthFieldBasedFrameDecoder::frameLength(const Buffer& in) const noexcept {
    constexpr std::uint64_t endless = std::numeric_limits<std::int64_t>::max() / 2;
    const std::uint64_t value =
        detail::readUnsigned(in.readData() + options_.offset, options_.length, options_.byteOrder);
    return static_cast<std::int64_t>(std::min(value, endless)) + options_.adjustment +
           static_cast<std::int64_t>(headerLength_);
}

void LengthFieldBasedFrameDecoder::discard(ChannelHandlerContext& ctx, Buffer& in) {
    const std::int64_t now = std::min(toDiscard_, static_cast<std::int64_t>(in.readableBytes()));
    in.consumed(static_cast<std::size_t>(now));
    toDiscard_ -= now;
    if (toDiscard_ == 0 && !options_.failFast) report(ctx);
}

// The rest of a discarded frame will not come any more.
void LengthFieldBasedFrameDecoder::decodeLast(ChannelHandlerContext& ctx, Buffer&, DecoderOutput&) {
    if (std::exchange(toDiscard_, 0) > 0 && !options_.failFast) report(ctx);
}

void LengthFieldBasedFrameDecoder::report(ChannelHandlerContext& ctx) {
    fail(ctx, std::make_exception_ptr(TooLongFrameException(
                  "a frame is longer than " + std::to_string(options_.maxFrameLength) + " bytes; it is discarded")));
}

void LengthFieldBasedFrameDecoder::corrupt(ChannelHandlerContext& ctx, Buffer& in, std::int64_t length) {
    corrupted_ = true;
    in.consumed(in.readableBytes());
    fail(ctx, std::make_exception_ptr(CorruptedFrameException(
                  "a length field announces a frame of " + std::to_string(length) + " bytes, but the header has " +
                  std::to_string(headerLength_) + " bytes and " + std::to_string(options_.strip) +
                  " bytes are to be stripped; all further input is discarded")));
}

}  // namespace weft
