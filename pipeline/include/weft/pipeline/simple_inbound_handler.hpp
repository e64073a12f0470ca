// SimpleInboundHandler<T>: receives the messages that are exactly a T and lets all others pass.
#pragma once

#include <utility>

#include <weft/pipeline/channel_handler.hpp>
#include <weft/pipeline/channel_handler_context.hpp>
#include <weft/pipeline/handler_types.hpp>

namespace weft {

// The message arrives by value: it is released when channelRead0() returns unless it was moved on. (RC-4)
// Declare InboundOut (handler_types.hpp) when channelRead0() fires messages of other types.
template <class T>
class SimpleInboundHandler : public ChannelInboundHandler {
  public:
    using InboundIn = Messages<T>;

    void channelRead(ChannelHandlerContext& ctx, Message&& message) final {
        if (message.is<T>()) {
            if constexpr (requires(T& taken) { taken.takenBy(ctx); }) message.get<T>().takenBy(ctx);
            channelRead0(ctx, message.take<T>());
        } else {
            ctx.fireChannelRead(std::move(message));
        }
    }

  protected:
    virtual void channelRead0(ChannelHandlerContext& ctx, T message) = 0;
};

}  // namespace weft
