// How a codec learns that the application has let go of a request.
#pragma once

#include <memory>
#include <string>

#include <weft/pipeline/http/response.hpp>

namespace weft::http::detail {

// A message to the codec: this request has ended elsewhere, without a responder. It may have been answered all the
// same.
struct RequestDropped {
    Ticket ticket = noTicket;
    std::unique_ptr<std::string> untakenAfter = {};  // at the tail: the handler that passed it on last; null: elsewhere
};

}  // namespace weft::http::detail
