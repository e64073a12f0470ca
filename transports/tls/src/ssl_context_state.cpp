#include "ssl_context_state.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <new>
#include <string_view>

#include <openssl/err.h>

#include <weft/tls/ssl_engine.hpp>

#include "certificates.hpp"
#include "error_queue.hpp"

namespace weft {

namespace {

using detail::clearErrors;
using detail::takeErrors;

// Mozilla's intermediate list without DHE: libssl would ignore those names unless it were given parameters.
constexpr const char* intermediateCiphers =
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:"
    "ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305";
constexpr const char* groups = "X25519:prime256v1:secp384r1";

detail::SslContextPointer newContext(bool server) {
    clearErrors();
    detail::SslContextPointer context(::SSL_CTX_new(server ? ::TLS_server_method() : ::TLS_client_method()));
    if (!context) throw std::bad_alloc();
    return context;
}

// libssl ignores unknown names beside a good one, so each is tried alone.
bool isCipher(const std::string& name) {
    const detail::SslContextPointer context = newContext(true);
    const bool known = ::SSL_CTX_set_cipher_list(context.get(), name.c_str()) == 1;
    clearErrors();
    if (!known) return false;
    STACK_OF(SSL_CIPHER)* const ciphers = ::SSL_CTX_get_ciphers(context.get());
    for (int i = 0; i < sk_SSL_CIPHER_num(ciphers); ++i) {
        const ::SSL_CIPHER* const each = sk_SSL_CIPHER_value(ciphers, i);
        if (name == ::SSL_CIPHER_get_name(each))
            return ::SSL_CIPHER_get_auth_nid(each) != NID_auth_null && ::SSL_CIPHER_get_bits(each, nullptr) >= 112;
    }
    return false;
}

// The server's first protocol that the client offers, too. RFC 7301, section 3.2: if there is none, an alert.
int selectProtocol(::SSL*, const unsigned char** chosen, unsigned char* size, const unsigned char* offered,
                   unsigned int offeredBytes, void* given) noexcept {
    const std::string& protocols = *static_cast<const std::string*>(given);
    unsigned char* found = nullptr;
    const int result = ::SSL_select_next_proto(&found, size, reinterpret_cast<const unsigned char*>(protocols.data()),
                                               static_cast<unsigned int>(protocols.size()), offered, offeredBytes);
    *chosen = found;
    return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

}  // namespace

SslContext::State::State(bool server, std::string optionsName)
    : context(newContext(server)), isServer(server), name_(std::move(optionsName)) {
    ::SSL_CTX* const made = context.get();
    ::SSL_CTX_set_options(made, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    ::SSL_CTX_set_mode(made,
                       SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_NO_AUTO_CHAIN);
    ::SSL_CTX_set_session_cache_mode(made, SSL_SESS_CACHE_OFF);  // tickets carry the sessions
    SSL_CTX_set_app_data(made, this);
    if (::SSL_CTX_set1_groups_list(made, groups) != 1) throw std::bad_alloc();
}

std::shared_ptr<const SslContext::State> SslContext::State::makeServer(const SslServerOptions& options) {
    auto state = std::make_shared<State>(true, "SslServerOptions");
    state->setProfile(options.profile, options.ciphers);
    state->setCertificate({options.certificate, options.key, options.keyPassword});
    state->setOtherCertificates(options.otherCertificates);
    state->setProtocols(options.applicationProtocols);
    if (options.clientAuth != ClientAuth::none) {
        state->setTrust(options.trust);
        state->setRevoked(options.revoked);
        const bool required = options.clientAuth == ClientAuth::required;
        ::SSL_CTX_set_verify(state->context.get(), SSL_VERIFY_PEER | (required ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0),
                             nullptr);
        state->verifiesPeer = true;
    } else if (options.trust.given() || options.revoked.given()) {
        state->refuse(options.trust.given() ? "trust" : "revoked",
                      "is for certificates of clients: set clientAuth, too");
    }
    state->setSessionId(options.clientAuth);
    state->setTickets(options);
    state->setNames(options.names);
    state->setHandshakes(options);
    state->setKeyLog(options.keyLogFile);
    return state;
}

std::shared_ptr<const SslContext::State> SslContext::State::makeClient(const SslClientOptions& options) {
    auto state = std::make_shared<State>(false, "SslClientOptions");
    state->setProfile(options.profile, options.ciphers);
    if (options.certificate.given() || options.key.given())
        state->setCertificate({options.certificate, options.key, options.keyPassword});
    state->setProtocols(options.applicationProtocols);
    state->setKeyLog(options.keyLogFile);
    if (options.resumesSessions) state->setSessions();
    if (options.insecureWithoutVerification) {
        if (options.trust.given() || options.revoked.given())
            state->refuse(options.trust.given() ? "trust" : "revoked",
                          "has no effect with insecureWithoutVerification: leave out one of them");
        return state;
    }
    state->setTrust(options.trust);
    state->setRevoked(options.revoked);
    ::SSL_CTX_set_verify(state->context.get(), SSL_VERIFY_PEER, nullptr);
    state->verifiesPeer = true;
    return state;
}

std::string SslContext::State::option(std::string_view member) const {
    return name_ + "::" + std::string(member);
}

void SslContext::State::refuse(std::string_view member, const std::string& fault) const {
    throw ConfigurationError(option(member) + ": " + fault);
}

// ---- versions and ciphers ----

void SslContext::State::setProfile(SslProfile profile, const std::string& ciphers) {
    const bool modern = profile == SslProfile::modern;
    if (::SSL_CTX_set_min_proto_version(context.get(), modern ? TLS1_3_VERSION : TLS1_2_VERSION) != 1)
        throw std::bad_alloc();
    if (modern && !ciphers.empty()) refuse("ciphers", "are those of TLS 1.2, which SslProfile::modern does not accept");
    if (!modern) setCiphers(ciphers.empty() ? intermediateCiphers : ciphers);
    addToPolicy("profile", modern ? "modern" : "intermediate");
    addToPolicy("ciphers", ciphers);
}

void SslContext::State::setCiphers(const std::string& names) {
    for (std::size_t at = 0; at <= names.size();) {
        const std::size_t end = std::min(names.find(':', at), names.size());
        const std::string name = names.substr(at, end - at);
        if (!isCipher(name)) {
            refuse("ciphers", "'" + name + "' in '" + names +
                                  "' is no cipher of TLS 1.2, or too weak; accepted: names of `openssl ciphers -s "
                                  "-tls1_2`, with ':' between");
        }
        at = end + 1;
    }
    clearErrors();
    if (::SSL_CTX_set_cipher_list(context.get(), names.c_str()) != 1)
        refuse("ciphers", "none of '" + names + "' is strong enough: " + takeErrors().text);
}

// ---- certificates ----

void SslContext::State::setCertificate(const SslCertificate& given, std::string_view memberPrefix) {
    const std::string prefix(memberPrefix);
    const detail::PemText pem = detail::readPem(given.certificate, option(prefix + "certificate"));
    const detail::PemText keyPem = detail::readPem(given.key, option(prefix + "key"));
    const std::vector<detail::CertificatePointer> chain = detail::certificatesIn(pem);
    const detail::KeyPointer own = detail::keyIn(keyPem, given.keyPassword);
    detail::checkChain(chain, pem, *own, keyPem);
    clearErrors();
    const bool accepted = ::SSL_CTX_use_certificate(context.get(), chain[0].get()) == 1;
    if (!accepted) throw ConfigurationError(pem.name + ": libssl does not accept it: " + takeErrors().text);
    for (std::size_t i = 1; i < chain.size(); ++i) {
        if (::SSL_CTX_add1_chain_cert(context.get(), chain[i].get()) != 1)
            throw ConfigurationError(pem.name + ": libssl does not accept certificate " + std::to_string(i + 1) + ": " +
                                     takeErrors().text);
    }
    if (::SSL_CTX_use_PrivateKey(context.get(), own.get()) != 1 || ::SSL_CTX_check_private_key(context.get()) != 1)
        throw ConfigurationError(keyPem.name + ": libssl does not accept it: " + takeErrors().text);
}

// libssl keeps one certificate for each kind of key, and would silently replace one by another.
void SslContext::State::setOtherCertificates(const std::vector<SslCertificate>& others) {
    std::vector<int> kinds{::EVP_PKEY_get_base_id(::SSL_CTX_get0_privatekey(context.get()))};
    for (std::size_t i = 0; i < others.size(); ++i) {
        const std::string prefix = "otherCertificates[" + std::to_string(i) + "].";
        setCertificate(others[i], prefix);
        kinds.push_back(::EVP_PKEY_get_base_id(::SSL_CTX_get0_privatekey(context.get())));
        if (std::find(kinds.begin(), kinds.end() - 1, kinds.back()) != kinds.end() - 1)
            refuse(prefix + "key", "is of the same kind as another one; accepted: one for each kind of key");
    }
}

void SslContext::State::setRevoked(const PemSource& revoked) {
    if (!revoked.given()) return;
    ::X509_STORE* const store = ::SSL_CTX_get_cert_store(context.get());
    const detail::PemText pem = detail::readPem(revoked, option("revoked"));
    addToPolicy("revoked", pem.text);
    for (const detail::CrlPointer& list : detail::revocationsIn(pem)) {
        clearErrors();
        if (::X509_STORE_add_crl(store, list.get()) != 1)
            throw ConfigurationError(pem.name + ": libssl does not accept it: " + takeErrors().text);
    }
    ::X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL);
}

void SslContext::State::setTrust(const PemSource& trust) {
    if (!trust.given()) {
        clearErrors();
        if (::SSL_CTX_set_default_verify_paths(context.get()) != 1)
            refuse("trust", "the system's authorities cannot be loaded: " + takeErrors().text);
        return;
    }
    const detail::PemText pem = detail::readPem(trust, option("trust"));
    addToPolicy("trust", pem.text);
    ::X509_STORE_set_flags(::SSL_CTX_get_cert_store(context.get()), X509_V_FLAG_PARTIAL_CHAIN);
    for (const detail::CertificatePointer& authority : detail::certificatesIn(pem)) {
        clearErrors();
        if (::X509_STORE_add_cert(::SSL_CTX_get_cert_store(context.get()), authority.get()) != 1)
            throw ConfigurationError(pem.name + ": libssl does not accept it: " + takeErrors().text);
        if (isServer && ::SSL_CTX_add_client_CA(context.get(), authority.get()) != 1) throw std::bad_alloc();
    }
}

// ---- protocols and sessions ----

void SslContext::State::setProtocols(const std::vector<std::string>& names) {
    for (const std::string& each : names) {
        if (each.empty() || each.size() > 255)
            refuse("applicationProtocols",
                   "'" + each + "' has " + std::to_string(each.size()) + " bytes; accepted: 1 to 255");
        protocols += static_cast<char>(each.size());
        protocols += each;
    }
    if (protocols.empty()) return;
    if (protocols.size() > 65'535) refuse("applicationProtocols", "are longer than 65,535 bytes together");
    const auto* const bytes = reinterpret_cast<const unsigned char*>(protocols.data());
    if (isServer) {
        ::SSL_CTX_set_alpn_select_cb(context.get(), &selectProtocol, &protocols);
    } else if (::SSL_CTX_set_alpn_protos(context.get(), bytes, static_cast<unsigned int>(protocols.size())) != 0) {
        throw std::bad_alloc();
    }
}

// Each with its length, so that no two policies are written alike.
void SslContext::State::addToPolicy(std::string_view kind, std::string_view value) {
    policy_ += std::string(kind) + " " + std::to_string(value.size()) + " ";
    policy_ += value;
}

// A session is resumed only where the certificates, the policy for clients and its authorities are those under which it
// was made.
void SslContext::State::setSessionId(ClientAuth clientAuth) {
    addToPolicy("clients", std::to_string(static_cast<int>(clientAuth)));
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned int size = 0;
    const auto view = [&] { return std::string_view(reinterpret_cast<const char*>(digest.data()), size); };
    for (long each = SSL_CERT_SET_FIRST; SSL_CTX_set_current_cert(context.get(), each) == 1; each = SSL_CERT_SET_NEXT) {
        if (::X509_digest(::SSL_CTX_get0_certificate(context.get()), ::EVP_sha256(), digest.data(), &size) != 1)
            throw std::bad_alloc();
        addToPolicy("certificate", view());
    }
    if (::EVP_Digest(policy_.data(), policy_.size(), digest.data(), &size, ::EVP_sha256(), nullptr) != 1)
        throw std::bad_alloc();
    sessionId_ = view();
    policy_.clear();
}

void SslContext::State::setTickets(const SslServerOptions& options) {
    constexpr unsigned mostTickets = 16;
    if (options.tickets > mostTickets)
        refuse("tickets", "is " + std::to_string(options.tickets) + "; accepted: 0 to " + std::to_string(mostTickets));
    if (options.tickets == 0) {
        if (!options.ticketKeyFile.empty()) refuse("ticketKeyFile", "has no effect without tickets");
        ::SSL_CTX_set_options(context.get(), SSL_OP_NO_TICKET);
    }
    ticketKeys_ = options.ticketKeyFile.empty()
                      ? detail::TicketKeys::ofProcess()
                      : detail::TicketKeys::fromFile(options.ticketKeyFile, option("ticketKeyFile"));
    if (::SSL_CTX_set_num_tickets(context.get(), options.tickets) != 1 ||
        ::SSL_CTX_set_tlsext_ticket_key_evp_cb(context.get(), &State::keyTicket) != 1 ||
        ::SSL_CTX_set_session_ticket_cb(context.get(), &State::stampTicket, &State::judgeTicket, nullptr) != 1) {
        throw std::bad_alloc();
    }
}

// In TLS 1.3 each resumption brings new tickets. Without the time of the full handshake in them, a client whose
// certificate has expired since would go on for ever (RFC 8446, section 4.6.1).
int SslContext::State::stampTicket(::SSL* ssl, void*) noexcept {
    ::SSL_SESSION* const session = ::SSL_get_session(ssl);
    void* before = nullptr;
    std::size_t size = 0;
    ::SSL_SESSION_get0_ticket_appdata(session, &before, &size);
    const std::int64_t now = std::time(nullptr);
    return size == sizeof now || ::SSL_SESSION_set1_ticket_appdata(session, &now, sizeof now) == 1 ? 1 : 0;
}

::SSL_TICKET_RETURN SslContext::State::judgeTicket(::SSL*, ::SSL_SESSION* session, const unsigned char*, std::size_t,
                                                   ::SSL_TICKET_STATUS status, void*) noexcept {
    constexpr std::int64_t mostSeconds = 24 * 60 * 60;
    if (status != SSL_TICKET_SUCCESS && status != SSL_TICKET_SUCCESS_RENEW) return SSL_TICKET_RETURN_IGNORE_RENEW;
    void* stamp = nullptr;
    std::size_t size = 0;
    std::int64_t since = 0;
    ::SSL_SESSION_get0_ticket_appdata(session, &stamp, &size);
    if (size == sizeof since) std::memcpy(&since, stamp, sizeof since);
    const bool old = std::time(nullptr) - since > mostSeconds;
    if (old || detail::peerHasExpired(*session)) return SSL_TICKET_RETURN_IGNORE_RENEW;
    return status == SSL_TICKET_SUCCESS ? SSL_TICKET_RETURN_USE : SSL_TICKET_RETURN_USE_RENEW;
}

int SslContext::State::keyTicket(::SSL* ssl, unsigned char* name, unsigned char* iv, ::EVP_CIPHER_CTX* cipher,
                                 ::EVP_MAC_CTX* mac, int seals) noexcept {
    detail::TicketKeys& keys = *of(ssl).ticketKeys_;
    return seals != 0 ? keys.seal(*ssl, name, iv, cipher, mac) : keys.open(*ssl, name, iv, cipher, mac);
}

void SslContext::State::setSessions() {
    sessions = std::make_unique<detail::ClientSessions>();
    ::SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    ::SSL_CTX_sess_set_new_cb(context.get(), &State::keepSession);
}

// 1: the reference to the session is ours; 0: it is not.
int SslContext::State::keepSession(::SSL* ssl, ::SSL_SESSION* session) noexcept {
    if (!detail::ClientSessions::isSmall(*ssl, *session)) return 0;
    const auto* const engine = static_cast<const SslEngine*>(SSL_get_app_data(ssl));
    of(ssl).sessions->add(engine->serverName_, detail::SessionPointer(session));
    return 1;
}

void SslContext::State::setHandshakes(const SslServerOptions& options) {
    if (options.mostHandshakes == 0) refuse("mostHandshakes", "is 0; accepted: 1 or more");
    mostHandshakes = options.mostHandshakes;
    lookup = options.lookup;
    plainAnswer = options.plainAnswer;
}

void SslContext::State::setKeyLog(const std::string& file) {
    if (file.empty()) return;
    keyLog_ = std::make_unique<detail::KeyLog>(file, option("keyLogFile"));
    ::SSL_CTX_set_keylog_callback(context.get(), &State::logKey);
}

void SslContext::State::logKey(const ::SSL* ssl, const char* line) noexcept {
    of(ssl).keyLog_->write(line);
}

const SslContext::State& SslContext::State::of(const ::SSL* ssl) noexcept {
    return *static_cast<const State*>(SSL_CTX_get_app_data(::SSL_get_SSL_CTX(ssl)));
}

}  // namespace weft
