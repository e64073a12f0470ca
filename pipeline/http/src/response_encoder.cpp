#include <weft/http/response_encoder.hpp>

#include <cassert>

#include <weft/http/detail/number_text.hpp>
#include <weft/http/header_list.hpp>
#include "byte_scan.hpp"
#include "character_class.hpp"
#include "header_rules.hpp"
#include "put_text.hpp"

namespace weft::http {
namespace {

using namespace std::string_view_literals;
using detail::maxDecimalBytes;
using detail::put;
using detail::putField;
using detail::writeDecimal;
using detail::writeHex;

// Longest fixed parts: a status line without phrase, Content-Length with its number, Connection, Date, the empty line.
constexpr std::size_t fixedBytes = "HTTP/1.1 999 \r\n"sv.size() + "Content-Length: \r\n"sv.size() + maxDecimalBytes +
                                   "Transfer-Encoding: chunked\r\n"sv.size() + "Connection: keep-alive\r\n"sv.size() +
                                   "Date: \r\n"sv.size() + 2;

// What the encoder writes in addition to the headers, and how the body is framed.
struct Plan {
    BodyFraming framing = BodyFraming::none;
    bool contentLength = false;
    bool transferEncoding = false;
    bool connection = true;
    bool keepAlive = false;
    bool switches = false;
    std::uint64_t length = 0;
};

bool grantsTunnel(const ResponseHead& head) noexcept {
    const unsigned code = codeOf(head.status);
    return head.requestMethod == Method::connect && code >= 200 && code < 300;
}

// 1xx, 204, 205 and 304: nothing follows the head.
Plan withoutContent(Plan plan, Status status) noexcept {
    if (status == Status::notModified) {
        plan.contentLength = plan.length != 0;  // of the omitted body; 0 is the default: unknown
    } else if (status == Status::resetContent) {
        plan.contentLength = true;  // without it, a receiver would read a body
        plan.length = 0;
    }
    return plan;
}

Plan planOf(const ResponseHead& head) noexcept {
    Plan plan;
    plan.keepAlive = head.keepAlive;
    plan.length = head.body == BodyKind::length ? head.contentLength : 0;
    const bool interim = codeOf(head.status) < 200;
    const bool tunnel = grantsTunnel(head);
    plan.switches = head.keepAlive && (tunnel || head.status == Status::switchingProtocols);
    plan.connection = !interim && !(tunnel && head.keepAlive);
    if (tunnel) {
        // A granted CONNECT has no length (RFC 9110, 9.3.6). If it closes the connection, its body is sent until the
        // close.
        const bool content = !head.keepAlive && mayHaveContent(head.status);
        plan.framing = content ? BodyFraming::untilClose : BodyFraming::none;
        return plan;
    }
    if (!mayHaveContent(head.status)) return withoutContent(plan, head.status);
    const bool chunked = head.body == BodyKind::chunked;
    const bool toHead = head.requestMethod == Method::head;
    plan.transferEncoding = chunked && head.requestVersion == Version::http11;
    plan.contentLength = !chunked && !(toHead && head.body == BodyKind::none);
    if (toHead) return plan;
    plan.framing = !chunked                ? BodyFraming::length
                   : plan.transferEncoding ? BodyFraming::chunked
                                           : BodyFraming::untilClose;
    if (plan.framing == BodyFraming::untilClose) plan.keepAlive = false;
    return plan;
}

char* putStatusLine(char* out, Status status) noexcept {
    const std::string_view known = statusLine(status);
    if (!known.empty()) return put(out, known);
    out = put(out, "HTTP/1.1 ");
    out += writeDecimal(codeOf(status), out);
    return put(out, " \r\n");  // the blank is sent even without a phrase (RFC 9112, 4)
}

bool isToken(std::string_view name) noexcept {
    if (name.empty()) return false;
    return detail::hasNone<detail::NameStop>(name) || detail::consistsOf(detail::tokenChar, name);
}

bool isReserved(std::string_view name, Status status) noexcept {
    switch (name.size()) {
        case 10: return status != Status::switchingProtocols && detail::equalIgnoringCase(name, "connection");
        case 14: return detail::equalIgnoringCase(name, "content-length");
        case 17: return detail::equalIgnoringCase(name, "transfer-encoding");
        default: return false;
    }
}

bool isDate(std::string_view name) noexcept {
    return name.size() == 4 && detail::equalIgnoringCase(name, "date");
}

// True if the encoder writes the line as it is, and does nothing else about it.
bool isPlainName(std::string_view name) noexcept {
    return isToken(name) && !isReserved(name, Status::ok) && !isDate(name);
}

EncodeError check(const HeaderView& header, Status status) noexcept {
    if (!isToken(header.name)) return EncodeError::badHeaderName;
    if (!detail::isFieldValue(header.value)) return EncodeError::badHeaderValue;
    return isReserved(header.name, status) ? EncodeError::reservedHeader : EncodeError::none;
}

// A framing header that the application has set: accepted when it agrees with what the encoder writes, or asks for a
// close. The encoder writes the line itself.
[[gnu::noinline, gnu::cold]] EncodeError applyReserved(const HeaderView& header, const ResponseHead& head,
                                                       Plan& plan) noexcept {
    if (detail::equalIgnoringCase(header.name, "connection")) {
        if (detail::equalIgnoringCase(header.value, "keep-alive")) return EncodeError::none;
        if (!detail::equalIgnoringCase(header.value, "close")) return EncodeError::reservedHeader;
        ResponseHead closing = head;
        closing.keepAlive = false;
        const Plan closed = planOf(closing);
        plan.framing = closed.framing;
        plan.connection = closed.connection;
        plan.keepAlive = closed.keepAlive;
        plan.switches = closed.switches;
        return EncodeError::none;
    }
    if (detail::equalIgnoringCase(header.name, "transfer-encoding")) {
        const bool agrees = plan.transferEncoding && detail::equalIgnoringCase(header.value, "chunked");
        return agrees ? EncodeError::none : EncodeError::reservedHeader;
    }
    const auto length = detail::parseContentLength(header.value);
    if (!length) return EncodeError::wrongLength;
    if (head.requestMethod == Method::head || head.status == Status::notModified) {  // of the omitted body
        plan.contentLength = true;
        plan.length = *length;
        return EncodeError::none;
    }
    return head.body == BodyKind::length && *length == head.contentLength ? EncodeError::none
                                                                          : EncodeError::wrongLength;
}

char* putFraming(char* out, const Plan& plan, Version version) noexcept {
    if (plan.contentLength) {
        out = put(out, "Content-Length: ");
        out += writeDecimal(plan.length, out);
        out = put(out, "\r\n");
    }
    if (plan.transferEncoding) out = put(out, "Transfer-Encoding: chunked\r\n");
    if (!plan.connection) return out;
    if (!plan.keepAlive) return put(out, "Connection: close\r\n");
    return version == Version::http10 ? put(out, "Connection: keep-alive\r\n") : out;
}

EncodeError checkHead(const ResponseHead& head) noexcept {
    const unsigned code = codeOf(head.status);
    if (code < 100 || code > 999) return EncodeError::badStatus;
    if (code < 200 && head.requestVersion == Version::http10) return EncodeError::interimForHttp10;
    return detail::isFieldValue(head.date) ? EncodeError::none : EncodeError::badHeaderValue;
}

}  // namespace

std::string_view textOf(EncodeError error) noexcept {
    switch (error) {
        case EncodeError::none: return "no error";
        case EncodeError::badStatus: return "response status is not 100-999";
        case EncodeError::badHeaderName: return "response header name is not a token";
        case EncodeError::badHeaderValue: return "response header value contains CR, LF, NUL or a control character";
        case EncodeError::reservedHeader:
            return "Transfer-Encoding and Connection are set by the encoder; of Connection, 'close' is accepted";
        case EncodeError::wrongLength:
            return "Content-Length differs from the length of the body; leave it out, and the encoder sets it";
        case EncodeError::interimForHttp10: return "1xx response to an HTTP/1.0 request";
        case EncodeError::unrequestedSwitch: return "101 Switching Protocols to a request without Upgrade";
        case EncodeError::badTrailer:
            return "a field that must not be a trailer (framing, routing, authentication, control, content)";
        case EncodeError::tooSmall: return "not enough room for the response head";
    }
    return "unknown error";
}

std::size_t headBound(const ResponseHead& head) noexcept {
    std::size_t bytes = fixedBytes + reasonPhrase(head.status).size() + head.date.size();
    for (const HeaderView& header : head.headers) bytes += header.name.size() + header.value.size() + 4;
    return bytes;
}

char* detail::putHeaderLines(char* out, const HeaderList& headers, std::size_t from, const HeaderList& known) noexcept {
    for (std::size_t i = from; i < headers.size(); ++i) {
        const HeaderView header = headers.at(i);
        const bool isKnownName = i < known.size() && known.at(i).name == header.name;
        if (!(isKnownName || isPlainName(header.name)) || !isFieldValue(header.value)) return nullptr;
        out = putField(out, header.name, header.value);
    }
    return out;
}

EncodedHead encodeHead(const ResponseHead& head, std::span<char> out) noexcept {
    if (out.size() < headBound(head)) return {.error = EncodeError::tooSmall};
    if (const EncodeError error = checkHead(head); error != EncodeError::none) return {.error = error};
    Plan plan = planOf(head);
    char* at = putStatusLine(out.data(), head.status);
    bool dated = head.date.empty();
    for (const HeaderView& header : head.headers) {
        if (EncodeError error = check(header, head.status); error != EncodeError::none) [[unlikely]] {
            if (error == EncodeError::reservedHeader) error = applyReserved(header, head, plan);
            if (error != EncodeError::none) return {.error = error};
            continue;
        }
        if (isDate(header.name)) dated = true;
        at = putField(at, header.name, header.value);
    }
    if (!dated) at = put(put(put(at, "Date: "), head.date), "\r\n");
    at = put(putFraming(at, plan, head.requestVersion), "\r\n");
    return {EncodeError::none, static_cast<std::size_t>(at - out.data()), plan.framing, plan.keepAlive, plan.switches};
}

std::size_t writeChunkHead(std::uint64_t size, char* out) noexcept {
    assert(size != 0 && "an empty chunk would end the body");
    if (size == 0) return 0;
    const std::size_t digits = writeHex(size, out);
    out[digits] = '\r';
    out[digits + 1] = '\n';
    return digits + 2;
}

std::size_t lastChunkBound(std::span<const HeaderView> trailers) noexcept {
    std::size_t bytes = lastChunk.size();
    for (const HeaderView& trailer : trailers) bytes += trailer.name.size() + trailer.value.size() + 4;
    return bytes;
}

std::size_t encodeLastChunk(std::span<const HeaderView> trailers, std::span<char> out, EncodeError& error) noexcept {
    error = out.size() < lastChunkBound(trailers) ? EncodeError::tooSmall : EncodeError::none;
    if (error != EncodeError::none) return 0;
    char* at = put(out.data(), "0\r\n");
    for (const HeaderView& trailer : trailers) {
        error = check(trailer, Status::ok);
        if (error == EncodeError::reservedHeader || detail::isForbiddenTrailer(trailer.name)) {
            error = EncodeError::badTrailer;
        }
        if (error != EncodeError::none) return 0;
        at = putField(at, trailer.name, trailer.value);
    }
    return static_cast<std::size_t>(put(at, "\r\n") - out.data());
}

}  // namespace weft::http
