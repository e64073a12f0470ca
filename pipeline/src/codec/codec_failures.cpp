#include <weft/pipeline/detail/codec_failures.hpp>

#include <string>

#include <weft/pipeline/channel_errors.hpp>
#include <weft/pipeline/channel_handler_context.hpp>
#include <weft/pipeline/codec/codec_errors.hpp>

namespace weft::detail {

namespace {

// `cause`, nested in a Codec exception unless it is one.
template <class Codec>
std::exception_ptr nested(const char* call, const ChannelHandlerContext& ctx, const std::exception_ptr& cause) {
    try {
        std::rethrow_exception(cause);
    } catch (const Codec&) {
        return cause;
    } catch (...) {
        try {
            std::throw_with_nested(Codec(std::string(call) + " of " + ctx.name() + " threw " + describe(cause)));
        } catch (...) {
            return std::current_exception();
        }
    }
}

}  // namespace

std::exception_ptr asDecoderException(const ChannelHandlerContext& ctx) {
    return nested<DecoderException>("decode()", ctx, std::current_exception());
}

void failEncoding(ChannelHandlerContext& ctx, const ChannelPromise& promise, std::exception_ptr cause) {
    const std::exception_ptr failure = nested<EncoderException>("encode()", ctx, cause);
    if (promise.isVoid()) std::rethrow_exception(failure);  // to exceptionCaught() of the encoder (E-3)
    promise.tryFailure(failure);
}

}  // namespace weft::detail
