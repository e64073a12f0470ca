#include <weft/pipeline/channel_initializer.hpp>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_errors.hpp>
#include <weft/scheduler/log.hpp>

namespace weft {

void ChannelInitializer::handlerAdded(ChannelHandlerContext& ctx) {
    try {
        initChannel(ctx.channel());
    } catch (...) {
        log(LogLevel::warning,
            "a channel initializer threw, closing the channel: " + describe(std::current_exception()));
        ctx.close({});
    }
    if (!ctx.removed()) ctx.pipeline().remove(*this);
}

}  // namespace weft
