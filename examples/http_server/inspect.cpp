#include "inspect.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace examples {

namespace {

// RFC 4648, section 4.
void appendBase64(std::string& out, std::string_view bytes) {
    constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        const std::string_view group = bytes.substr(i, 3);
        unsigned bits = 0;
        for (std::size_t j = 0; j < 3; ++j)
            bits = bits << 8 | (j < group.size() ? static_cast<unsigned char>(group[j]) : 0);
        for (std::size_t j = 0; j < 4; ++j) out += j <= group.size() ? digits[bits >> (18 - 6 * j) & 63] : '=';
    }
}

void appendQuoted(std::string& out, std::string_view bytes) {
    out += '"';
    appendBase64(out, bytes);
    out += '"';
}

// The version as received, "HTTP/1.1": Request::version() has only the parsed value. Reads behind the end of target(),
// which is a view into the request line.
std::string_view versionText(const weft::http::Request& request) {
    const std::string_view target = request.target();
    return {target.data() + target.size() + 1, std::string_view("HTTP/1.1").size()};
}

std::string describeRequest(const weft::http::FullRequest& request) {
    std::string json = "{\"method\":";
    appendQuoted(json, request.methodText());
    json += ",\"uri\":";
    appendQuoted(json, request.target());
    json += ",\"version\":";
    appendQuoted(json, versionText(request));
    json += ",\"headers\":[";
    for (std::size_t i = 0; i < request.headerCount(); ++i) {
        const auto header = request.headerAt(i);
        json += i == 0 ? "[" : ",[";
        appendQuoted(json, header.name);
        json += ',';
        appendQuoted(json, header.value);
        json += ']';
    }
    json += "],\"body\":";
    appendQuoted(json, request.body());
    return json + "}";
}

}  // namespace

void Inspect::channelRead0(weft::ChannelHandlerContext& ctx, weft::http::FullRequest request) {
    auto response = weft::http::ok(describeRequest(request), "application/json");
    // A 200 to CONNECT opens a tunnel, which has no length. The description is what goes through it, so the connection
    // must be closed after it.
    response.keepAlive = request.method() != weft::http::Method::connect;
    ctx.writeAndFlush(std::move(response));
}

void Inspect::exceptionCaught(weft::ChannelHandlerContext& ctx, std::exception_ptr) {
    ctx.close();
}

}  // namespace examples
