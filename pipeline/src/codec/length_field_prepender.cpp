#include <weft/pipeline/codec/length_field_prepender.hpp>

#include <stdexcept>
#include <string>
#include <utility>

#include <weft/pipeline/channel_handler_context.hpp>
#include <weft/pipeline/codec/codec_errors.hpp>
#include <weft/pipeline/detail/codec_failures.hpp>
#include <weft/pipeline/detail/encoded_write.hpp>

#include "byte_order.hpp"

namespace weft {

LengthFieldPrepender::LengthFieldPrepender(LengthPrependOptions options) : options_(options) {
    if (!detail::isFieldLength(options.length)) {
        throw std::invalid_argument("LengthFieldPrepender: the field's length is " + std::to_string(options.length) +
                                    " bytes; accepted: 1, 2, 3, 4 or 8");
    }
}

void LengthFieldPrepender::write(ChannelHandlerContext& ctx, Message&& message, ChannelPromise promise) {
    if (!message.is<Buffer>()) return ctx.write(std::move(message), std::move(promise));
    if (!promise.setUncancellable()) return;  // a length never leaves without its frame (W-2)
    Buffer& frame = message.get<Buffer>();
    try {
        const std::uint64_t length = lengthOf(frame.readableBytes());
        detail::writeEncoded(ctx, std::move(promise), [&](ChannelOutput& out) {
            detail::writeUnsigned(out.room(options_.length), options_.length, options_.byteOrder, length);
            out.produced(options_.length);
            out.append(std::move(frame));
            return true;
        });
    } catch (...) {
        // NOLINTNEXTLINE(bugprone-use-after-move): as before when writeEncoded() throws
        detail::failEncoding(ctx, promise, std::current_exception());
    }
}

std::uint64_t LengthFieldPrepender::lengthOf(std::size_t bytes) const {
    const std::int64_t value = static_cast<std::int64_t>(bytes) + options_.adjustment +
                               (options_.includesField ? static_cast<std::int64_t>(options_.length) : 0);
    if (value < 0 || static_cast<std::uint64_t>(value) > detail::largestUnsigned(options_.length)) {
        throw EncoderException("a length of " + std::to_string(value) + " does not fit in a field of " +
                               std::to_string(options_.length) + " bytes (0 to " +
                               std::to_string(detail::largestUnsigned(options_.length)) + ")");
    }
    return static_cast<std::uint64_t>(value);
}

}  // namespace weft
