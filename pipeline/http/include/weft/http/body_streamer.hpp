// BodyStreamer: passes each request (or response) on as soon as its head is complete, with a BodyReader for its body.
#pragma once

#include <utility>

#include <weft/http/body_reader.hpp>
#include <weft/http/detail/body_feed.hpp>
#include <weft/http/received_response.hpp>
#include <weft/http/request.hpp>
#include <weft/pipeline/channel_handler.hpp>
#include <weft/pipeline/handler_types.hpp>

namespace weft::http {

// A request whose body may still be arriving.
class StreamedRequest final : public Request {
  public:
    StreamedRequest(Request&& head, BodyReader body) noexcept : Request(std::move(head)), body_(std::move(body)) {}
    BodyReader takeBody() noexcept { return std::move(body_); }

  private:
    BodyReader body_;
};

// A response whose body may still be arriving.
class StreamedResponse final : public ReceivedResponse {
  public:
    StreamedResponse(ReceivedResponse&& head, BodyReader body) noexcept
        : ReceivedResponse(std::move(head)), body_(std::move(body)) {}
    BodyReader takeBody() noexcept { return std::move(body_); }

  private:
    BodyReader body_;
};

// Add it after ServerCodec or ClientCodec, instead of an aggregator. Answers an expectation other than 100-continue
// with 417. Withholds read() while unread pieces hold too much memory (BodyReader::highMark).
class BodyStreamer final : public ChannelDuplexHandler {
  public:
    using InboundIn = Messages<Request, ReceivedResponse, Content, LastContent, BodyCut>;
    using InboundOut = Messages<StreamedRequest, StreamedResponse>;

    void handlerRemoved(ChannelHandlerContext& ctx) override;
    void channelRead(ChannelHandlerContext& ctx, Message&& message) override;
    void channelInactive(ChannelHandlerContext& ctx) override;
    void read(ChannelHandlerContext& ctx) override;

  private:
    detail::BodyFeed feed_;
};

}  // namespace weft::http
