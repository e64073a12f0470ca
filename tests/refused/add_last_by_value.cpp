// says: a handler is constructed in place in the pipeline
#include <weft/pipeline/pipeline.hpp>

// A handler may be constructed from another one of its type: that is no call for addLast(H*).
struct Echo final : weft::ChannelInboundHandler {
    Echo() = default;
    explicit Echo(Echo*) {}
};

void build(weft::Channel& channel) {
#ifdef REFUSED
    channel.pipeline().addLast(Echo());
#else
    Echo* const other = channel.pipeline().get<Echo>();
    channel.pipeline().addLast<Echo>(other);
    channel.pipeline().addBefore<Echo>("base", other);
    channel.pipeline().addAfter<Echo>("base", nullptr);
#endif
}
