// Why a request was refused: the status to answer with before the connection closes, and a text for the log.
// Produced by the request head parser and the body decoder. After a refusal no later byte of the connection is read
// as a request: the place where the next message starts is not known.
#pragma once

#include <string_view>

#include <weft/pipeline/http/status.hpp>

namespace weft::http {

struct Refusal {
    Status status = Status::badRequest;
    // A constant text that says what was wrong; never contains bytes of the peer.
    std::string_view reason;
};

}  // namespace weft::http
