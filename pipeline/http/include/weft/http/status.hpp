// Status codes, their reason phrases and their complete status lines. Constant data. Any code of 100-999 may be sent;
// the named ones have a phrase. Also knows which codes never have a body, and which must be sent without one.
#pragma once

#include <cstdint>
#include <string_view>

namespace weft::http {

// clang-format off
enum class Status : std::uint16_t {
    continue_ = 100, switchingProtocols = 101, processing = 102, earlyHints = 103,
    ok = 200, created = 201, accepted = 202, nonAuthoritativeInformation = 203, noContent = 204, resetContent = 205,
    partialContent = 206, multiStatus = 207, alreadyReported = 208, imUsed = 226,
    multipleChoices = 300, movedPermanently = 301, found = 302, seeOther = 303, notModified = 304, useProxy = 305,
    temporaryRedirect = 307, permanentRedirect = 308,
    badRequest = 400, unauthorized = 401, paymentRequired = 402, forbidden = 403, notFound = 404,
    methodNotAllowed = 405, notAcceptable = 406, proxyAuthenticationRequired = 407, requestTimeout = 408,
    conflict = 409, gone = 410, lengthRequired = 411, preconditionFailed = 412, contentTooLarge = 413,
    uriTooLong = 414, unsupportedMediaType = 415, rangeNotSatisfiable = 416, expectationFailed = 417,
    misdirectedRequest = 421, unprocessableContent = 422, locked = 423, failedDependency = 424, tooEarly = 425,
    upgradeRequired = 426, preconditionRequired = 428, tooManyRequests = 429, requestHeaderFieldsTooLarge = 431,
    unavailableForLegalReasons = 451,
    internalServerError = 500, notImplemented = 501, badGateway = 502, serviceUnavailable = 503,
    gatewayTimeout = 504, httpVersionNotSupported = 505, variantAlsoNegotiates = 506, insufficientStorage = 507,
    loopDetected = 508, networkAuthenticationRequired = 511,
};
// clang-format on

// The numeric status code.
constexpr unsigned codeOf(Status status) noexcept {
    return static_cast<unsigned>(status);
}

// The registered reason phrase; empty for a code that has none.
std::string_view reasonPhrase(Status status) noexcept;

// "HTTP/1.1 200 OK\r\n" for a code with a registered phrase; empty for any other.
std::string_view statusLine(Status status) noexcept;

// True for 1xx, 204 and 304: such a response ends with its header section, whatever its headers are (RFC 9110, 6.4.1).
constexpr bool neverHasBody(Status status) noexcept {
    return codeOf(status) < 200 || status == Status::noContent || status == Status::notModified;
}

// False if a server must send no content: codes that never have a body, and 205 (RFC 9110, 15.3.6). Receivers frame a
// 205 like any other response, so it must be sent with `Content-Length: 0`.
constexpr bool mayHaveContent(Status status) noexcept {
    return !neverHasBody(status) && status != Status::resetContent;
}

}  // namespace weft::http
