// says: pipeline.addLast<H>(args...) or pipeline.addLast(std::make_unique<H>(args...))
#include <weft/pipeline/pipeline.hpp>

struct Echo final : weft::ChannelInboundHandler {};

void build(weft::Channel& channel) {
#ifdef REFUSED
    channel.pipeline().addFirst(std::make_unique<Echo>(), new Echo);
#else
    channel.pipeline().addFirst(std::make_unique<Echo>(), std::make_unique<Echo>());
#endif
}
