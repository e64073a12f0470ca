#include "service_handler.hpp"

#include <utility>

#include <weft/http/request_refused.hpp>
#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_errors.hpp>
#include <weft/pipeline/channel_handler_context.hpp>
#include <weft/pipeline/context_spawn.hpp>
#include <weft/scheduler/log.hpp>

namespace weft::http::detail {

// read() only forwards until a body is streamed.
void ServiceHandler::handlerAdded(ChannelHandlerContext& ctx) {
    ctx.watchReadCycles(false);
}

void ServiceHandler::handlerRemoved(ChannelHandlerContext&) {
    feed_.cut("its handler was removed");
}

void ServiceHandler::channelInactive(ChannelHandlerContext& ctx) {
    feed_.cut("the connection was closed");
    ctx.fireChannelInactive();
}

void ServiceHandler::userEventTriggered(ChannelHandlerContext& ctx, Message&& event) {
    if (event.is<RequestRefused>()) {
        const RequestRefused& refused = event.get<RequestRefused>();
        byCodec_ = refused.ticket;
        if (plan_->unrouted.told) {
            Served served;
            served.peer = ctx.channel().remoteAddress();
            served.status = refused.status;
            if (!refused.reason.empty()) served.error = std::make_exception_ptr(Error(refused.status, refused.reason));
            plan_->served(served);
        }
    }
    ctx.fireUserEventTriggered(std::move(event));
}

void ServiceHandler::channelRead(ChannelHandlerContext& ctx, Message&& message) {
    if (message.is<Request>()) [[likely]] {
        begin(ctx, message.take<Request>());
    } else if (message.is<Content>()) {
        collector_.holds() ? collect(ctx, std::move(message.get<Content>().data))
                           : feed_.put(std::move(message.get<Content>().data));
    } else if (message.is<LastContent>()) {
        auto& trailers = message.get<LastContent>().trailers;
        collector_.holds()
            ? start(ctx, {route_, collector_.end(std::move(trailers)), std::move(parameters_), {}, begun_})
            : feed_.end(std::move(trailers));
    } else if (message.is<BodyCut>()) {
        collector_.drop();
        feed_.cut(message.get<BodyCut>().reason);
    } else {
        ctx.fireChannelRead(std::move(message));
    }
}

void ServiceHandler::begin(ChannelHandlerContext& ctx, Request&& request) {
    RouteIndex::Match match;
    plan_->index.find(request.method(), request.path(), match);
    const bool found = match.outcome == RouteIndex::Outcome::found;
    const ServiceRoute& route = found ? *plan_->byNumber[match.route] : plan_->unrouted;
    if (route.told) [[unlikely]]
        begun_ = Deadline::clock::now();
    if (!found) [[unlikely]]
        return refuse(ctx, route, std::move(request), {}, {.outcome = match.outcome, .methods = match.methods});
    if (request.head().hasBody() || request.head().expectUnknown) [[unlikely]]
        return beginWithBody(ctx, route, std::move(request), std::move(match.parameters));
    start(ctx, {&route, BodyCollector::whole(std::move(request)), std::move(match.parameters), {}, begun_});
}

void ServiceHandler::beginWithBody(ChannelHandlerContext& ctx, const ServiceRoute& route, Request&& request,
                                   PathParameters&& parameters) {
    const RequestHead& head = request.head();
    if (const auto refusal = BodyCollector::refusalOf(head, route.maxBody))
        return refuse(ctx, route, std::move(request), std::move(parameters),
                      {.status = refusal->status, .closes = true});
    if (route.streamed) {
        ctx.watchReadCycles(true);
        auto body = std::make_unique<BodyReader>(feed_.begin(ctx.channel(), request.ticket(), head.expectContinue));
        return start(
            ctx, {&route, BodyCollector::whole(std::move(request)), std::move(parameters), std::move(body), begun_});
    }
    if (head.expectContinue) {
        Response goOn(Status::continue_);
        Tickets::set(goOn, request.ticket());
        ctx.writeAndFlush(Message(std::move(goOn)));
    }
    route_ = &route;
    parameters_ = std::move(parameters);
    collector_.begin(std::move(request));
    if (!ctx.channel().config().autoRead) ctx.read();
}

void ServiceHandler::collect(ChannelHandlerContext& ctx, Buffer&& data) {
    if (!collector_.append(std::move(data), route_->maxBody)) {
        return refuse(ctx, *route_, collector_.take(), std::move(parameters_),
                      {.status = BodyCollector::tooLarge.status, .closes = true});
    }
    if (!ctx.channel().config().autoRead) ctx.read();
}

// Through the route's middleware; its function is not called.
void ServiceHandler::refuse(ChannelHandlerContext& ctx, const ServiceRoute& route, Request&& request,
                            PathParameters&& parameters, Refused refused) {
    refused.isSet = true;
    refused.closes = refused.closes || isLongBody(request.head());
    start(ctx, {&route, BodyCollector::whole(std::move(request)), std::move(parameters), {}, begun_, refused});
}

void ServiceHandler::start(ChannelHandlerContext& ctx, Arrival&& arrival) {
    const ServiceRoute& route = *arrival.route;
    if (route.inLoop) return plan_->serve(ctx, std::move(arrival), byCodec_);
    ctx.spawn([this, &ctx, arrival = std::move(arrival)]() mutable { plan_->serve(ctx, std::move(arrival), byCodec_); },
              {.name = route.pattern});
}

void ServiceHandler::exceptionCaught(ChannelHandlerContext& ctx, std::exception_ptr cause) {
    const bool expected = errorCodeOf(cause) == operationAborted();  // the carrier shuts down
    log(expected ? LogLevel::debug : LogLevel::error, {"a connection of an http::Service closes: ", describe(cause)});
    ctx.close();
}

void ServiceHandler::read(ChannelHandlerContext& ctx) {
    if (!feed_.withholdsRead()) ctx.read();
}

}  // namespace weft::http::detail
