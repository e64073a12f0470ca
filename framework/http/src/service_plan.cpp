#include "service_plan.hpp"

#include <chrono>
#include <stdexcept>
#include <utility>

#include <weft/http/client_error.hpp>
#include <weft/http/detail/body_collector.hpp>
#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_errors.hpp>
#include <weft/pipeline/channel_handler_context.hpp>
#include <weft/pipeline/detail/printable.hpp>
#include <weft/scheduler/deadline_scope.hpp>
#include <weft/scheduler/log.hpp>
#include <weft/scheduler/this_fiber.hpp>

#include "call_extras.hpp"

namespace weft::http {

using detail::ServicePlan;

namespace {

// Of a Response whose head and body have been sent by stream().
Response streamedAlready() {
    Response response;
    response.streamed = true;
    return response;
}

void logFailure(LogLevel level, Call& call, const std::exception_ptr& failure) {
    log(level, {call.request().methodText(), " ", weft::detail::printable(call.request().target()), " (request ",
                call.id(), "): ", describe(failure)});
}

void logLost(Call& call) {
    log(LogLevel::error,
        {call.request().methodText(), " ", weft::detail::printable(call.request().target()), " (request ", call.id(),
         "): a Response was returned after Call::stream() and is dropped; return nothing"});
}

void logError(const char* what, const std::exception_ptr& error) noexcept {
    try {
        log(LogLevel::error, {what, describe(error)});
    } catch (const std::bad_alloc&) {
        log(LogLevel::error, what);
    }
}

}  // namespace

void detail::requireAnswer(Status status) {
    if (codeOf(status) >= 200 || status == Status::switchingProtocols) [[likely]]
        return;
    throw std::invalid_argument("the status of an answer is " + std::to_string(codeOf(status)) +
                                "; accepted: 101, 200 to 999; send any other with Call::sendInterim()");
}

void detail::addFields(Response& response, const HeaderList& fields) {
    for (std::size_t i = 0; i < fields.size(); ++i) response.with(fields.at(i).name, fields.at(i).value);
}

Response detail::answerOfNothing(const Call& call) {
    return call.streams() ? streamedAlready() : Response(Status::noContent);
}

Response Next::operator()(Call& call) const {
    return route_->plan->run(*route_, call, at_);
}

Call::Call(ChannelHandlerContext& ctx, detail::Arrival&& arrival)
    : ctx_(ctx),
      route_(*arrival.route),
      request_(std::move(arrival.request)),
      parameters_(std::move(arrival.parameters)),
      body_(request_, arrival.body ? arriving(arrival) : nullptr),
      begun_(arrival.begun),
      refused_(arrival.refused) {}

void ServicePlan::serve(ChannelHandlerContext& ctx, Arrival&& arrival, const Ticket& byCodec) const {
    const ServiceRoute& route = *arrival.route;
    Call call(ctx, std::move(arrival));
    std::optional<DeadlineScope> deadline;
    if (route.deadline) call.deadline_ = &deadline.emplace(*route.deadline);
    Response response = run(route, call, 0);
    try {
        give(call, response);
    } catch (...) {  // a status that is no answer's, or a client that has gone
        const std::exception_ptr failure = std::current_exception();
        const bool begun = call.streams_;
        response = failed(call, failure);
        if (!begun) give(call, response);
    }
    if (route.told && byCodec != call.request().ticket()) tellOf(call);
}

Response ServicePlan::run(const ServiceRoute& route, Call& call, std::size_t at) const {
    try {
        if (at < route.middleware.size()) return (*route.middleware[at])(call, Next(route, at + 1));
        if (call.refused_.isSet) [[unlikely]]
            return refused(call);
        return (*route.function)(call);
    } catch (...) {
        return failed(call, std::current_exception());
    }
}

void ServicePlan::give(Call& call, Response& response) {
    if (call.streams_) {
        if (!response.streamed) logLost(call);
        auto& stream = call.extras().stream;
        if (stream) stream->end({});
        return stream.reset();
    }
    detail::requireAnswer(response.status);
    if (call.refused_.closes || call.body_.leavesMuch()) response.keepAlive = false;
    if (call.extras_) detail::addFields(response, call.extras_->headers);
    if (call.route_.told) [[unlikely]] {
        call.extras().status = response.status;
        call.extras().bytes = response.body.readableBytes();
    }
    call.answered_ = true;
    call.ctx_.channel().writeAndFlush(Message::lend(response.to(call.request_)));
}

void ServicePlan::tellOf(Call& call) {
    const Call::Extras& extras = call.extras();
    const bool hasBody = mayHaveContent(extras.status) && call.request().method() != Method::head;
    Served served;
    served.method = call.request().methodText();
    served.target = call.request().target();
    served.route = call.route();
    served.id = call.id();
    served.peer = call.peer();
    served.status = extras.status;
    served.bytes = hasBody ? extras.bytes : 0;
    served.time = Deadline::clock::now() - call.begun_;
    served.error = extras.error;
    served.cut = extras.cut || !call.context().channel().open();
    tell(call.route_, served);
}

void ServicePlan::tell(const ServiceRoute& route, const Served& served) noexcept {
    for (OnServed* const function : route.onServed) {
        try {
            (*function)(served);
        } catch (...) {
            logError("an onServed() function of an http::Service failed: ", std::current_exception());
        }
    }
}

Response ServicePlan::failed(Call& call, const std::exception_ptr& failure) const {
    call.extras().error = failure;
    if (call.streams_) {
        cut(call, failure);
        return streamedAlready();
    }
    if (!call.context().channel().open()) {                                     // no client, no answer
        if (!weft::detail::isEndOfConnection(failure)) errorOf(call, failure);  // logs it
        return Response(Status::serviceUnavailable);
    }
    const Error error = errorOf(call, failure);
    Response response = answerTo(call, error);
    detail::addFields(response, error.headers());
    return response;
}

// A body without its end must not look complete, so the connection closes.
void ServicePlan::cut(Call& call, const std::exception_ptr& failure) {
    const bool late = call.deadline_ != nullptr && call.deadline_->timedOut();
    const bool ended = !call.context().channel().open() || thisFiber::cancelRequested();
    const bool expected = ended && weft::detail::isEndOfConnection(failure) && !late;
    logFailure(expected ? LogLevel::debug : LogLevel::error, call, failure);
    call.extras().cut = call.extras().stream != nullptr;
    call.extras().stream.reset();
}

Response ServicePlan::answerTo(Call& call, const Error& error) const {
    if (onError) {
        try {
            return onError(call, error);
        } catch (...) {
            logFailure(LogLevel::error, call, std::current_exception());
            if (call.streams_) {
                call.extras().cut = true;
                call.extras().stream.reset();
                return streamedAlready();
            }
        }
    }
    return http::error(error.status(), error.hasText() ? error.what() : "");
}

Error ServicePlan::errorOf(Call& call, const std::exception_ptr& failure) {
    try {
        std::rethrow_exception(failure);
    } catch (const Error& error) {
        return error;
    } catch (const SystemError& error) {
        if (error.code() == operationAborted() && thisFiber::cancelRequested()) return abortion(call);
        if (dynamic_cast<const ClientError*>(&error) != nullptr) {
            logFailure(LogLevel::warning, call, failure);
            return error.code() == timedOut()
                       ? Error(Status::gatewayTimeout, "the server behind this one did not answer in time")
                       : Error(Status::badGateway, "the server behind this one did not answer properly");
        }
    } catch (...) {  // below
    }
    logFailure(LogLevel::error, call, failure);
    return Error(Status::internalServerError, "request " + call.id());
}

Error ServicePlan::abortion(const Call& call) {
    if (call.deadline_ == nullptr || !call.deadline_->timedOut())
        return Error(Status::serviceUnavailable, "the server is shutting down");
    const auto time = std::chrono::duration_cast<std::chrono::milliseconds>(*call.route_.deadline);
    return Error(Status::gatewayTimeout, "no answer within " + std::to_string(time.count()) + " ms");
}

Response ServicePlan::refused(const Call& call) const {
    const detail::Refused& refused = call.refused_;
    if (refused.status == Status::contentTooLarge) throw Error(refused.status, detail::BodyCollector::tooLarge.reason);
    if (refused.status != Status{}) throw Error(refused.status, detail::BodyCollector::unknownExpectation.reason);
    detail::RouteIndex::Match match;
    match.outcome = refused.outcome;
    match.methods = refused.methods;
    const Request& request = call.request();
    const auto answer = index.unrouted(request.method(), request.head().targetForm, match);
    if (answer.status == Status::noContent)
        return Response(answer.status).with("Allow", detail::RouteIndex::allow(answer.allow));
    Error error(answer.status, answer.reason);
    if (answer.hasAllow) error.with("Allow", detail::RouteIndex::allow(answer.allow));
    throw error;
}

}  // namespace weft::http
