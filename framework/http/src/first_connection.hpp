// connectToFirst(): connects a fiber to the first of several addresses that accepts (Happy Eyeballs,
// RFC 8305, section 5). ConnectAttempts does the same for channels.
#pragma once

#include <string>

#include <weft/framework/resolver.hpp>
#include <weft/scheduler/deadline.hpp>
#include <weft/scheduler/errors.hpp>
#include <weft/transports/tcp_stream.hpp>

namespace weft::http {

struct FirstConnection {
    TcpStream stream;
    ErrorCode error;       // that of the attempt that failed last; operation_aborted: the fiber or its carrier ends
    std::string refusals;  // "address (why), address (why)", in the order in which they failed
};

// Begins with the first address. The next attempt begins once one has failed, or after attemptDelay, beside those that
// run; the first that connects ends the others. Each has `time`, and all of them end by `deadline`. Attempts at several
// addresses run in fibers of the caller's carrier. `addresses`: not empty, in the order to try. Blocks the fiber.
// Throws std::logic_error when the carrier's poller has no sockets, std::bad_alloc.
FirstConnection connectToFirst(const Resolver::Addresses& addresses, Duration time, Deadline deadline);

}  // namespace weft::http
