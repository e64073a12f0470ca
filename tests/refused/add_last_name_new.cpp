// says: pipeline.addLast<H>(args...) or pipeline.addLast(std::make_unique<H>(args...))
#include <weft/pipeline/pipeline.hpp>

struct Echo final : weft::ChannelInboundHandler {};

void build(weft::Channel& channel) {
#ifdef REFUSED
    channel.pipeline().addLast("echo", new Echo);
#else
    channel.pipeline().addLast("echo", std::make_unique<Echo>());
    channel.pipeline().addLast<Echo>(weft::named("other"));
#endif
}
