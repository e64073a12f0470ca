#include <weft/pipeline/http/request_encoder.hpp>

#include <algorithm>
#include <array>

#include <weft/pipeline/http/number_text.hpp>
#include "http/byte_scan.hpp"
#include "http/character_class.hpp"
#include "http/header_rules.hpp"
#include "http/request_line.hpp"

namespace weft::http {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view version = " HTTP/1.1\r\n";
constexpr std::string_view longestConnection = "Connection: close, upgrade, TE\r\n";
constexpr std::size_t fixedBytes = version.size() + 1 + "Host: \r\n"sv.size() + "Content-Length: \r\n"sv.size() +
                                   maxDecimalBytes + "Transfer-Encoding: chunked\r\n"sv.size() +
                                   longestConnection.size() + 2;

char* put(char* out, std::string_view text) noexcept {
    return std::copy(text.begin(), text.end(), out);
}

char* putField(char* out, std::string_view name, std::string_view value) noexcept {
    return put(put(put(put(out, name), ": "), value), "\r\n");
}

// What the headers say that the encoder has to know.
struct Said {
    unsigned hosts = 0;
    bool upgrade = false;
    bool te = false;
};

RequestError check(const HeaderView& header, Said& said) noexcept {
    const auto named = [&header](std::string_view name) { return detail::equalIgnoringCase(header.name, name); };
    if (!detail::consistsOf(detail::tokenChar, header.name)) return RequestError::badHeaderName;
    if (!detail::isFieldValue(header.value)) return RequestError::badHeaderValue;
    if (named("content-length") || named("transfer-encoding") || named("connection"))
        return RequestError::reservedHeader;
    if (named("host")) {
        ++said.hosts;
        if (!detail::isAuthority(header.value)) return RequestError::badHost;
    }
    said.upgrade = said.upgrade || named("upgrade");
    said.te = said.te || named("te");
    return RequestError::none;
}

// The line is read as a server would read it.
bool isRequestLine(std::string_view line) noexcept {
    if (!detail::isFieldValue(line)) return false;
    RequestHead head;
    return detail::parseRequestLine(line, 0, head) == detail::Fault::none;
}

bool expectsBody(std::string_view method) noexcept {
    return method == "POST" || method == "PUT" || method == "PATCH";
}

char* putFraming(char* out, const OutgoingHead& head) noexcept {
    if (head.body == BodyKind::chunked) return put(out, "Transfer-Encoding: chunked\r\n");
    if (head.body == BodyKind::none || (head.contentLength == 0 && !expectsBody(head.method))) return out;
    out = put(out, "Content-Length: ");
    out += writeDecimal(head.contentLength, out);
    return put(out, "\r\n");
}

char* putConnection(char* out, const OutgoingHead& head, const Said& said) noexcept {
    const std::array<std::string_view, 3> options{head.keepAlive ? ""sv : "close"sv, said.upgrade ? "upgrade"sv : ""sv,
                                                  said.te ? "TE"sv : ""sv};
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
        case RequestError::none:
            return "no error";
        case RequestError::badRequestLine:
            return "the method is not a token, or the target is not one that goes with it (\"/path\", "
                   "\"http://host/path\", "
                   "\"*\" with OPTIONS, \"host:port\" with CONNECT)";
        case RequestError::badHost:
            return "a request needs exactly one Host, host[:port]";
        case RequestError::badHeaderName:
            return "a request header name is not a token";
        case RequestError::badHeaderValue:
            return "a request header value contains CR, LF, NUL or another control character";
        case RequestError::reservedHeader:
            return "Content-Length, Transfer-Encoding and Connection are set by the encoder";
        case RequestError::bodyNotAllowed:
            return "CONNECT has no body";
        case RequestError::tooSmall:
            return "less room than the request head needs";
    }
    return "unknown error";
}

std::size_t headBound(const OutgoingHead& head) noexcept {
    std::size_t bytes = fixedBytes + head.method.size() + head.target.size() + head.host.size();
    for (const HeaderView& header : head.headers) bytes += header.name.size() + header.value.size() + 4;
    return bytes;
}

EncodedRequest encodeHead(const OutgoingHead& head, std::span<char> out) noexcept {
    if (out.size() < headBound(head)) return {.error = RequestError::tooSmall};
    char* at = put(put(put(put(out.data(), head.method), " "), head.target), version);
    const std::size_t line = static_cast<std::size_t>(at - out.data()) - 2;
    if (!isRequestLine({out.data(), line})) return {.error = RequestError::badRequestLine};
    if (head.method == "CONNECT" && (head.body == BodyKind::chunked || head.contentLength != 0)) {
        return {.error = RequestError::bodyNotAllowed};
    }
    Said said;
    for (const HeaderView& header : head.headers) {
        if (const RequestError error = check(header, said); error != RequestError::none) return {.error = error};
    }
    if (said.hosts == 0) {  // Host comes first (RFC 9110, 7.2)
        if (!detail::isAuthority(head.host)) return {.error = RequestError::badHost};
        at = putField(at, "Host", head.host);
    }
    if (said.hosts > 1) return {.error = RequestError::badHost};
    for (const HeaderView& header : head.headers) at = putField(at, header.name, header.value);
    at = put(putConnection(putFraming(at, head), head, said), "\r\n");
    return {RequestError::none, static_cast<std::size_t>(at - out.data()), said.upgrade};
}

}  // namespace weft::http
