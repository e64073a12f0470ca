// RequestRefused: the server codec has answered a request itself. Fired by ServerCodec.
#pragma once

#include <string_view>

#include <weft/http/response.hpp>
#include <weft/http/status.hpp>

namespace weft::http {

// User event, after the answer has been given: a malformed request (400, 414, 431...), one that was too slow (408), or
// one that the application dropped (500) or did not take (404). For access logs and counters.
struct RequestRefused {
    Ticket ticket = noTicket;
    Status status = {};
    std::string_view reason;  // a constant text; "" for one that was dropped or not taken
};

}  // namespace weft::http
