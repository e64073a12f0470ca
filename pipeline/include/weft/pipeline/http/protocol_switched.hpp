// ProtocolSwitched: the connection has left HTTP/1.1 (RFC 9110, 7.8 and 9.3.6). Fired by both codecs.
#pragma once

#include <weft/pipeline/http/response.hpp>

namespace weft::http {

// User event: behind this request (with Upgrade, or CONNECT) and its response (101, or 2xx to CONNECT) the connection
// speaks another protocol. The codec passes everything as it is from now on; what came behind the head follows this
// event as a Buffer. Usual answer: replace the codec, and remove the HTTP handlers behind it. (H-7)
struct ProtocolSwitched {
    Ticket ticket = noTicket;
};

}  // namespace weft::http
