// SslContext: the certificates, authorities and rules that the TLS connections of a server or of clients share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <weft/scheduler/errors.hpp>

namespace weft {

class SslEngine;
class StreamSecurity;
struct SslServerOptions;
struct SslClientOptions;

// Immutable; a copy is another owner of the same context, which lives until the last owner and the last connection have
// gone. Context: any thread. server() and client() read files, so they block; ConfigurationError names the file, the
// fault and what to do. Copying never throws.
class SslContext {
  public:
    static SslContext server(const SslServerOptions& options);
    static SslContext client(const SslClientOptions& options);
    static SslContext client();  // with default options

    bool isServer() const noexcept;
    // A client's context makes the connections of an http::Client secure: ClientOptions::tls. Throws
    // std::invalid_argument for a server's.
    operator std::shared_ptr<const StreamSecurity>() const;

  private:
    friend class SslEngine;
    struct State;

    explicit SslContext(std::shared_ptr<const State> state) noexcept : state_(std::move(state)) {}

    std::shared_ptr<const State> state_;
};

// PEM data: the name of a file, which is read once, or the text itself.
class PemSource {
  public:
    PemSource() = default;  // none
    PemSource(std::string file) : value_(std::move(file)), kind_(Kind::file) {}
    PemSource(const char* file) : PemSource(file != nullptr ? std::string(file) : std::string()) {}
    static PemSource text(std::string pem) {
        PemSource source(std::move(pem));
        source.kind_ = Kind::text;
        return source;
    }

    bool given() const noexcept { return kind_ != Kind::none; }
    bool isFile() const noexcept { return kind_ == Kind::file; }
    const std::string& value() const noexcept { return value_; }

  private:
    enum class Kind : std::uint8_t { none, file, text };

    std::string value_;
    Kind kind_ = Kind::none;
};

// Whether a server asks its clients for a certificate.
enum class ClientAuth : std::uint8_t {
    none,
    optional,  // a client without a certificate is accepted, one with a bad certificate is not
    required,
};

// Mozilla's recommendations of version 5.7 (https://wiki.mozilla.org/Security/Server_Side_TLS).
enum class SslProfile : std::uint8_t {
    intermediate,  // TLS 1.2 and 1.3. Without its three finite-field (DHE) ciphers, which no current client needs
    modern,        // TLS 1.3 only
};

struct SslCertificate {
    PemSource certificate = {};    // one's own, then the intermediate ones, each of which has signed the one before it
    PemSource key = {};            // its private key: RSA of 2,048 bits or more, ECDSA, Ed25519
    std::string keyPassword = {};  // of an encrypted key
};

// The context for a server's name, in lower case and without a dot at its end; or none.
using SslContextLookup = std::function<std::optional<SslContext>(const std::string& name)>;

struct SslServerOptions {
    PemSource certificate = {};  // as in SslCertificate
    PemSource key = {};
    std::string keyPassword = {};
    // With keys of other kinds, such as RSA beside ECDSA: a client gets one that it can verify.
    std::vector<SslCertificate> otherCertificates = {};
    // The contexts for the names that clients ask for (SNI): "shop.test", or "*.shop.test" for one more label in front.
    // Those that ask for no name, or for another one, get this context. All rules are the chosen context's. A client
    // may ask for one name here and for another in its request: compare that with SslSession::serverName().
    std::vector<std::pair<std::string, SslContext>> names = {};
    // Called for a name that is not among `names`; without a result the client gets this context. Runs in a fiber of
    // the connection's carrier and may block, within the handshake's timeout, and in several fibers at once. What it
    // throws ends the handshake. Of the context that it returns, `names` and `lookup` are not used.
    SslContextLookup lookup = {};
    ClientAuth clientAuth = ClientAuth::none;
    PemSource trust = {};  // the authorities that sign the certificates of clients; default: the system's
    // Lists (CRLs): a certificate that is on one is refused, and so is one of whose chain an authority, the highest one
    // included, has no list, or an old one. Default: nothing is asked.
    PemSource revoked = {};
    std::vector<std::string> applicationProtocols = {};  // ALPN, the preferred one first; empty: ALPN is not used
    SslProfile profile = SslProfile::intermediate;
    std::string ciphers = {};  // of TLS 1.2, OpenSSL's names with ':' between; default: the profile's. Not with modern
    // Sent to a client of TLS 1.3, which may resume the session once with each, for two hours, and for a day in all,
    // unless its certificate ends before. 0 to 16; 0: sessions are not resumed, in TLS 1.2, too. A session is resumed
    // for the name, certificate and rules with which it began only.
    unsigned tickets = 2;
    // Keys of tickets, for servers that resume each other's sessions: 80 random bytes each (`openssl rand 80`), at most
    // 16. The first one encrypts. To change keys, make a context anew. Default: random ones, which all contexts of the
    // process share and which change every hour.
    std::string ticketKeyFile = {};
    // Sent as it is to a peer whose first bytes are no TLS, before the connection ends: see http::plainRequestAnswer.
    std::string plainAnswer = {};
    // At the same time on a carrier, those of other contexts included: 77 KiB each, so 316 MB. Further ones wait until
    // one ends, within their timeouts. 1 or more.
    unsigned mostHandshakes = 4'096;
    // For Wireshark: the secrets of each connection, in the format of NSS, are appended to this file. With it, all
    // connections can be read. No environment variable does this.
    std::string keyLogFile = {};
};

struct SslClientOptions {
    PemSource trust = {};        // the authorities that sign the certificates of servers; default: the system's
    PemSource revoked = {};      // as SslServerOptions::revoked
    PemSource certificate = {};  // the client's own, for servers that ask for one
    PemSource key = {};
    std::string keyPassword = {};
    std::vector<std::string> applicationProtocols = {};
    SslProfile profile = SslProfile::intermediate;
    std::string ciphers = {};
    // Accepts any certificate of any server: an attacker on the path can read and change all bytes.
    bool insecureWithoutVerification = false;
    // Sessions are kept by the name of a server, the newest 8 of each and 1,024 in all, and resumed by later
    // connections of this context.
    bool resumesSessions = true;
    std::string keyLogFile = {};  // as SslServerOptions::keyLogFile
};

}  // namespace weft
