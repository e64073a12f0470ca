// SimpleInboundHandler<T, ...>: takes the messages whose type is exactly one of these and passes on all others.
#pragma once

#include <utility>

#include <weft/pipeline/channel_handler.hpp>
#include <weft/pipeline/channel_handler_context.hpp>
#include <weft/pipeline/handler_types.hpp>

namespace weft {

// channelRead0() gets the message by value: unless it moves it on, the message is released when it returns. (RC-4)
// Declare InboundOut (handler_types.hpp) when channelRead0() fires messages of other types.
template <class T, class... More>
class SimpleInboundHandler;

template <class T>
class SimpleInboundHandler<T> : public ChannelInboundHandler {
  public:
    using InboundIn = Messages<T>;

    void channelRead(ChannelHandlerContext& ctx, Message&& message) final {
        if (message.is<T>()) {
            if constexpr (requires(T & taken) { taken.takenBy(ctx); }) message.get<T>().takenBy(ctx);
            channelRead0(ctx, message.take<T>());
        } else {
            ctx.fireChannelRead(std::move(message));
        }
    }

  protected:
    virtual void channelRead0(ChannelHandlerContext& ctx, T message) = 0;
};

namespace detail {
template <class T>
struct MessageReceiver {
    virtual void channelRead0(ChannelHandlerContext& ctx, T message) = 0;

  protected:
    ~MessageReceiver() = default;
};
}  // namespace detail

// The same for several types: override channelRead0() for each of them.
template <class T, class... More>
class SimpleInboundHandler : public ChannelInboundHandler,
                             protected detail::MessageReceiver<T>,
                             protected detail::MessageReceiver<More>... {
  public:
    using InboundIn = Messages<T, More...>;

    void channelRead(ChannelHandlerContext& ctx, Message&& message) final {
        if (!(receive<T>(ctx, message) || ... || receive<More>(ctx, message))) ctx.fireChannelRead(std::move(message));
    }

  private:
    template <class Type>
    bool receive(ChannelHandlerContext& ctx, Message& message) {
        if (!message.is<Type>()) return false;
        if constexpr (requires(Type & taken) { taken.takenBy(ctx); }) message.get<Type>().takenBy(ctx);
        static_cast<detail::MessageReceiver<Type>&>(*this).channelRead0(ctx, message.take<Type>());
        return true;
    }
};

}  // namespace weft
