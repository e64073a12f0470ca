// ChannelInitializer: a handler that fills a channel's pipeline when the channel is registered, then removes itself.
#pragma once

#include <utility>

#include <weft/pipeline/channel_handler.hpp>

namespace weft {

// The handlers that initChannel() adds are in place before channelRegistered. An exception from it is logged and closes
// the channel; the initializer removes itself all the same. Nested initializers keep their order. (H-9) A callable
// void(Channel&) given to addLast() does the same.
class ChannelInitializer : public ChannelHandler {
  public:
    void handlerAdded(ChannelHandlerContext& ctx) final;

  protected:
    virtual void initChannel(Channel& channel) = 0;
};

namespace detail {

template <class F>
class CallableInitializer final : public ChannelInitializer {
  public:
    explicit CallableInitializer(F function) : function_(std::move(function)) {}

  private:
    void initChannel(Channel& channel) override { function_(channel); }
    F function_;
};

}  // namespace detail
}  // namespace weft
