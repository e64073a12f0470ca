#include <weft/framework/http/client_response_parser.hpp>

namespace weft::http {

std::optional<std::string_view> ClientResponse::header(std::string_view name) const noexcept {
    const HeaderField* field = received_.headers.find(name, head_);
    if (field == nullptr) return std::nullopt;
    return field->value.in(head_);
}

ClientResponseParser::ClientResponseParser(std::size_t maxBodyBytes, Method method, const Limits& limits)
    : maxBodyBytes_(maxBodyBytes), decoder_(limits) {
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

// The decoder needs a head from its first byte.
std::size_t ClientResponseParser::feedHead(std::string_view bytes) {
    std::string& head = response_.head_;
    const std::size_t before = head.size();
    head.append(bytes);
    const ResponseStep step = decoder_.decode(head);
    switch (step.event) {
        case ResponseEvent::needMore: return bytes.size();
        case ResponseEvent::interim: head.clear(); return step.consumed - before;
        case ResponseEvent::head:
            head.resize(step.consumed);
            beginBody();
            return step.consumed - before;
        default: refuse(decoder_.refusal()); return 0;
    }
}

void ClientResponseParser::beginBody() {
    const ReceivedHead& head = decoder_.head();
    response_.received_ = head;
    inBody_ = true;
    if (head.bodyKind == BodyKind::length && head.contentLength > maxBodyBytes_) {
        refuse("the response body is larger than this call allows", ClientFault::bodyTooLarge);
    }
}

std::size_t ClientResponseParser::feedBody(std::string_view bytes) {
    const ResponseStep step = decoder_.decode(bytes);
    if (step.event == ResponseEvent::error) {
        refuse(decoder_.refusal());
    } else if (step.event == ResponseEvent::data) {
        append(step.data);
    }
    return step.consumed;
}

bool ClientResponseParser::append(std::string_view data) {
    if (data.size() > maxBodyBytes_ - response_.body_.readableBytes()) {
        refuse("the response body is larger than this call allows", ClientFault::bodyTooLarge);
        return false;
    }
    response_.body_.append(data);
    return true;
}

void ClientResponseParser::endOfInput() {
    if (failed_ || decoder_.endOfInput() == ResponseEvent::end) return;
    refuse(decoder_.refusal().reason, ClientFault::endedEarly);
}

HeaderList ClientResponseParser::trailers() const {
    HeaderList list;
    const detail::BodyDecoder& body = decoder_.body();
    for (const HeaderField& field : body.trailers()) {
        list.add(field.name.in(body.trailerText()), field.value.in(body.trailerText()));
    }
    return list;
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
