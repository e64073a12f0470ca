// says: ctx.writeFuture(std::move(message)).addListener(...)
#include <weft/pipeline/pipeline.hpp>

void answer(weft::ChannelHandlerContext& ctx, weft::Message message) {
#ifdef REFUSED
    ctx.write(message).addListener([](const weft::ChannelFuture&) {});
#else
    ctx.writeFuture(std::move(message)).addListener([](const weft::ChannelFuture&) {});
#endif
}
