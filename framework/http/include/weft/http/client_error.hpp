// The errors of an http::Client's requests.
#pragma once

#include <string>
#include <type_traits>

#include <weft/http/status.hpp>
#include <weft/scheduler/errors.hpp>

namespace weft::http {

// Failures of the protocol. System failures have the kernel's codes (ECONNREFUSED, ETIMEDOUT for a deadline, ECANCELED
// when the fiber is cancelled or the carrier shuts down), failed look-ups those of resolverCategory().
enum class ClientFault {
    badResponse = 1,  // the bytes are not an HTTP/1 response, or the response contradicts itself
    headTooLarge,
    bodyTooLarge,
    endedEarly,  // the connection ended before the response did
    badStatus,   // not 2xx, where only the body was requested
};

const boost::system::error_category& clientCategory() noexcept;
inline ErrorCode make_error_code(ClientFault fault) noexcept {
    return {static_cast<int>(fault), clientCategory()};
}

// what(): "GET http://127.0.0.1:9000/fruits: cannot connect: Connection refused". code() is as above.
class ClientError : public SystemError {
  public:
    ClientError(ErrorCode code, const std::string& text, Status status) : SystemError(code, text), status_(status) {}

    // The status of the response; Status{} (0) when no complete head arrived.
    Status status() const noexcept { return status_; }

  private:
    Status status_;
};

}  // namespace weft::http

namespace boost::system {
template <>
struct is_error_code_enum<weft::http::ClientFault> : std::true_type {};
}  // namespace boost::system
