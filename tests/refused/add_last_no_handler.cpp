// says: addLast() takes std::unique_ptr<H>, std::shared_ptr<H> of a sharable H, or a callable void(Channel&)
#include <weft/pipeline/pipeline.hpp>

void build(weft::Channel& channel) {
#ifdef REFUSED
    channel.pipeline().addLast(42);
#else
    channel.pipeline().addLast([](weft::Channel&) {});
#endif
}
