// ProtocolSwitched: the connection has left HTTP/1.1 (RFC 9110, 7.8 and 9.3.6). Fired by both codecs.
#pragma once

#include <weft/http/response.hpp>

namespace weft::http {

// User event: after this request (Upgrade or CONNECT) and its response (101, or 2xx to CONNECT) the connection uses
// another protocol. From now on the codec passes everything on unchanged; bytes that arrived after the head follow this
// event as a Buffer. Handlers usually replace the codec with their own and remove the HTTP handlers after it (H-7:
// leftover bytes reach the replacement).
struct ProtocolSwitched {
    Ticket ticket = noTicket;
};

}  // namespace weft::http
