// How http::Client gets TLS without knowing it.
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <weft/tls/ssl_context.hpp>
#include <weft/tls/ssl_context_source.hpp>
#include <weft/tls/tls_stream.hpp>
#include <weft/transports/stream_security.hpp>

namespace weft {

namespace {

// A zone is meaningful on this machine only, and no part of a certificate.
std::string withoutZone(const std::string& name) {
    return name.substr(0, name.find('%'));
}

class TlsSecurity final : public StreamSecurity {
  public:
    explicit TlsSecurity(SslContextSource source) : source_(std::move(source)) {
        if (source_.context().isServer())
            throw std::invalid_argument("a server's SslContext cannot secure a client's streams");
    }

    SecuredStream secure(TcpStream stream, const std::string& serverName, Deadline deadline) const override {
        stream.setDeadline(deadline);
        TlsStream secured(std::move(stream), source_, withoutZone(serverName));
        SecuredStream result;
        secured.handshake(result.error);
        if (result.error) {
            result.text = secured.errorText();
        } else {
            result.applicationProtocol = secured.session().applicationProtocol();
            result.stream = std::move(secured);
        }
        return result;
    }

  private:
    const SslContextSource source_;
};

}  // namespace

SslContext::operator std::shared_ptr<const StreamSecurity>() const {
    return std::make_shared<const TlsSecurity>(SslContextSource(*this));
}

SslContextSource::operator std::shared_ptr<const StreamSecurity>() const {
    return std::make_shared<const TlsSecurity>(*this);
}

}  // namespace weft

// The weak symbol of linkedStreamSecurity(). Whoever links weft::tls tells the linker that it is wanted.
extern "C" const std::shared_ptr<const weft::StreamSecurity>* weft_linked_stream_security() {
    static const std::shared_ptr<const weft::StreamSecurity> trustsTheSystem = weft::SslContext::client();
    return &trustsTheSystem;
}
