// Refusal: why a message was refused, with the status to answer before the connection closes and a text for the log.
// Made by the head parsers and the body decoder. After a refusal the start of the next message is unknown, so no later
// byte of the connection is parsed.
#pragma once

#include <string_view>

#include <weft/http/status.hpp>

namespace weft::http {

struct Refusal {
    Status status = Status::badRequest;
    // A constant text; never contains bytes from the peer.
    std::string_view reason;
};

// The answer to plain HTTP on a port for TLS: SslServerOptions::plainAnswer.
inline constexpr std::string_view plainRequestAnswer =
    "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: 48\r\nConnection: close\r\n\r\n"
    "A plain HTTP request was sent to an HTTPS port.\n";

}  // namespace weft::http
