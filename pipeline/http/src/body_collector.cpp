#include <weft/http/detail/body_collector.hpp>

#include <utility>

#include <weft/pipeline/detail/held_bytes.hpp>

namespace weft::http::detail {

std::optional<Refusal> BodyCollector::refusalOf(const RequestHead& head, std::size_t maxBodyBytes) noexcept {
    if (head.expectUnknown) return unknownExpectation;
    if (head.bodyKind == BodyKind::length && head.contentLength > maxBodyBytes) return tooLarge;
    return std::nullopt;
}

bool BodyCollector::append(Buffer&& data, std::size_t maxBodyBytes) {
    Buffer& body = request_.data_->body;
    if (body.readableBytes() + data.readableBytes() > maxBodyBytes) return false;
    if (body.empty()) {
        body = std::move(data);
        weft::detail::compact(body);  // a body that comes slowly must not keep a large block
        return true;
    }
    try {
        body.append(data.view());
    } catch (...) {
        drop();
        throw;
    }
    return true;
}

FullRequest BodyCollector::end(std::unique_ptr<HeaderList> trailers) {
    request_.data_->trailers = std::move(trailers);
    return whole(take());
}

}  // namespace weft::http::detail
