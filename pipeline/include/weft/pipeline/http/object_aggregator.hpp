// ObjectAggregator: joins a Request, its Contents and its trailers to one FullRequest.
#pragma once

#include <cstddef>
#include <optional>

#include <weft/pipeline/channel_handler.hpp>
#include <weft/pipeline/handler_types.hpp>
#include <weft/pipeline/http/request.hpp>

namespace weft::http {

// Behind ServerCodec. A body of more than `maxBodyBytes` is answered with 413 and the connection closed (at once when
// the request announces it, and then without asking the client to go on). Answers `Expect: 100-continue` with 100, any
// other expectation with 417. A request whose body is cut never comes out.
class ObjectAggregator final : public ChannelInboundHandler {
  public:
    using InboundIn = Messages<Request, Content, LastContent, BodyCut>;
    using InboundOut = Messages<FullRequest>;

    // `maxBodyBytes`: 0 to 2 GiB.
    explicit ObjectAggregator(std::size_t maxBodyBytes = 8 * 1024 * 1024);

    void channelRead(ChannelHandlerContext& ctx, Message&& message) override;

  private:
    void readRest(ChannelHandlerContext& ctx, Message&& message);
    void collect(ChannelHandlerContext& ctx, Message&& message);
    void append(Buffer&& data);
    void askForMore(ChannelHandlerContext& ctx);
    void end(ChannelHandlerContext& ctx, LastContent&& last);
    detail::RequestDataPointer takeData();
    void refuse(Request& request, Status status, std::string_view reason);

    const std::size_t maxBodyBytes_;
    std::optional<Request> request_;  // whose body is being collected
    bool refused_ = false;            // the rest of this body is discarded
};

}  // namespace weft::http
