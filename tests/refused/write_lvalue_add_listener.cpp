// says: ChannelPromise written = ctx.newPromise(); written.addListener(...); ctx.write(std::move(message), written)
#include <weft/pipeline/pipeline.hpp>

void answer(weft::ChannelHandlerContext& ctx, weft::Message message) {
#ifdef REFUSED
    ctx.write(message).addListener([](const weft::ChannelFuture&) {});
#else
    const weft::ChannelPromise written = ctx.newPromise();
    written.addListener([](const weft::ChannelFuture&) {});
    ctx.write(std::move(message), written);
#endif
}
