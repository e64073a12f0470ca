// FlowControlHandler: one message per read(), behind a decoder that makes many of one piece of input.
#pragma once

#include <cstddef>

#include <weft/pipeline/channel_handler.hpp>
#include <weft/pipeline/detail/ring.hpp>
#include <weft/pipeline/handler_types.hpp>

namespace weft {

// With AUTO_READ off, each read() lets one message pass, from its queue or, when that is empty, the next that arrives;
// the rest waits here. With AUTO_READ on everything passes. Each message or batch that passes is followed by its
// channelReadComplete. What waits when the channel becomes inactive is dropped, and a debug line says so; what waits
// when this handler is removed passes on. Bounded without a limit of its own: while a message waits, read() is answered
// from the queue and does not reach the transport. So the queue holds at most what the decoders before it make of one
// read cycle, which with AUTO_READ off is one block of up to 64 KiB.
class FlowControlHandler final : public ChannelDuplexHandler {
  public:
    using InboundOut = Messages<>;

    void handlerRemoved(ChannelHandlerContext& ctx) override;
    void channelRead(ChannelHandlerContext& ctx, Message&& message) override;
    void channelReadComplete(ChannelHandlerContext& ctx) override;
    void channelInactive(ChannelHandlerContext& ctx) override;
    void read(ChannelHandlerContext& ctx) override;

    std::size_t queuedMessages() const noexcept { return queue_.size(); }

  private:
    void release(ChannelHandlerContext& ctx);
    void completeIfReleased(ChannelHandlerContext& ctx);
    bool mayRelease(ChannelHandlerContext& ctx) const;

    detail::Ring<Message> queue_;
    std::size_t wanted_ = 0;  // read()s that messages of the queue will answer
    bool awaited_ = false;    // a read() that the next message to arrive will answer
    bool inCycle_ = false;    // between channelRead and channelReadComplete of the transport
    bool releasing_ = false;
    bool released_ = false;  // since the last channelReadComplete
};

}  // namespace weft
