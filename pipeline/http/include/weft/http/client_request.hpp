// ClientRequest: a complete request, or the head of a streamed one. Write it to a channel with a ClientCodec.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include <weft/http/header_list.hpp>
#include <weft/http/method.hpp>
#include <weft/pipeline/buffer.hpp>

namespace weft::http {

struct ClientRequest {
    ClientRequest() = default;
    ClientRequest(Method method, std::string target, Buffer body = {})
        : method(nameOf(method)), target(std::move(target)), body(std::move(body)) {}

    std::string method = "GET";  // any token
    std::string target = "/";    // as sent in the request line: "/path?query", for CONNECT "host:port"
    bool keepAlive = true;       // false: ask the server to close after its response
    bool streamed = false;       // Content and LastContent follow; `body` is empty
    bool hasLength = false;      // if streamed: the body has contentLength bytes (otherwise it is chunked)
    std::uint64_t contentLength = 0;
    HeaderList headers;  // may contain Host, but not Content-Length, Transfer-Encoding or Connection (set by the codec)
    Buffer body;
};

}  // namespace weft::http
