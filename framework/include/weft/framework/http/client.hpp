// http::get(): an HTTP/1.1 request that blocks its fiber only; connections are kept alive per carrier.
#pragma once

#include <cstddef>
#include <string_view>

#include <weft/framework/http/client_error.hpp>
#include <weft/framework/http/client_response.hpp>
#include <weft/pipeline/socket_address.hpp>
#include <weft/scheduler/deadline.hpp>

namespace weft::http {

struct GetOptions {
    Deadline deadline = never;                     // of the whole call
    Duration timeout = std::chrono::seconds(30);   // the same, counted from the call; the earlier one counts
    std::size_t maxBodyBytes = 8 * 1024 * 1024;    // more is ClientFault::bodyTooLarge
    std::string_view host = {};                    // the Host header; empty: the backend's address
};

// Asks `backend` for `target` ("/fruits?ripe=1": printable ASCII without spaces, beginning with '/') on an idle
// connection of this carrier, else on a new one. An idle connection that turns out to be dead before a byte of the answer
// has come is replaced by a new one, once. Any status is an answer.
// Context: a fiber of a carrier with sockets (std::logic_error elsewhere). Blocks the fiber; throws
// BlockingOperationException where nothing may block, std::invalid_argument for a target or host out of range.
// Failures: ClientError, or with `error` its code and an empty response.
ClientResponse get(const SocketAddress& backend, std::string_view target, const GetOptions& options = {});
ClientResponse get(const SocketAddress& backend, std::string_view target, const GetOptions& options, ErrorCode& error);

}  // namespace weft::http
