// Strict where a lenient reading could make two parties see different messages (framing, line ends, field names); lenient
// only about a missing reason phrase, which decides nothing.
#include <weft/framework/http/client_response_parser.hpp>

#include <algorithm>
#include <charconv>
#include <utility>

namespace weft::http {

namespace {

constexpr std::string_view headEnd = "\r\n\r\n";
constexpr std::string_view protocol = "HTTP/";

char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

bool sameText(std::string_view left, std::string_view right) noexcept {
    return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                      [](char a, char b) { return lower(a) == lower(b); });
}

bool isTokenChar(char c) noexcept {
    constexpr std::string_view marks = "!#$%&'*+-.^_`|~";
    const char l = lower(c);
    return (l >= 'a' && l <= 'z') || (c >= '0' && c <= '9') || marks.find(c) != std::string_view::npos;
}

// Field values and reason phrases: no control character but the tab.
bool isTextChar(char c) noexcept {
    const auto byte = static_cast<unsigned char>(c);
    return byte == '\t' || (byte >= 0x20 && byte != 0x7f);
}

std::string_view trim(std::string_view text) noexcept {
    const std::size_t first = text.find_first_not_of(" \t");
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

bool listContains(std::string_view list, std::string_view wanted) noexcept {
    while (!list.empty()) {
        const std::size_t comma = std::min(list.find(','), list.size());
        if (sameText(trim(list.substr(0, comma)), wanted)) return true;
        list.remove_prefix(std::min(comma + 1, list.size()));
    }
    return false;
}

}  // namespace

std::optional<std::string_view> ClientResponse::header(std::string_view name) const noexcept {
    for (const Field& field : fields_) {
        if (sameText(text(field.name), name)) return text(field.value);
    }
    return std::nullopt;
}

std::size_t ClientResponseParser::feed(std::string_view bytes) {
    started_ = started_ || !bytes.empty();
    std::size_t consumed = 0;
    while (consumed < bytes.size()) {
        const std::string_view rest = bytes.substr(consumed);
        switch (state_) {
            case State::head: consumed += feedHead(rest); break;
            case State::body: consumed += feedBody(rest); break;
            case State::untilClose: consumed += feedUntilClose(rest); break;
            case State::done:
            case State::failed: return consumed;
        }
    }
    return consumed;
}

void ClientResponseParser::endOfInput() {
    if (state_ == State::untilClose) {
        state_ = State::done;
    } else if (state_ != State::done && state_ != State::failed) {
        refuse("the connection ended before the response did", ClientFault::endedEarly);
    }
}

bool ClientResponseParser::refuse(std::string_view reason, ClientFault fault) {
    state_ = State::failed;
    fault_ = make_error_code(fault);
    reason_ = reason;
    return false;
}

// ---- the head ----

std::size_t ClientResponseParser::feedHead(std::string_view bytes) {
    std::string& head = response_.head_;
    const std::size_t before = head.size();
    const std::size_t from = before < headEnd.size() - 1 ? 0 : before - (headEnd.size() - 1);
    const std::size_t room = maxHeadBytes - headBytes_ - before;
    head.append(bytes.substr(0, room));
    const std::size_t known = std::min(head.size(), protocol.size());
    if (head.compare(0, known, protocol, 0, known) != 0) {
        refuse("it does not begin with HTTP/");
        return 0;
    }
    const std::size_t end = head.find(headEnd, from);
    if (end != std::string::npos) {
        head.resize(end + headEnd.size());
        const std::size_t consumed = head.size() - before;
        endHead();
        return consumed;
    }
    if (bytes.size() >= room) refuse("its head is too large", ClientFault::headTooLarge);
    return std::min(bytes.size(), room);
}

void ClientResponseParser::endHead() {
    Framing framing;
    if (!parseHead(framing)) return;
    if (codeOf(response_.status_) == 101) {
        refuse("it switches protocols, which nobody asked for");
    } else if (codeOf(response_.status_) < 200) {
        headBytes_ += response_.head_.size();
        response_ = ClientResponse();
    } else {
        startBody(framing);
    }
}

bool ClientResponseParser::parseHead(Framing& framing) {
    const std::string_view head = response_.head_;
    std::size_t at = 0;
    for (bool first = true;; first = false) {
        const std::size_t end = head.find("\r\n", at);
        const std::string_view line = head.substr(at, end - at);
        if (line.empty()) return true;
        if (first ? !parseStatusLine(line) : !parseField(line, framing)) return false;
        at = end + 2;
    }
}

// "HTTP/1.1 200 OK", the reason and the space before it may be missing.
bool ClientResponseParser::parseStatusLine(std::string_view line) {
    const auto digit = [&](std::size_t i) { return line[i] >= '0' && line[i] <= '9'; };
    if (line.size() < 12 || line[6] != '.' || !digit(5) || !digit(7) || line[8] != ' ' || !digit(9) || !digit(10) ||
        !digit(11) || (line.size() > 12 && line[12] != ' ')) {
        return refuse("its status line is malformed");
    }
    if (line[5] != '1') return refuse("it is not HTTP/1");
    if (!std::all_of(line.begin(), line.end(), isTextChar)) return refuse("its status line has control characters");
    const unsigned code = static_cast<unsigned>((line[9] - '0') * 100 + (line[10] - '0') * 10 + (line[11] - '0'));
    if (code < 100) return refuse("its status code is out of range");
    response_.status_ = static_cast<Status>(code);
    response_.version_ = line[7] == '0' ? Version::http10 : Version::http11;
    if (line.size() > 13) response_.reason_ = {13, static_cast<std::uint32_t>(line.size() - 13)};
    return true;
}

bool ClientResponseParser::parseField(std::string_view line, Framing& framing) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || colon == 0 ||
        !std::all_of(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(colon), isTokenChar)) {
        return refuse("a header line has no valid name");
    }
    const std::string_view name = line.substr(0, colon);
    const std::string_view value = trim(line.substr(colon + 1));
    if (!std::all_of(value.begin(), value.end(), isTextChar)) return refuse("a header has control characters");
    if (response_.fields_.size() == maxHeaders) return refuse("it has too many headers", ClientFault::headTooLarge);
    const auto offsetOf = [&](const char* at) { return static_cast<std::uint32_t>(at - response_.head_.data()); };
    response_.fields_.push_back({{offsetOf(name.data()), static_cast<std::uint32_t>(name.size())},
                                 {value.empty() ? 0 : offsetOf(value.data()), static_cast<std::uint32_t>(value.size())}});
    if (sameText(name, "content-length")) return noteLength(value, framing);
    if (sameText(name, "transfer-encoding")) return noteCoding(value, framing);
    if (sameText(name, "connection")) {
        framing.close = framing.close || listContains(value, "close");
        framing.keepAlive = framing.keepAlive || listContains(value, "keep-alive");
    }
    return true;
}

bool ClientResponseParser::noteLength(std::string_view value, Framing& framing) {
    if (framing.hasLength) return refuse("it has two Content-Length headers");
    const bool digits = std::all_of(value.begin(), value.end(), [](char c) { return c >= '0' && c <= '9'; });
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), framing.length);
    if (!digits || error != std::errc() || end != value.data() + value.size() || framing.length > INT64_MAX) {
        return refuse("its Content-Length is no valid number");
    }
    framing.hasLength = true;
    return true;
}

bool ClientResponseParser::noteCoding(std::string_view value, Framing& framing) {
    if (framing.chunked || !sameText(value, "chunked")) return refuse("its transfer coding is not plain chunked");
    framing.chunked = true;
    return true;
}

// ---- the body ----

// RFC 9112, 6.3.
void ClientResponseParser::startBody(const Framing& framing) {
    const bool http10 = response_.version_ == Version::http10;
    keepAlive_ = !framing.close && (!http10 || framing.keepAlive);
    if (framing.chunked && (framing.hasLength || http10)) {
        refuse("its Transfer-Encoding contradicts its Content-Length or version");
    } else if (neverHasBody(response_.status_) || (framing.hasLength && framing.length == 0)) {
        state_ = State::done;
    } else if (framing.hasLength && framing.length > maxBodyBytes_) {
        refuse("its body is larger than this call allows", ClientFault::bodyTooLarge);
    } else if (framing.hasLength || framing.chunked) {
        body_.start(framing.chunked ? BodyKind::chunked : BodyKind::length, framing.length);
        state_ = State::body;
    } else {
        keepAlive_ = false;
        state_ = State::untilClose;
    }
}

std::size_t ClientResponseParser::feedBody(std::string_view bytes) {
    const BodyStep step = body_.decode(bytes);
    if (step.event == BodyEvent::error) {
        refuse("its chunked body is malformed");
        return step.consumed;
    }
    if (step.event == BodyEvent::data && !append(step.data)) return step.consumed;
    if (step.event == BodyEvent::end || body_.finished()) state_ = State::done;
    return step.consumed;
}

std::size_t ClientResponseParser::feedUntilClose(std::string_view bytes) {
    append(bytes);
    return bytes.size();
}

bool ClientResponseParser::append(std::string_view data) {
    if (data.size() > maxBodyBytes_ - response_.body_.readableBytes()) {
        return refuse("its body is larger than this call allows", ClientFault::bodyTooLarge);
    }
    response_.body_.append(data);
    return true;
}

}  // namespace weft::http
