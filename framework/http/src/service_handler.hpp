// ServiceHandler: gives the requests of a connection to a Service's routes.
#pragma once

#include <memory>

#include <weft/http/detail/body_collector.hpp>
#include <weft/http/detail/body_feed.hpp>
#include <weft/http/request.hpp>
#include <weft/pipeline/channel_handler.hpp>
#include <weft/pipeline/handler_types.hpp>

#include "service_plan.hpp"

namespace weft::http::detail {

// The last handler of a connection, behind its codec.
class ServiceHandler final : public ChannelDuplexHandler {
  public:
    using InboundIn = Messages<Request, Content, LastContent, BodyCut>;
    using InboundOut = Messages<>;

    explicit ServiceHandler(std::shared_ptr<const ServicePlan> plan) noexcept : plan_(std::move(plan)) {}

    void handlerAdded(ChannelHandlerContext& ctx) override;
    void handlerRemoved(ChannelHandlerContext& ctx) override;
    void channelRead(ChannelHandlerContext& ctx, Message&& message) override;
    void userEventTriggered(ChannelHandlerContext& ctx, Message&& event) override;
    void channelInactive(ChannelHandlerContext& ctx) override;
    void exceptionCaught(ChannelHandlerContext& ctx, std::exception_ptr cause) override;
    void read(ChannelHandlerContext& ctx) override;

  private:
    void begin(ChannelHandlerContext& ctx, Request&& request);
    void beginWithBody(ChannelHandlerContext& ctx, const ServiceRoute& route, Request&& request,
                       PathParameters&& parameters);
    void collect(ChannelHandlerContext& ctx, Buffer&& data);
    void refuse(ChannelHandlerContext& ctx, const ServiceRoute& route, Request&& request, PathParameters&& parameters,
                Refused refused);
    void start(ChannelHandlerContext& ctx, Arrival&& arrival);

    const std::shared_ptr<const ServicePlan> plan_;
    // Of the request whose body is arriving: it is collected, fed to a reader, or else discarded.
    BodyCollector collector_;
    BodyFeed feed_;
    // Of the request that is being collected.
    const ServiceRoute* route_ = nullptr;
    PathParameters parameters_;
    Deadline begun_;
    Ticket byCodec_ = noTicket;  // the newest request that the codec has answered
};

}  // namespace weft::http::detail
