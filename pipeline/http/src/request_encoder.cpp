#include <weft/http/request_encoder.hpp>

#include <array>

#include <weft/http/detail/number_text.hpp>
#include "byte_scan.hpp"
#include "character_class.hpp"
#include "header_rules.hpp"
#include "known_fields.hpp"
#include "put_text.hpp"
#include "request_line.hpp"

namespace weft::http {
namespace {

using namespace std::string_view_literals;
using detail::maxDecimalBytes;
using detail::put;
using detail::putField;
using detail::writeDecimal;

constexpr std::string_view version = " HTTP/1.1\r\n";
constexpr std::string_view longestConnection = "Connection: close, upgrade, TE\r\n";
constexpr std::size_t fixedRequestBytes = version.size() + 1 + "Host: \r\n"sv.size() + "Content-Length: \r\n"sv.size() +
                                          maxDecimalBytes + "Transfer-Encoding: chunked\r\n"sv.size() +
                                          longestConnection.size() + 2;

// What the encoder must know about the headers.
struct KnownFields {
    unsigned hosts = 0;
    bool upgrade = false;
    bool te = false;
    bool close = false;
};

bool isReserved(const HeaderView& header) noexcept {
    return detail::equalIgnoringCase(header.name, "content-length") ||
           detail::equalIgnoringCase(header.name, "transfer-encoding") ||
           detail::equalIgnoringCase(header.name, "connection");
}

// A framing header that the application has set: accepted when it agrees with what the encoder writes, or asks for a
// close. The encoder writes the line itself.
RequestError applyReserved(const HeaderView& header, const OutgoingHead& head, KnownFields& known) noexcept {
    if (detail::equalIgnoringCase(header.name, "connection")) {
        if (detail::equalIgnoringCase(header.value, "keep-alive")) return RequestError::none;
        known.close = true;
        return detail::equalIgnoringCase(header.value, "close") ? RequestError::none : RequestError::reservedHeader;
    }
    if (detail::equalIgnoringCase(header.name, "transfer-encoding")) {
        const bool agrees = head.body == BodyKind::chunked && detail::equalIgnoringCase(header.value, "chunked");
        return agrees ? RequestError::none : RequestError::reservedHeader;
    }
    const auto length = detail::parseContentLength(header.value);
    const std::uint64_t written = head.body == BodyKind::length ? head.contentLength : 0;
    return head.body != BodyKind::chunked && length == written ? RequestError::none : RequestError::wrongLength;
}

RequestError check(const HeaderView& header, const OutgoingHead& head, KnownFields& known) noexcept {
    const auto named = [&header](std::string_view name) { return detail::equalIgnoringCase(header.name, name); };
    if (!detail::consistsOf(detail::tokenChar, header.name)) return RequestError::badHeaderName;
    if (!detail::isFieldValue(header.value)) return RequestError::badHeaderValue;
    if (isReserved(header)) return applyReserved(header, head, known);
    if (named("host")) {
        ++known.hosts;
        if (!detail::isAuthority(header.value)) return RequestError::badHost;
    }
    known.upgrade = known.upgrade || named("upgrade");
    known.te = known.te || named("te");
    return RequestError::none;
}

// True for a common line: a method of a path. False decides nothing: call isRequestLine(). `line` ends with CRLF.
bool isPlainRequestLine(Method method, const OutgoingHead& head, std::string_view line) noexcept {
    if (head.target.empty() || head.target.front() != '/') return false;
    if (method == Method::other || method == Method::connect) return false;
    const char* const target = line.data() + head.method.size() + 1;
    return detail::findFirst<detail::TargetStop>(target, line.data(), line.data() + line.size()) ==
           target + head.target.size();
}

// Parses the line (without CRLF) as a server would.
bool isRequestLine(std::string_view line) noexcept {
    if (!detail::isFieldValue(line)) return false;
    RequestHead head;
    return detail::parseRequestLine(line, 0, head) == detail::Fault::none;
}

bool expectsBody(Method method) noexcept {
    return method == Method::post || method == Method::put || method == Method::patch;
}

char* putFraming(char* out, Method method, const OutgoingHead& head) noexcept {
    if (head.body == BodyKind::chunked) return put(out, "Transfer-Encoding: chunked\r\n");
    if (head.body == BodyKind::none || (head.contentLength == 0 && !expectsBody(method))) return out;
    out = put(out, "Content-Length: ");
    out += writeDecimal(head.contentLength, out);
    return put(out, "\r\n");
}

char* putConnection(char* out, bool keepAlive, const KnownFields& known) noexcept {
    if (keepAlive && !known.upgrade && !known.te) return out;
    const std::array<std::string_view, 3> options{keepAlive ? ""sv : "close"sv, known.upgrade ? "upgrade"sv : ""sv,
                                                  known.te ? "TE"sv : ""sv};
    std::string_view before = "Connection: ";
    for (const std::string_view option : options) {
        if (option.empty()) continue;
        out = put(put(out, before), option);
        before = ", ";
    }
    return before == ", " ? put(out, "\r\n") : out;
}

}  // namespace

std::string_view textOf(RequestError error) noexcept {
    switch (error) {
        case RequestError::none: return "no error";
        case RequestError::badRequestLine:
            return "the method is not a token, or the target is not valid for it (\"/path\", "
                   "\"http://host/path\", "
                   "\"*\" with OPTIONS, \"host:port\" with CONNECT)";
        case RequestError::badHost: return "a request needs exactly one Host header of the form host[:port]";
        case RequestError::badHeaderName: return "a request header name is not a token";
        case RequestError::badHeaderValue:
            return "a request header value contains CR, LF, NUL or another control character";
        case RequestError::reservedHeader:
            return "Transfer-Encoding and Connection are set by the encoder; accepted: a Transfer-Encoding that agrees "
                   "with the body, Connection: close and Connection: keep-alive";
        case RequestError::wrongLength:
            return "a Content-Length that differs from the length of the request's body; for a streamed body set "
                   "ClientRequest::contentLength";
        case RequestError::bodyNotAllowed: return "CONNECT has no body";
        case RequestError::tooSmall: return "not enough room for the request head";
    }
    return "unknown error";
}

std::size_t headBound(const OutgoingHead& head) noexcept {
    std::size_t bytes = fixedRequestBytes + head.method.size() + head.target.size() + head.host.size();
    for (const HeaderView& header : head.headers) bytes += header.name.size() + header.value.size() + 4;
    return bytes;
}

EncodedRequest encodeHead(const OutgoingHead& head, std::span<char> out) noexcept {
    if (out.size() < headBound(head)) return {.error = RequestError::tooSmall};
    char* at = put(put(put(put(out.data(), head.method), " "), head.target), version);
    const std::string_view line(out.data(), at);
    const Method method = methodOf(head.method);
    if (!isPlainRequestLine(method, head, line) && !isRequestLine(line.substr(0, line.size() - 2))) {
        return {.error = RequestError::badRequestLine};
    }
    if (method == Method::connect && (head.body == BodyKind::chunked || head.contentLength != 0)) {
        return {.error = RequestError::bodyNotAllowed};
    }
    KnownFields known;
    for (const HeaderView& header : head.headers) {
        if (const RequestError error = check(header, head, known); error != RequestError::none) return {.error = error};
    }
    if (known.hosts == 0) {  // Host comes first (RFC 9110, 7.2)
        const char* const host = at + "Host: "sv.size();
        at = putField(at, "Host", head.host);
        if (!detail::isPlainHost(host, head.host.size(), out.data(), at) && !detail::isAuthority(head.host)) {
            return {.error = RequestError::badHost};
        }
    }
    if (known.hosts > 1) return {.error = RequestError::badHost};
    for (const HeaderView& header : head.headers) {
        if (!isReserved(header)) at = putField(at, header.name, header.value);
    }
    const bool keepAlive = head.keepAlive && !known.close;
    at = put(putConnection(putFraming(at, method, head), keepAlive, known), "\r\n");
    return {RequestError::none, static_cast<std::size_t>(at - out.data()), known.upgrade, keepAlive};
}

}  // namespace weft::http
