// ResponseAggregator: combines a ReceivedResponse, its Contents and its trailers into one FullResponse.
#pragma once

#include <cstddef>
#include <exception>
#include <optional>

#include <weft/http/received_response.hpp>
#include <weft/http/request.hpp>
#include <weft/pipeline/channel_handler.hpp>
#include <weft/pipeline/handler_types.hpp>

namespace weft::http {

// Add it after ClientCodec. For a body of more than `maxBodyBytes` it fires exceptionCaught(BadResponseException) and
// closes the connection: at the head if its Content-Length is larger, otherwise at the first excess byte. Without
// memory for a piece of a body it does the same with std::bad_alloc. With AUTO_READ off, one read() suffices for a
// whole response: the aggregator reads the rest of it. Other messages pass.
class ResponseAggregator final : public ChannelInboundHandler {
  public:
    using InboundIn = Messages<ReceivedResponse, Content, LastContent>;
    using InboundOut = Messages<FullResponse>;

    // `maxBodyBytes`: 0 to 2 GiB; throws std::invalid_argument otherwise.
    explicit ResponseAggregator(std::size_t maxBodyBytes = 8 * 1024 * 1024);

    void channelRead(ChannelHandlerContext& ctx, Message&& message) override;

  private:
    void begin(ChannelHandlerContext& ctx, ReceivedResponse&& response);
    void append(ChannelHandlerContext& ctx, Buffer&& data);
    void requestMore(ChannelHandlerContext& ctx);
    void refuse(ChannelHandlerContext& ctx, std::exception_ptr why);

    const std::size_t maxBodyBytes_;
    std::optional<ReceivedResponse> response_;  // the response whose body is being collected
};

}  // namespace weft::http
