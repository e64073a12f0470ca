// What codecs do with an exception of their users' decode() or encode().
#pragma once

#include <exception>

namespace weft {
class ChannelHandlerContext;
class ChannelPromise;
}  // namespace weft

namespace weft::detail {

// Call it inside a catch block: returns the current exception, nested in a DecoderException unless it is one.
std::exception_ptr asDecoderException(const ChannelHandlerContext& ctx);
// Fails a write whose message could not be encoded with an EncoderException; throws it when the promise is void (E-3).
void failEncoding(ChannelHandlerContext& ctx, const ChannelPromise& promise, std::exception_ptr cause);

}  // namespace weft::detail
