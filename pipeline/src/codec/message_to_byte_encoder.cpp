#include <weft/pipeline/codec/message_to_byte_encoder.hpp>

#include <string>

#include <weft/pipeline/channel_errors.hpp>
#include <weft/pipeline/codec/codec_errors.hpp>

namespace weft {

namespace {

std::exception_ptr asEncoderException(const ChannelHandlerContext& ctx, const std::exception_ptr& cause) {
    try {
        std::rethrow_exception(cause);
    } catch (const EncoderException&) {
        return cause;
    } catch (...) {
        try {
            std::throw_with_nested(EncoderException("encode() of " + ctx.name() + " threw " + describe(cause)));
        } catch (...) {
            return std::current_exception();
        }
    }
}

}  // namespace

void detail::failEncoding(ChannelHandlerContext& ctx, const ChannelPromise& promise, std::exception_ptr cause) {
    const std::exception_ptr failure = asEncoderException(ctx, cause);
    if (promise.isVoid()) std::rethrow_exception(failure);  // to exceptionCaught() of the encoder (E-3)
    promise.tryFailure(failure);
}

}  // namespace weft
