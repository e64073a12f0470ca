// ObjectAggregator: combines a Request, its Contents and its trailers into one FullRequest.
#pragma once

#include <cstddef>
#include <optional>

#include <weft/pipeline/channel_handler.hpp>
#include <weft/pipeline/handler_types.hpp>
#include <weft/pipeline/http/request.hpp>

namespace weft::http {

// Add it after ServerCodec. Answers a body of more than `maxBodyBytes` with 413 and closes the connection: immediately
// if the request announces the size, without sending 100 Continue. Answers `Expect: 100-continue` with 100 and any
// other expectation with 417. A request whose body is cut off is never fired.
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
    void end(ChannelHandlerContext& ctx, LastContent&& last);
    detail::RequestDataPointer takeData();
    void refuse(Request& request, Status status, std::string_view reason);

    const std::size_t maxBodyBytes_;
    std::optional<Request> request_;  // the request whose body is being collected
    bool refused_ = false;            // the rest of this body is discarded
};

}  // namespace weft::http
