#include <weft/http/middleware.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>

#include <weft/pipeline/channel_errors.hpp>
#include <weft/scheduler/log.hpp>

namespace weft::http {

namespace {

constexpr std::string_view header = "X-Request-Id";
constexpr std::size_t longestId = 128;  // characters

bool isId(std::string_view text) noexcept {
    const auto visible = [](char c) { return c > ' ' && c < 0x7f && c != '"' && c != '\\'; };
    return !text.empty() && text.size() <= longestId && std::all_of(text.begin(), text.end(), visible);
}

std::string inMilliseconds(Duration time) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3f ms", std::chrono::duration<double, std::milli>(time).count());
    return text;
}

}  // namespace

void AccessLog::onServed(const Served& served) const {
    std::string line = served.peer.toString();
    line.append(" \"")
        .append(served.method)
        .append(served.method.empty() ? "" : " ")
        .append(served.target)
        .append("\" ");
    line.append(std::to_string(codeOf(served.status))).append(" ").append(std::to_string(served.bytes));
    line.append(" bytes ").append(inMilliseconds(served.time));
    if (!served.id.empty()) line.append(" ").append(served.id);
    if (served.cut) line.append(" cut");
    if (served.error) line.append(": ").append(describe(served.error));
    log(LogLevel::info, line);
}

Response RequestId::operator()(Call& call, Next next) const {
    if (const auto given = call.request().header(header); given && isId(*given)) call.setId(*given);
    call.addHeader(header, call.id());
    return next(call);
}

}  // namespace weft::http
