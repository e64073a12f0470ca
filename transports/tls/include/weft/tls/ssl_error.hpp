// SslError: why a TLS connection failed, as an ErrorCode.
#pragma once

#include <type_traits>

#include <weft/scheduler/errors.hpp>

namespace weft {

// Values of sslCategory(). The exceptions and exceptionCaught() carry the text of the TLS library, too, which names the
// certificate or the alert.
enum class SslError {
    truncated = 1,       // the input ended without a close_notify alert: bytes may be missing (an attack, or a crash)
    notTls,              // the peer's first bytes are no TLS record, such as plain HTTP
    unknownAuthority,    // no chain leads from the peer's certificate to a trusted one
    certificateExpired,  // of the peer, or of its chain
    certificateNotYetValid,  // "
    wrongName,               // the peer's certificate is for other names than the wanted one
    certificateRejected,     // another fault of the peer's certificate or its chain: revoked, wrong purpose, weak key
    certificateMissing,      // the peer must have a certificate and sent none
    nothingInCommon,         // no version, cipher or application protocol that both sides accept
    alertReceived,           // the peer ended the connection by an alert, which the text names
    protocolError,           // the peer broke the protocol, or bytes were changed on the way
    tooManyEmptyRecords,     // the peer sends records without data: key updates, tickets, padding
};

const boost::system::error_category& sslCategory() noexcept;

inline ErrorCode make_error_code(SslError error) noexcept {
    return {static_cast<int>(error), sslCategory()};
}

}  // namespace weft

template <>
struct boost::system::is_error_code_enum<weft::SslError> : std::true_type {};
