// How a request of http::get() fails.
#pragma once

#include <string>
#include <utility>

#include <weft/pipeline/http/status.hpp>
#include <weft/scheduler/errors.hpp>

namespace weft::http {

// Failures that are no system error; those come as the kernel's codes (ECONNREFUSED, ETIMEDOUT for a deadline,
// ECANCELED when the fiber is cancelled or the carrier shuts down).
enum class ClientFault {
    badResponse = 1,  // what came is not an HTTP/1 response, or one that contradicts itself
    headTooLarge,
    bodyTooLarge,
    endedEarly,  // the connection ended before the response did
    badStatus,   // not 2xx, where only the body was asked for
};

const boost::system::error_category& clientCategory() noexcept;
inline ErrorCode make_error_code(ClientFault fault) noexcept {
    return {static_cast<int>(fault), clientCategory()};
}

// what(): "GET http://127.0.0.1:9000/fruits: cannot connect: Connection refused"; code() says which of the two kinds.
class ClientError : public SystemError {
  public:
    ClientError(ErrorCode code, const std::string& text, Status status) : SystemError(code, text), status_(status) {}

    // What the backend answered; Status{} (0) when the answer never came.
    Status status() const noexcept { return status_; }

  private:
    Status status_;
};

}  // namespace weft::http

namespace boost::system {
template <>
struct is_error_code_enum<weft::http::ClientFault> : std::true_type {};
}  // namespace boost::system
