// FlowControlHandler: passes one message per read(). Add it after a decoder that makes many messages of one read.
#pragma once

#include <cstddef>

#include <weft/pipeline/channel_handler.hpp>
#include <weft/pipeline/detail/ring.hpp>
#include <weft/pipeline/handler_types.hpp>

namespace weft {

// With AUTO_READ off, each read() passes on one message: from the queue or, when that is empty, the next to arrive; the
// others are queued. With AUTO_READ on, all messages pass. A channelReadComplete follows each message or batch.
// Messages still queued when the channel becomes inactive are dropped, with a debug line in the log; when this handler
// is removed, they are passed on. The queue needs no limit: while it is not empty, read() is served from it and does
// not reach the transport. So it holds at most what the decoders before it make of one read cycle, which with AUTO_READ
// off is one block of up to 64 KiB.
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

    detail::Ring<Message> queue_;
    std::size_t requestedReads_ = 0;  // read()s to serve from the queue
    bool awaited_ = false;            // a read() to serve with the next message that arrives
    bool inCycle_ = false;            // between channelRead and channelReadComplete of the transport
    bool releasing_ = false;
    bool released_ = false;  // a message, since the last channelReadComplete
};

}  // namespace weft
