#include <weft/http/request_body.hpp>

#include <cerrno>
#include <cstdint>
#include <utility>

#include <weft/http/error.hpp>
#include <weft/scheduler/errors.hpp>

namespace weft::http {

std::optional<Buffer> RequestBody::read() {
    if (arriving_ && !arriving_->rest.empty()) return std::move(arriving_->rest);
    return next();
}

std::string_view RequestBody::view() {
    if (!arriving_) return request_.body();
    gather();
    return arriving_->rest.view();
}

Buffer RequestBody::take() {
    if (!arriving_) return request_.takeBody();
    gather();
    return std::move(arriving_->rest);
}

std::optional<Buffer> RequestBody::next() {
    if (!arriving_) {
        Buffer whole = request_.takeBody();
        return whole.empty() ? std::nullopt : std::optional<Buffer>(std::move(whole));
    }
    Arriving& body = *arriving_;
    if (body.tooLong) refuse();
    ErrorCode error;
    std::optional<Buffer> piece = body.reader.read(error);
    if (error == fromErrno(ECONNABORTED)) throw Error(Status::badRequest, "the request's body ended early");
    if (error) throw SystemError(error, "http::RequestBody::read");
    body.ended = !piece;
    if (!piece) return std::nullopt;
    if (piece->readableBytes() > body.left) refuse();
    body.left -= piece->readableBytes();
    return piece;
}

// From here on, each read is refused.
void RequestBody::refuse() {
    arriving_->tooLong = true;
    throw Error(Status::contentTooLarge, "the body is larger than this route accepts");
}

bool RequestBody::restIsLong() const noexcept {
    return arriving_->tooLong || detail::isLongBody(request_.head());
}

bool detail::isLongBody(const RequestHead& head) noexcept {
    constexpr std::uint64_t mostDiscarded = 64 * 1024;  // bytes
    return head.hasBody() && (head.bodyKind != BodyKind::length || head.contentLength > mostDiscarded);
}

void RequestBody::gather() {
    Buffer& rest = arriving_->rest;
    while (std::optional<Buffer> piece = next()) {
        if (piece->readableBytes() > arriving_->maxGathered - rest.readableBytes()) refuse();
        if (rest.empty()) {
            rest = std::move(*piece);
        } else {
            rest.append(piece->view());
        }
    }
}

}  // namespace weft::http
