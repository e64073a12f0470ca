#include <weft/http/call.hpp>

#include <atomic>
#include <random>
#include <stdexcept>
#include <utility>

#include <weft/http/error.hpp>
#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_handler_context.hpp>
#include <weft/pipeline/detail/printable.hpp>

#include "call_extras.hpp"
#include "service_plan.hpp"

namespace weft::http {

namespace {

constexpr std::size_t mostShown = 60;  // bytes of a name

// The same in all requests of a process, and different in the next one.
const std::string& processPart() {
    static const std::string text = [] {
        constexpr char digits[] = "0123456789abcdef";
        std::random_device bits;
        std::string made;
        for (unsigned word = bits(), i = 0; i < 8; ++i, word >>= 4) made += digits[word & 15];
        return made;
    }();
    return text;
}

std::uint64_t nextNumber() noexcept {
    static std::atomic<std::uint64_t> last = 0;
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

std::unique_ptr<RequestBody::Arriving> Call::arriving(detail::Arrival& arrival) {
    return std::make_unique<RequestBody::Arriving>(
        RequestBody::Arriving{std::move(*arrival.body), arrival.route->maxBody, arrival.route->maxGathered});
}

void Call::ExtrasEnd::operator()(Extras* extras) const noexcept {
    delete extras;
}

const std::string& Call::route() const noexcept {
    return route_.pattern;
}

SocketAddress Call::peer() const {
    return ctx_.channel().remoteAddress();
}

Call::Extras& Call::extras() const {
    if (!extras_) extras_.reset(new Extras);
    return *extras_;
}

weft::detail::AttributeMap& Call::attributes() const {
    return extras().attributes;
}

const std::string& Call::id() {
    std::string& id = extras().id;
    if (id.empty()) id = processPart() + '-' + std::to_string(nextNumber());
    return id;
}

void Call::setId(std::string_view id) {
    extras().id = id;
}

void Call::sendInterim(Response response) {
    if (streams_ || answered_) throw std::logic_error("http::Call::sendInterim called after the answer");
    const unsigned code = codeOf(response.status);
    if (code < 100 || code > 199 || response.status == Status::switchingProtocols) {
        throw std::invalid_argument("http::Call::sendInterim: the status is " + std::to_string(code) +
                                    "; accepted: 100, 102 to 199");
    }
    detail::Tickets::set(response, request_.ticket());
    ctx_.channel().writeAndFlush(Message::lend(response));
}

std::string Call::query(std::string_view name, std::string_view orElse) {
    return std::string(queryValue(name).value_or(orElse));
}

std::optional<std::string_view> Call::queryValue(std::string_view name) {
    auto& query = extras().query;
    if (!query) {
        query = QueryParameters::of(request_);
        if (!query) throw Error(Status::badRequest, "the query has a malformed escape, or too many parameters");
    }
    return query->value(name);
}

std::string_view Call::requiredQuery(std::string_view name) {
    if (const auto value = queryValue(name)) return *value;
    throw Error(Status::badRequest, "query parameter '" + weft::detail::printable(name, mostShown) + "' is missing");
}

void Call::refuseValue(std::string_view kind, std::string_view name, std::string_view text,
                       const std::string& accepted) {
    std::string what(kind);
    what.append(" '").append(weft::detail::printable(name, mostShown)).append("'");
    throw Error(Status::badRequest, detail::notAccepted(what, text, accepted));
}

void Call::addHeader(std::string_view name, std::string_view value) {
    if (streams_) throw std::logic_error("http::Call::addHeader called after stream()");
    extras().headers.add(name, value);
}

ResponseStream Call::stream(std::string_view contentType) {
    return stream(Response(Status::ok, {}, contentType));
}

ResponseStream Call::stream(Response head) {
    if (streams_ || answered_) throw std::logic_error("http::Call::stream called after the answer had begun");
    detail::requireAnswer(head.status);
    if (refused_.closes || body_.leavesMuch()) head.keepAlive = false;
    Extras& its = extras();
    detail::addFields(head, its.headers);
    its.status = head.status;
    its.stream = std::make_unique<detail::BodyStream>(request_.responder().begin(std::move(head)));
    streams_ = true;
    return ResponseStream(*this);
}

void ResponseStream::send(Buffer piece) {
    const std::size_t size = piece.readableBytes();
    body().send(std::move(piece));
    call_->extras().bytes += size;
}

void ResponseStream::send(std::string_view text) {
    body().send(text);
    call_->extras().bytes += text.size();
}

void ResponseStream::end(HeaderList trailers) {
    body().end(std::move(trailers));
    call_->extras().stream.reset();
}

detail::BodyStream& ResponseStream::body() const {
    detail::BodyStream* const stream = call_->extras().stream.get();
    if (stream == nullptr) throw std::logic_error("http::ResponseStream is used after its end");
    return *stream;
}

}  // namespace weft::http
