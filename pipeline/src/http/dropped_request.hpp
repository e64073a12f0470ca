// RequestDropped: tells a codec that the application has destroyed a request.
#pragma once

#include <memory>
#include <string>

#include <weft/pipeline/http/response.hpp>

namespace weft::http::detail {

// Message to the codec: the Request (at the tail, or outside of its delivery) or its Responder was destroyed. The
// request may have been answered nevertheless.
struct RequestDropped {
    Ticket ticket = noTicket;
    std::unique_ptr<std::string> untakenAfter = {};  // at the tail: the last handler that passed it on; null: elsewhere
};

}  // namespace weft::http::detail
