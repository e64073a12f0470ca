#include "exchange.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <stdexcept>

#include <weft/framework/connect_advice.hpp>
#include <weft/http/request_encoder.hpp>
#include <weft/pipeline/channel_errors.hpp>
#include <weft/pipeline/detail/printable.hpp>
#include <weft/scheduler/carrier.hpp>
#include <weft/scheduler/detail/cancellation_due.hpp>

#include <weft/framework/detail/address_order.hpp>
#include "first_connection.hpp"

namespace weft::http::detail {

namespace {

constexpr std::size_t readBytes = 16 * 1024;
constexpr std::size_t sentAtOnce = 64 * 1024;  // a larger body is sent by a separate fiber

constexpr std::string_view cancelledBefore = "the fiber was cancelled, or its scope's deadline has passed";
constexpr std::string_view notSupported = "CONNECT and Upgrade are not supported here; use a ClientCodec in a pipeline";

// RFC 9110, section 9.2.2.
bool isIdempotent(Method method) noexcept {
    switch (method) {
        case Method::get:
        case Method::head:
        case Method::put:
        case Method::delete_:
        case Method::options:
        case Method::trace: return true;
        default: return false;
    }
}

[[noreturn]] void refuse(const ClientRequest& request, std::string_view why) {
    throw std::invalid_argument("http::Client: '" + weft::detail::printable(request.method) + " " +
                                weft::detail::printable(request.target) + "': " + std::string(why));
}

}  // namespace

std::string nameOf(const Origin& origin, const ClientRequest& request) {
    return request.method + " " + std::string(textOf(origin.scheme())) + "://" + origin.toString() + request.target;
}

Exchange::Exchange(const std::shared_ptr<ClientPool>& pool, const Origin& origin, const ClientRequest& request,
                   const RequestOptions& options, Timeout timeout, ClientResponse& response)
    : pool_(pool),
      origin_(origin),
      request_(request),
      response_(response),
      method_(methodOf(request.method)),
      maxBodyBytes_(timeout == Timeout::ofTheWhole ? options.maxBodyBytes : std::numeric_limits<std::size_t>::max()),
      repeatable_(isIdempotent(method_) && !request_.streamed),
      timeout_(options.timeout),
      timeoutScope_(timeout),
      overallDeadline_(options.deadline),
      waitDeadline_(std::min(overallDeadline_, deadlineAfter(timeout_))),
      host_(options.host),
      remaining_(request_.contentLength) {
    if (method_ == Method::connect) refuse(request_, notSupported);
    encode();
    parser_.emplace(response_, maxBodyBytes_, method_, pool_->options()->limits);
}

void Exchange::encode() {
    const std::string& host = host_.empty() ? origin_.authority() : host_;
    const EncodedRequest encoded = encodeRequest(request_, host, [this](std::size_t bytes) {
        head_ = Buffer::allocate(bytes);
        return head_.writeData();
    });
    head_.produced(encoded.size);
    keepAlive_ = encoded.keepAlive;
    if (encoded.upgrade) refuse(request_, notSupported);
    if (encoded.error != RequestError::none) refuse(request_, textOf(encoded.error));
}

// ---- the connection ----

// A pooled connection takes a request without a wait, which would end by a cancellation. So each step that would send
// something checks for one first.
bool Exchange::failIfCancelled() {
    if (!weft::detail::cancellationDue()) return false;
    fail(operationAborted(), std::string(cancelledBefore));
    return true;
}

void Exchange::begin() {
    if (failIfCancelled()) return;
    ErrorCode error;
    lease_ = pool_->acquire(origin_, waitDeadline_, error);
    if (error) {
        const ClientOptions& limits = *pool_->options();
        return fail(error, "no connection became free: at most " + std::to_string(limits.maxPerHost) +
                               " per host (maxPerHost) and " + std::to_string(limits.maxConnections) +
                               " in total (maxConnections) are allowed");
    }
    reused_ = lease_.connection() != nullptr;
    if (!reused_) open();
    if (!error_) sendRequest();
}

void Exchange::open() {
    if (origin_.scheme() == Scheme::https) {
        security_ = security();
        if (!security_) return;
    }
    if (!origin_.address().empty()) return connect({origin_.address()});
    const Resolver::Addresses addresses = resolve();
    if (!addresses.empty()) connect(weft::detail::alternating(addresses));
}

Resolver::Addresses Exchange::resolve() {
    Resolver* const chosen = pool_->options()->resolver;
    Resolver& resolver = chosen ? *chosen : Resolver::system();
    const Future<Resolver::Addresses> answer = resolver.resolve(origin_.host(), origin_.port());
    try {
        if (answer.awaitUntil(waitDeadline_)) return answer.get();
        fail(timedOut(), "the name '" + origin_.host() + "' was not resolved in time");
    } catch (const SystemError& error) {
        fail(error.code(), error.what());
    }
    return {};
}

void Exchange::connect(const Resolver::Addresses& addresses) {
    if (failIfCancelled()) return;
    FirstConnection first;
    if (!cancelled_) first = connectToFirst(addresses, pool_->options()->connectTimeout, waitDeadline_);
    const ErrorCode error = cancelled_ ? operationAborted() : first.error;
    if (!error) return use(std::move(first.stream));
    std::string what = "cannot connect";
    if (origin_.address().empty() && !first.refusals.empty()) what += " to " + first.refusals;
    fail(error, what + "; " + std::string(connectAdvice(error)));
}

void Exchange::use(TcpStream stream) {
    if (security_) {
        SecuredStream secured = security_->secure(std::move(stream), origin_.host(), waitDeadline_);
        if (secured.error) {
            const std::string text = secured.text.empty() ? secured.text : " (" + secured.text + ")";
            return fail(secured.error, "no secure connection" + text);
        }
        if (!secured.applicationProtocol.empty() && secured.applicationProtocol != "http/1.1") {
            return fail(fromErrno(EPROTONOSUPPORT), "the server speaks '" + secured.applicationProtocol +
                                                        "', which ClientOptions::tls offers; offer \"http/1.1\" only");
        }
        if (cancelled_) return fail(operationAborted(), "cancelled");
        stream = std::move(secured.stream);
    }
    lease_.fill(std::move(stream));
}

std::shared_ptr<const StreamSecurity> Exchange::security() {
    if (pool_->options()->tls) return pool_->options()->tls;
    try {
        if (auto linked = linkedStreamSecurity()) return linked;
        fail(fromErrno(EPROTONOSUPPORT), "https needs TLS: link the program with weft::tls, or set ClientOptions::tls");
    } catch (const ConfigurationError& error) {
        fail(fromErrno(EPROTONOSUPPORT), error.what());
    }
    return nullptr;
}

bool Exchange::mayRepeat() const noexcept {
    return repeatable_ && reused_ && !repeated_ && !cancelled_ && !parser_->started() && error_ != timedOut() &&
           error_ != operationAborted();
}

// For a server that closed the idle connection while the request was on its way.
void Exchange::repeat() {
    if (failIfCancelled()) return;
    repeated_ = true;
    reused_ = false;
    ++pool_->stats().retried;
    lease_.close();
    pool_->drop(lease_);
    error_ = {};
    sendError_ = {};
    response_ = {};
    parser_.emplace(response_, maxBodyBytes_, method_, pool_->options()->limits);
    encode();
    open();
    if (!error_) sendRequest();
}

void Exchange::finish() {
    finished_ = true;
    const bool requestSent = requestEnded_ && !sendError_ && !lease_.connection()->sending;
    if (clean_ && parser_->keepAlive() && keepAlive_ && requestSent) {
        lease_.keep();
    } else {
        lease_.release();
    }
}

void Exchange::fail(const ErrorCode& error, std::string what) {
    error_ = error;
    failedStep_ = std::move(what);
}

// ---- the request ----

// Send errors are reported when the response is read: a server may answer, and close, before it has read everything.
void Exchange::sendRequest() {
    if (failIfCancelled()) return;
    lease_.stream().setDeadline(waitDeadline_);
    const bool aside = request_.body.readableBytes() > sentAtOnce;
    const std::string_view body = aside ? std::string_view() : request_.body.view();
    sendPromptly(head_.view(), body);
    head_ = {};  // a wait for the response holds no buffer
    if (aside && !sendError_) return sendBodyInFiber();
    requestEnded_ = !request_.streamed;
    if (sendError_ && (sendError_ == timedOut() || sendError_ == operationAborted()))
        fail(sendError_, "sending the request failed");
}

// The first bytes leave before any other fiber runs, because the pool has just checked that this connection is quiet.
void Exchange::sendPromptly(std::string_view head, std::string_view body) {
    std::size_t sent = lease_.stream().tryWrite({head, body}, sendError_);
    if (sent == head.size() + body.size()) return;
    if (sendError_ && sendError_ != fromErrno(EAGAIN)) return;
    const std::size_t ofHead = std::min(sent, head.size());
    lease_.stream().write({head.substr(ofHead), body.substr(sent - ofHead)}, sendError_);
}

void Exchange::sendBodyInFiber() {
    const std::shared_ptr<PooledConnection> connection = lease_.connection();
    connection->sending = true;
    requestEnded_ = true;
    try {
        Carrier::current()->spawnDetached(
            [connection, body = request_.body.share()] {
                ErrorCode error;
                connection->stream.write({body.view()}, error);
                if (!error) connection->sending = false;
            },
            {.name = "http-client-body"});
    } catch (const SystemError& refused) {  // by a carrier that shuts down
        fail(refused.code(), "sending the request failed");
    }
}

// After a failure, any part of `parts` may have left: more bytes would be taken for the missing ones.
void Exchange::write(std::initializer_list<std::string_view> parts, ErrorCode& error) {
    const std::shared_ptr<PooledConnection> connection = lease_.connection();
    error = finished_ || !connection ? operationAborted() : ErrorCode();
    if (error) return;
    sendError_ = operationAborted();  // for a write that throws
    connection->stream.write(parts, error);
    sendError_ = error;
}

void Exchange::send(Buffer piece, ErrorCode& error) {
    if (!request_.streamed || requestEnded_)
        throw std::logic_error("ClientExchange::send(): this request is not streamed, or its body has ended");
    error = sendError_;
    if (error || piece.empty()) return;
    if (request_.hasLength) {
        if (piece.readableBytes() > remaining_) {
            throw std::logic_error("ClientExchange::send(): more than the contentLength of " +
                                   std::to_string(request_.contentLength) + " bytes");
        }
        write({piece.view()}, error);
        if (!error) remaining_ -= piece.readableBytes();
        return;
    }
    std::array<char, maxChunkHeadBytes> chunk;
    const std::size_t size = writeChunkHead(piece.readableBytes(), chunk.data());
    write({{chunk.data(), size}, piece.view(), chunkEnd}, error);
}

void Exchange::end(const HeaderList& trailers, ErrorCode& error) {
    if (!request_.streamed || requestEnded_)
        throw std::logic_error("ClientExchange::end(): this request is not streamed, or has already ended");
    error = sendError_;
    if (error) return;
    if (request_.hasLength && remaining_ != 0) {
        throw std::logic_error("ClientExchange::end(): " + std::to_string(remaining_) + " bytes of " +
                               std::to_string(request_.contentLength) + " are missing");
    }
    if (!request_.hasLength) {
        EncodeError refused = EncodeError::none;
        const std::string last = trailers.visit({}, [&](std::span<const HeaderView> fields) {
            std::string text(lastChunkBound(fields), '\0');
            text.resize(encodeLastChunk(fields, text, refused));
            return text;
        });
        if (refused != EncodeError::none) refuse(request_, http::textOf(refused));
        write({last}, error);
    }
    requestEnded_ = !error;
}

// ---- the response ----

void Exchange::beginWait() noexcept {
    if (error_ == timedOut() && lease_.isOpen()) error_ = {};
    if (timeoutScope_ != Timeout::ofEachWait) return;
    waitDeadline_ = std::min(overallDeadline_, deadlineAfter(timeout_));
    if (lease_.connection()) lease_.connection()->stream.setDeadline(waitDeadline_);
}

void Exchange::receive() {
    if (error_ || finished_) return;
    if (!lease_.connection()) return fail(operationAborted(), "an attempt to repeat the request has failed");
    ErrorCode error = cancelled_ ? operationAborted() : ErrorCode();
    const Buffer bytes = error ? Buffer() : lease_.stream().read(readBytes, error);
    if (error) {
        fail(error, error == timedOut() ? "no complete response in time"
                    : sendError_        ? "the connection broke while the request was being sent"
                                        : "reading the response failed");
    } else {
        if (bytes.empty()) parser_->endOfInput();
        if (!bytes.empty() && parser_->feed(bytes.view()) != bytes.readableBytes()) clean_ = false;
        if (parser_->failed()) fail(parser_->fault(), std::string(parser_->reason()));
    }
    if (error_) {
        if (mayRepeat()) repeat();
    } else if (parser_->complete()) {
        finish();
    }
}

void Exchange::setDeadline(Deadline deadline) noexcept {
    overallDeadline_ = waitDeadline_ = deadline;
    if (lease_.connection()) lease_.connection()->stream.setDeadline(deadline);
}

void Exchange::cancel() noexcept {
    cancelled_ = true;
    if (lease_.connection()) lease_.connection()->stream.close();
}

ClientError Exchange::failure(const ErrorCode& error, std::string_view what) const {
    return ClientError(error, nameOf(origin_, request_) + ": " + std::string(what), parser_->status());
}

}  // namespace weft::http::detail
