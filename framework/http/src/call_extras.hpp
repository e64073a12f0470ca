// Call::Extras: what few functions use of their Call.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>

#include <weft/http/call.hpp>
#include <weft/http/query_parameters.hpp>

#include "body_stream.hpp"

namespace weft::http {

struct Call::Extras {
    std::optional<QueryParameters> query;  // parsed at first use
    weft::detail::AttributeMap attributes;
    std::string id;
    HeaderList headers;                          // of addHeader()
    std::unique_ptr<detail::BodyStream> stream;  // while the body is being written
    // For onServed(): what was thrown; the status and the bytes of the answer's body.
    std::exception_ptr error;
    std::uint64_t bytes = 0;
    Status status = {};
    bool cut = false;
};

}  // namespace weft::http
