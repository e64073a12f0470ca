// Served: an answer that a Service has given, for access logs and counters.
#pragma once

#include <cstdint>
#include <exception>
#include <string_view>

#include <weft/http/status.hpp>
#include <weft/pipeline/socket_address.hpp>
#include <weft/scheduler/deadline.hpp>

namespace weft::http {

// Valid during the call of Service::onServed().
struct Served {
    std::string_view method;  // as sent; "" for a request that the codec has answered: malformed, or too slow
    std::string_view target;  // as sent; "" as above
    std::string_view route;   // the pattern; "" when there is none
    std::string_view id;      // Call::id(); "" when no Call was made
    SocketAddress peer;
    Status status = {};
    std::uint64_t bytes = 0;   // of the answer's body, as given to the connection
    Duration time = {};        // from the end of the head to the end of the answer
    std::exception_ptr error;  // what the route's function or a middleware threw; null: nothing
    bool cut = false;  // no client got the answer, or its end: the client has gone, or a streamed answer was cut
};

}  // namespace weft::http
