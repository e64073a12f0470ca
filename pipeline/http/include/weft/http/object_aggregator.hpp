// ObjectAggregator: combines a Request, its Contents and its trailers into one FullRequest.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/http/detail/body_collector.hpp>
#include <weft/pipeline/channel_handler.hpp>
#include <weft/pipeline/handler_types.hpp>

namespace weft::http {

// Add it after ServerCodec. Answers a body of more than `maxBodyBytes` with 413 and closes the connection: immediately
// if the request announces the size, without sending 100 Continue. Answers `Expect: 100-continue` with 100 and any
// other expectation with 417. A request whose body is cut off is never fired; without memory for a piece of a body the
// request is dropped, so that the codec answers it with 500.
class ObjectAggregator final : public ChannelInboundHandler {
  public:
    using InboundIn = Messages<Request, Content, LastContent, BodyCut>;
    using InboundOut = Messages<FullRequest>;

    // `maxBodyBytes`: 0 to 2 GiB.
    explicit ObjectAggregator(std::size_t maxBodyBytes = 8 * 1024 * 1024);

    void channelRead(ChannelHandlerContext& ctx, Message&& message) override;

  private:
    void channelReadSlow(ChannelHandlerContext& ctx, Message&& message);
    void collect(ChannelHandlerContext& ctx, Message&& message);
    void append(Buffer&& data);
    void requestMore(ChannelHandlerContext& ctx);
    void refuse(const Request& request, const Refusal& refusal);

    const std::uint32_t maxBodyBytes_;
    detail::BodyCollector collector_;
};

}  // namespace weft::http
