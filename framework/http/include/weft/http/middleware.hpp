// Middleware for every Service: accessLog() and requestId().
#pragma once

#include <weft/http/route_function.hpp>
#include <weft/http/served.hpp>

namespace weft::http {

// Logs each answer as one line of level info, where it was given:
//     127.0.0.1:40312 "GET /items?limit=1" 200 34 bytes 0.412 ms 5f0c1a2b-17
// with the client's address, the method and target as sent, the status, the bytes of the answer's body, the time from
// the end of the request's head, and the request's id; behind it what was thrown, and whether the body was cut.
struct AccessLog {
    void onServed(const Served& served) const;
};
inline AccessLog accessLog() {
    return {};
}

// Gives each request the id of its X-Request-Id header, if that has 1 to 128 visible characters and no '"' or '\\',
// else one of its own; and the answer that header.
struct RequestId {
    Response operator()(Call& call, Next next) const;
};
inline RequestId requestId() {
    return {};
}

}  // namespace weft::http
