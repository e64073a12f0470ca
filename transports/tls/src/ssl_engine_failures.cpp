// Why a connection of an SslEngine has failed: libssl's reasons, and the verdicts on certificates, as ErrorCodes.
#include <weft/tls/ssl_engine.hpp>

#include <cerrno>
#include <new>
#include <string>
#include <utility>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "error_queue.hpp"

namespace weft {

using detail::clearErrors;

// By libssl's errors, which are those of the call that just ended, on this thread.
void SslEngine::fail() noexcept {
    if (bio_.ranOutOfMemory()) return fail(fromErrno(ENOMEM));
    bio_.clear();
    try {
        detail::Errors errors = detail::takeErrors();
        if (errors.reason == SSL_R_CERTIFICATE_VERIFY_FAILED)
            errors.text += std::string(": ") + ::X509_verify_cert_error_string(::SSL_get_verify_result(ssl_));
        failure_ = new Failure{causeOf(errors.reason), std::move(errors.text)};
    } catch (const std::bad_alloc&) {
        failure_ = &Failure::noMemory();
    }
    clearErrors();
}

void SslEngine::fail(ErrorCode error, std::string text) noexcept {
    bio_.clear();
    clearErrors();
    failure_ = new (std::nothrow) Failure{error, std::move(text)};
    if (failure_ == nullptr) failure_ = &Failure::noMemory();
}

const SslEngine::Failure& SslEngine::Failure::noMemory() noexcept {
    static const Failure failure{fromErrno(ENOMEM), {}};
    return failure;
}

ErrorCode SslEngine::error() const noexcept {
    return failure_ != nullptr ? failure_->error : ErrorCode();
}

std::string_view SslEngine::errorText() const noexcept {
    return failure_ != nullptr ? failure_->text : std::string_view();
}

namespace {

SslError rejection(long verdict) noexcept {
    switch (verdict) {
        case X509_V_ERR_HOSTNAME_MISMATCH:
        case X509_V_ERR_IP_ADDRESS_MISMATCH: return SslError::wrongName;
        case X509_V_ERR_CERT_HAS_EXPIRED: return SslError::certificateExpired;
        case X509_V_ERR_CERT_NOT_YET_VALID: return SslError::certificateNotYetValid;
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
        case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
        case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
        case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN: return SslError::unknownAuthority;
        default: return SslError::certificateRejected;
    }
}

}  // namespace

ErrorCode SslEngine::causeOf(int reason) const noexcept {
    if (reason >= SSL_AD_REASON_OFFSET && reason < SSL_AD_REASON_OFFSET + 256) return SslError::alertReceived;
    switch (reason) {
        case SSL_R_UNEXPECTED_EOF_WHILE_READING: return SslError::truncated;
        case SSL_R_CERTIFICATE_VERIFY_FAILED: return rejection(::SSL_get_verify_result(ssl_));
        case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE: return SslError::certificateMissing;
        case SSL_R_HTTP_REQUEST:
        case SSL_R_HTTPS_PROXY_REQUEST: return SslError::notTls;
        case SSL_R_WRONG_VERSION_NUMBER: return established_ ? SslError::protocolError : SslError::notTls;
        case SSL_R_NO_SHARED_CIPHER:
        case SSL_R_NO_SHARED_GROUPS:
        case SSL_R_UNSUPPORTED_PROTOCOL:
        case SSL_R_NO_PROTOCOLS_AVAILABLE:
        case SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM:
        case SSL_R_NO_APPLICATION_PROTOCOL: return SslError::nothingInCommon;
        case ERR_R_MALLOC_FAILURE: return fromErrno(ENOMEM);
        default: return SslError::protocolError;
    }
}

}  // namespace weft
