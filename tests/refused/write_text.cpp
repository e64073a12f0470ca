// says: To write text, call ctx.write(Buffer::copyOf(text))
#include <weft/pipeline/pipeline.hpp>

void answer(weft::ChannelHandlerContext& ctx) {
#ifdef REFUSED
    ctx.write("hello");
#else
    ctx.write(weft::Buffer::copyOf("hello"));
    ctx.write(std::string("hello"));
#endif
}
