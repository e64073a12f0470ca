// ClientRequest: what a client asks, or the head of a streamed request. Written to a channel with a ClientCodec.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <weft/pipeline/buffer.hpp>
#include <weft/pipeline/http/header_list.hpp>
#include <weft/pipeline/http/method.hpp>

namespace weft::http {

struct ClientRequest {
    ClientRequest() = default;
    ClientRequest(Method itsMethod, std::string itsTarget, Buffer itsBody = {})
        : method(nameOf(itsMethod)), target(std::move(itsTarget)), body(std::move(itsBody)) {}

    std::string method = "GET";  // any token
    std::string target = "/";    // as it stands in the request line: "/path?query", for CONNECT "host:port"
    bool keepAlive = true;       // false: the server is asked to close behind its response
    bool streamed = false;       // Content and LastContent follow; `body` is empty
    bool hasLength = false;      // streamed: the body has contentLength bytes (else it is chunked)
    std::uint64_t contentLength = 0;
    HeaderList headers;  // Content-Length, Transfer-Encoding and Connection are the codec's; Host may be among them
    Buffer body;
};

}  // namespace weft::http
