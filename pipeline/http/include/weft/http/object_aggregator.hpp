// ObjectAggregator: combines a Request, its Contents and its trailers into one FullRequest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <weft/http/request.hpp>
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
    bool collecting() const noexcept { return request_.data_ != nullptr; }
    void drop() noexcept { const Request dropped = std::move(request_); }
    void requestMore(ChannelHandlerContext& ctx);
    void refuse(Request& request, Status status, std::string_view reason);

    const std::uint32_t maxBodyBytes_;
    bool refused_ = false;      // the rest of this body is discarded
    Request request_{nullptr};  // the request whose body is being collected; without data: none
};

}  // namespace weft::http
