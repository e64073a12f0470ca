#include <weft/http/status.hpp>

#include <array>
#include <cstddef>

namespace weft::http {
namespace {

constexpr std::string_view prefix = "HTTP/1.1 200 ";

// clang-format off
constexpr std::array lines = std::to_array<std::string_view>({
    "",  // no registered phrase
    "HTTP/1.1 100 Continue\r\n", "HTTP/1.1 101 Switching Protocols\r\n", "HTTP/1.1 102 Processing\r\n",
    "HTTP/1.1 103 Early Hints\r\n",
    "HTTP/1.1 200 OK\r\n", "HTTP/1.1 201 Created\r\n", "HTTP/1.1 202 Accepted\r\n",
    "HTTP/1.1 203 Non-Authoritative Information\r\n", "HTTP/1.1 204 No Content\r\n",
    "HTTP/1.1 205 Reset Content\r\n", "HTTP/1.1 206 Partial Content\r\n", "HTTP/1.1 207 Multi-Status\r\n",
    "HTTP/1.1 208 Already Reported\r\n", "HTTP/1.1 226 IM Used\r\n",
    "HTTP/1.1 300 Multiple Choices\r\n", "HTTP/1.1 301 Moved Permanently\r\n", "HTTP/1.1 302 Found\r\n",
    "HTTP/1.1 303 See Other\r\n", "HTTP/1.1 304 Not Modified\r\n", "HTTP/1.1 305 Use Proxy\r\n",
    "HTTP/1.1 307 Temporary Redirect\r\n", "HTTP/1.1 308 Permanent Redirect\r\n",
    "HTTP/1.1 400 Bad Request\r\n", "HTTP/1.1 401 Unauthorized\r\n", "HTTP/1.1 402 Payment Required\r\n",
    "HTTP/1.1 403 Forbidden\r\n", "HTTP/1.1 404 Not Found\r\n", "HTTP/1.1 405 Method Not Allowed\r\n",
    "HTTP/1.1 406 Not Acceptable\r\n", "HTTP/1.1 407 Proxy Authentication Required\r\n",
    "HTTP/1.1 408 Request Timeout\r\n", "HTTP/1.1 409 Conflict\r\n", "HTTP/1.1 410 Gone\r\n",
    "HTTP/1.1 411 Length Required\r\n", "HTTP/1.1 412 Precondition Failed\r\n",
    "HTTP/1.1 413 Content Too Large\r\n", "HTTP/1.1 414 URI Too Long\r\n",
    "HTTP/1.1 415 Unsupported Media Type\r\n", "HTTP/1.1 416 Range Not Satisfiable\r\n",
    "HTTP/1.1 417 Expectation Failed\r\n", "HTTP/1.1 421 Misdirected Request\r\n",
    "HTTP/1.1 422 Unprocessable Content\r\n", "HTTP/1.1 423 Locked\r\n", "HTTP/1.1 424 Failed Dependency\r\n",
    "HTTP/1.1 425 Too Early\r\n", "HTTP/1.1 426 Upgrade Required\r\n", "HTTP/1.1 428 Precondition Required\r\n",
    "HTTP/1.1 429 Too Many Requests\r\n", "HTTP/1.1 431 Request Header Fields Too Large\r\n",
    "HTTP/1.1 451 Unavailable For Legal Reasons\r\n",
    "HTTP/1.1 500 Internal Server Error\r\n", "HTTP/1.1 501 Not Implemented\r\n", "HTTP/1.1 502 Bad Gateway\r\n",
    "HTTP/1.1 503 Service Unavailable\r\n", "HTTP/1.1 504 Gateway Timeout\r\n",
    "HTTP/1.1 505 HTTP Version Not Supported\r\n", "HTTP/1.1 506 Variant Also Negotiates\r\n",
    "HTTP/1.1 507 Insufficient Storage\r\n", "HTTP/1.1 508 Loop Detected\r\n",
    "HTTP/1.1 511 Network Authentication Required\r\n",
});
// clang-format on

constexpr unsigned codeIn(std::string_view line) {
    return static_cast<unsigned>((line[9] - '0') * 100 + (line[10] - '0') * 10 + (line[11] - '0'));
}

constexpr unsigned lowestCode = 100;
constexpr unsigned highestCode = 511;

constexpr auto lineOfCode = [] {
    std::array<std::uint8_t, highestCode - lowestCode + 1> index{};
    for (std::size_t i = 1; i < lines.size(); ++i) index[codeIn(lines[i]) - lowestCode] = static_cast<std::uint8_t>(i);
    return index;
}();

}  // namespace

std::string_view statusLine(Status status) noexcept {
    const unsigned code = codeOf(status);
    if (code < lowestCode || code > highestCode) return {};
    return lines[lineOfCode[code - lowestCode]];
}

std::string_view reasonPhrase(Status status) noexcept {
    const std::string_view line = statusLine(status);
    return line.empty() ? line : line.substr(prefix.size(), line.size() - prefix.size() - 2);
}

}  // namespace weft::http
