#include <weft/pipeline/codec/length_field_prepender.hpp>

#include <stdexcept>
#include <string>
#include <utility>

#include <weft/pipeline/channel_handler_context.hpp>
#include <weft/pipeline/codec/codec_errors.hpp>
#include <weft/pipeline/codec/message_to_byte_encoder.hpp>

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
    if (!promise.setUncancellable()) return;  // the promise covers the Buffer, but not the field (W-2)
    Buffer length;
    try {
        length = field(message.get<Buffer>().readableBytes());
    } catch (...) {
        return detail::failEncoding(ctx, promise, std::current_exception());
    }
    ctx.write(Message(std::move(length)));
    ctx.write(std::move(message), std::move(promise));
}

Buffer LengthFieldPrepender::field(std::size_t bytes) const {
    const std::int64_t value = static_cast<std::int64_t>(bytes) + options_.adjustment +
                               (options_.includesField ? static_cast<std::int64_t>(options_.length) : 0);
    if (value < 0 || static_cast<std::uint64_t>(value) > detail::largestUnsigned(options_.length)) {
        throw EncoderException("a length of " + std::to_string(value) + " does not fit in a field of " +
                               std::to_string(options_.length) + " bytes (0 to " +
                               std::to_string(detail::largestUnsigned(options_.length)) + ")");
    }
    Buffer field = Buffer::allocate(options_.length);
    detail::writeUnsigned(field.writeData(), options_.length, options_.byteOrder, static_cast<std::uint64_t>(value));
    field.produced(options_.length);
    return field;
}

}  // namespace weft
