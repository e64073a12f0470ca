#include "fault.hpp"

#include <array>
#include <cstddef>

namespace weft::http::detail {

Refusal refusalOf(Fault fault) noexcept {
    static constexpr std::array<Refusal, static_cast<std::size_t>(Fault::count)> refusals{{
        {Status::internalServerError, "no fault"},
        {Status::badRequest, "a line ends with LF without CR"},
        {Status::badRequest, "CR without LF"},
        {Status::badRequest, "control character"},
        {Status::notImplemented, "the method is longer than every supported method"},
        {Status::uriTooLong, "request line too long"},
        {Status::requestHeaderFieldsTooLarge, "header section too large"},
        {Status::requestHeaderFieldsTooLarge, "too many headers"},
        {Status::badRequest, "more than one empty line before the request line"},
        {Status::badRequest, "the method is not a token"},
        {Status::badRequest, "the request line is not method SP target SP version"},
        {Status::badRequest, "bad request-target"},
        {Status::badRequest, "bad HTTP version"},
        {Status::httpVersionNotSupported, "HTTP major version is not 1"},
        {Status::badRequest, "header line begins with white space"},
        {Status::badRequest, "header line without a colon"},
        {Status::badRequest, "empty header name"},
        {Status::badRequest, "the header name is not a token"},
        {Status::badRequest, "white space between header name and colon"},
        {Status::badRequest, "no Host"},
        {Status::badRequest, "more than one Host"},
        {Status::badRequest, "bad Host"},
        {Status::badRequest, "bad Content-Length"},
        {Status::badRequest, "more than one Content-Length"},
        {Status::badRequest, "bad Transfer-Encoding"},
        {Status::badRequest, "the last transfer coding is not chunked"},
        {Status::badRequest, "more than one Transfer-Encoding"},
        {Status::badRequest, "Transfer-Encoding in HTTP/1.0"},
        {Status::badRequest, "both Content-Length and Transfer-Encoding"},
        {Status::notImplemented, "unknown transfer coding"},
        {Status::badRequest, "CONNECT with a body"},
        {Status::badRequest, "bad chunk size"},
        {Status::badRequest, "chunk size too large"},
        {Status::badRequest, "bad chunk extension"},
        {Status::badRequest, "chunk-size line too long"},
        {Status::badRequest, "too many bytes of chunk extensions"},
        {Status::badRequest, "chunk data is not followed by CRLF"},
        {Status::requestHeaderFieldsTooLarge, "trailer section too large"},
        {Status::requestHeaderFieldsTooLarge, "too many trailers"},
        {Status::badRequest, "forbidden trailer"},
        {Status::badGateway, "the response does not begin with HTTP/"},
        {Status::badGateway, "the status line is not version SP three digits SP reason"},
        {Status::requestHeaderFieldsTooLarge, "status line too long"},
        {Status::badGateway, "101 Switching Protocols in response to a request without Upgrade"},
        {Status::requestHeaderFieldsTooLarge, "interim responses too large"},
        {Status::badGateway, "the connection ended before the response was complete"},
    }};
    return refusals[static_cast<std::size_t>(fault)];
}

}  // namespace weft::http::detail
