#include <weft/tls/ssl_error.hpp>

#include <string>

namespace weft {

namespace {

const char* textOf(SslError error) noexcept {
    switch (error) {
        case SslError::truncated: return "the TLS stream ended without close_notify: bytes may be missing";
        case SslError::notTls: return "the peer does not speak TLS";
        case SslError::unknownAuthority: return "the peer's certificate is not signed by a trusted authority";
        case SslError::certificateExpired: return "the peer's certificate has expired";
        case SslError::certificateNotYetValid: return "the peer's certificate is not valid yet";
        case SslError::wrongName: return "the peer's certificate is for another name";
        case SslError::certificateRejected: return "the peer's certificate is not acceptable";
        case SslError::certificateMissing: return "the peer sent no certificate";
        case SslError::nothingInCommon: return "no TLS version, cipher or application protocol in common with the peer";
        case SslError::alertReceived: return "the peer ended the TLS connection by an alert";
        case SslError::protocolError: return "the peer broke the TLS protocol";
        case SslError::tooManyEmptyRecords: return "the peer sent too many TLS records without data";
    }
    return "unknown TLS error";
}

// Boost's destructor is not virtual on purpose: a category lives for ever.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"
class SslCategory final : public boost::system::error_category {
  public:
    constexpr SslCategory() noexcept : error_category(0x7765'6674'0001u) {}  // equal in all copies of the library
    const char* name() const noexcept override { return "weft.tls"; }
    std::string message(int error) const override { return textOf(static_cast<SslError>(error)); }
};
#pragma GCC diagnostic pop

}  // namespace

const boost::system::error_category& sslCategory() noexcept {
    static const SslCategory category;
    return category;
}

}  // namespace weft
