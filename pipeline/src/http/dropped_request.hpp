// How a codec learns that the application has let go of a request.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <weft/pipeline/http/response.hpp>

namespace weft::http::detail {

// weft::detail::watchedDelivery is the RequestData that is being delivered. When its Request ends inside, on the same
// thread, it becomes this bit, with the context that took the request in the others.
inline constexpr std::uintptr_t endedInDelivery = 1;

// A message to the codec: this request has ended elsewhere, without a responder. It may have been answered all the
// same.
struct RequestDropped {
    Ticket ticket = noTicket;
    std::unique_ptr<std::string> untakenAfter = {};  // at the tail: the handler that passed it on last; null: elsewhere
};

}  // namespace weft::http::detail
