// says: pipeline.addLast<H>(args...) or pipeline.addLast(std::make_unique<H>(args...))
#include <weft/pipeline/pipeline.hpp>

struct Echo final : weft::ChannelInboundHandler {
    explicit Echo(int = 0) {}
};

void build(weft::Channel& channel) {
#ifdef REFUSED
    channel.pipeline().addLast(new Echo(1));
#else
    channel.pipeline().addLast<Echo>(1);
    channel.pipeline().addLast(std::make_unique<Echo>(1), std::make_unique<Echo>(2));
#endif
}
