// says: write() takes its message by move and returns no future: call ctx.write(std::move(message))
#include <weft/pipeline/pipeline.hpp>

void answer(weft::ChannelHandlerContext& ctx, weft::Channel& channel, weft::Buffer bytes) {
#ifdef REFUSED
    ctx.writeAndFlush(bytes);
    channel.writeAndFlush(bytes);
#else
    ctx.writeAndFlush(bytes.share());
    ctx.write(weft::Message(bytes.share()), {});
    channel.writeAndFlush(std::move(bytes));
#endif
}
