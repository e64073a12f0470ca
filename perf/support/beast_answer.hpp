// The answer of the rivals over Boost.Beast: 130 bytes when the body has 13, as the canned one.
#pragma once

#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <ctime>
#include <string>

namespace weft::perf {

namespace http = boost::beast::http;

using BeastRequest = http::request<http::string_body>;
using BeastAnswer = http::response<http::string_body>;

// The Date header's text, made once a second.
inline const std::string& httpDate() {
    static std::time_t made = 0;
    static std::string text;
    const std::time_t now = std::time(nullptr);
    if (now != made) {
        char buffer[64];
        std::tm parts{};
        gmtime_r(&now, &parts);
        text.assign(buffer, std::strftime(buffer, sizeof buffer, "%a, %d %b %Y %H:%M:%S GMT", &parts));
        made = now;
    }
    return text;
}

inline BeastAnswer answerTo(const BeastRequest& request, http::status status, std::string body = {}) {
    BeastAnswer answer{status, request.version()};
    answer.set(http::field::server, "beast");
    answer.set(http::field::content_type, "text/plain");
    answer.set(http::field::date, httpDate());
    answer.keep_alive(request.keep_alive());
    answer.body() = std::move(body);
    answer.prepare_payload();
    return answer;
}

}  // namespace weft::perf
