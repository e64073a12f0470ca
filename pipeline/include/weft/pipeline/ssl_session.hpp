// SslSession: what a TLS connection has negotiated. PeerCertificate: who the other side is.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft {

// A copy, independent of the connection.
class PeerCertificate {
  public:
    struct Facts {
        std::string subject;
        std::string issuer;
        std::vector<std::string> names;
        std::string fingerprint;
        std::chrono::system_clock::time_point validFrom;
        std::chrono::system_clock::time_point validUntil;
        std::vector<std::string> chain;
    };
    explicit PeerCertificate(Facts facts) noexcept : facts_(std::move(facts)) {}

    // On one line: "CN = example.com, O = Example".
    const std::string& subject() const noexcept { return facts_.subject; }
    const std::string& issuer() const noexcept { return facts_.issuer; }
    // The alternative names: "DNS:example.com", "IP:127.0.0.1", "email:me@example.com", "URI:spiffe://a/b". Others, and
    // those with a zero byte inside, are left out.
    const std::vector<std::string>& names() const noexcept { return facts_.names; }
    // SHA-256 of the whole certificate, 64 hexadecimal digits.
    const std::string& fingerprint() const noexcept { return facts_.fingerprint; }
    std::chrono::system_clock::time_point validFrom() const noexcept { return facts_.validFrom; }
    std::chrono::system_clock::time_point validUntil() const noexcept { return facts_.validUntil; }
    // In PEM: this certificate, then the verified ones up to the authority. Of a resumed session, and of one that was
    // not verified, this certificate only.
    const std::vector<std::string>& chain() const noexcept { return facts_.chain; }

  private:
    Facts facts_;
};

// All is empty before the handshake is done. Context: the connection's. Lifetime: the connection's.
class SslSession {
  public:
    virtual ~SslSession() = default;

    // "TLSv1.3"
    virtual std::string_view protocol() const noexcept = 0;
    // "TLS_AES_128_GCM_SHA256"
    virtual std::string_view cipher() const noexcept = 0;
    // By ALPN; empty: none.
    virtual std::string_view applicationProtocol() const noexcept = 0;
    // The name for which the client asked (SNI); empty: none.
    virtual std::string_view serverName() const noexcept = 0;
    virtual bool isResumed() const noexcept = 0;
    // Empty: the peer has sent none. It has been verified, unless the context of a client verifies nothing. Copies, so
    // keep it. Throws std::bad_alloc.
    virtual std::optional<PeerCertificate> peerCertificate() const = 0;
};

}  // namespace weft
