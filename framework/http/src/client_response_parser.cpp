#include "client_response_parser.hpp"

#include <weft/pipeline/detail/held_bytes.hpp>

namespace weft::http {

ClientResponseParser::ClientResponseParser(ClientResponse& response, std::size_t maxBodyBytes, Method method,
                                           const Limits& limits)
    : maxBodyBytes_(maxBodyBytes), response_(response), decoder_(response.received_, limits) {
    decoder_.start(method);
}

std::size_t ClientResponseParser::feed(std::string_view bytes) {
    started_ = started_ || !bytes.empty();
    std::size_t consumed = 0;
    while (consumed < bytes.size() && !failed_ && !decoder_.finished()) {
        const std::string_view rest = bytes.substr(consumed);
        consumed += inBody_ ? feedBody(rest) : feedHead(rest);
    }
    return consumed;
}

// The decoder needs a head from its first byte. Only a head that arrives in several parts is collected first.
std::size_t ClientResponseParser::feedHead(std::string_view bytes) {
    Buffer& head = response_.head_;
    const std::size_t before = head.readableBytes();
    if (before != 0) head.append(bytes);
    const std::string_view arrived = before != 0 ? head.view() : bytes;
    const ResponseStep step = decoder_.decode(arrived);
    switch (step.event) {
        case ResponseEvent::needMore:
            if (before == 0) head.append(bytes);
            return bytes.size();
        case ResponseEvent::interim: head = {}; return step.consumed - before;
        case ResponseEvent::head:
            inBody_ = true;
            if (decoder_.head().bodyKind == BodyKind::length && decoder_.head().contentLength > maxBodyBytes_)
                refuse("the response body is larger than this call allows", ClientFault::bodyTooLarge);
            return keepHead(arrived, step.consumed) - before;
        default: refuse(decoder_.refusal()); return 0;
    }
}

// Copies the head, and in the same block a body of known length that has arrived whole. Returns how many bytes of
// `arrived` it has consumed.
std::size_t ClientResponseParser::keepHead(std::string_view arrived, std::size_t headSize) {
    const std::size_t bodySize = failed_ ? 0 : decoder_.takeWholeBody(arrived.substr(headSize)).size();
    Buffer kept = Buffer::copyOf(arrived.substr(0, headSize + bodySize));
    if (bodySize == 0) {
        response_.head_ = std::move(kept);
    } else {
        response_.head_ = kept.split(headSize);
        response_.body_ = std::move(kept);
        weft::detail::compact(response_.body_);  // the caller may keep the body for longer than a long head
    }
    return headSize + bodySize;
}

std::size_t ClientResponseParser::feedBody(std::string_view bytes) {
    const ResponseStep step = decoder_.decode(bytes);
    if (step.event == ResponseEvent::error) {
        refuse(decoder_.refusal());
    } else if (step.data.size() > maxBodyBytes_ - response_.body_.readableBytes()) {
        refuse("the response body is larger than this call allows", ClientFault::bodyTooLarge);
    } else if (step.event == ResponseEvent::data) {
        response_.body_.append(step.data);
    }
    return step.consumed;
}

void ClientResponseParser::endOfInput() {
    if (failed_ || decoder_.endOfInput() == ResponseEvent::end) return;
    refuse(decoder_.refusal().reason, ClientFault::endedEarly);
}

void ClientResponseParser::refuse(std::string_view reason, ClientFault fault) {
    failed_ = true;
    fault_ = make_error_code(fault);
    reason_ = reason;
}

void ClientResponseParser::refuse(const Refusal& refusal) {
    const bool large = refusal.status == Status::requestHeaderFieldsTooLarge;
    refuse(refusal.reason, large ? ClientFault::headTooLarge : ClientFault::badResponse);
}

}  // namespace weft::http
