// SslContext::State: libssl's context, and what its connections need of the options.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <weft/tls/ssl_context.hpp>

#include "client_sessions.hpp"
#include "key_log.hpp"
#include "openssl_pointers.hpp"
#include "ticket_keys.hpp"

namespace weft {

// Built by SslContext::server() and client(), immutable from then on.
struct SslContext::State {
    // Throws ConfigurationError.
    static std::shared_ptr<const State> makeServer(const SslServerOptions& options);
    static std::shared_ptr<const State> makeClient(const SslClientOptions& options);

    State(bool server, std::string optionsName);
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    detail::SslContextPointer context;
    bool isServer;
    bool verifiesPeer = false;
    std::string protocols;                             // ALPN, each behind its length
    std::unique_ptr<detail::ClientSessions> sessions;  // of a client that resumes
    SslContextLookup lookup;                           // of a server; may be empty
    std::string plainAnswer;
    unsigned mostHandshakes = 0;  // 0: a client

  private:
    using SharedState = std::shared_ptr<const State>;

    void setProfile(SslProfile profile, const std::string& ciphers);
    void setCiphers(const std::string& names);
    void setCertificate(const SslCertificate& own, std::string_view memberPrefix = {});
    void setOtherCertificates(const std::vector<SslCertificate>& others);
    void setTrust(const PemSource& trust);
    void setRevoked(const PemSource& revoked);
    void setProtocols(const std::vector<std::string>& names);
    void setNames(const std::vector<std::pair<std::string, SslContext>>& names);
    void setTickets(const SslServerOptions& options);
    void setSessionId(ClientAuth clientAuth);
    void setSessions();
    void setHandshakes(const SslServerOptions& options);
    void setKeyLog(const std::string& file);
    std::string option(std::string_view member) const;
    [[noreturn]] void refuse(std::string_view member, const std::string& fault) const;

    // libssl's calls.
    static int onHello(::SSL* ssl, int* alert, void*) noexcept;
    static int keyTicket(::SSL* ssl, unsigned char* name, unsigned char* iv, ::EVP_CIPHER_CTX* cipher,
                         ::EVP_MAC_CTX* mac, int seals) noexcept;
    static int stampTicket(::SSL* ssl, void*) noexcept;
    static ::SSL_TICKET_RETURN judgeTicket(::SSL* ssl, ::SSL_SESSION* session, const unsigned char*, std::size_t,
                                           ::SSL_TICKET_STATUS status, void*) noexcept;
    static int keepSession(::SSL* ssl, ::SSL_SESSION* session) noexcept;
    static void logKey(const ::SSL* ssl, const char* line) noexcept;

    static const State& of(const ::SSL* ssl) noexcept;
    static int answerHello(::SSL& ssl, SslEngine& engine, int* alert);
    SharedState contextFor(const std::string& name) const;
    bool enter(::SSL& ssl) const noexcept;
    bool setSessionId(::SSL& ssl, const std::string& name) const;
    void addToPolicy(std::string_view kind, std::string_view value);

    std::string name_;                                       // of the options, for errors
    std::string policy_;                                     // what sessions depend on; empty once the context is built
    std::string sessionId_;                                  // a digest of the policy
    std::map<std::string, SharedState, std::less<>> names_;  // "*.shop.test" for wildcards
    std::shared_ptr<detail::TicketKeys> ticketKeys_;
    std::unique_ptr<detail::KeyLog> keyLog_;
};

}  // namespace weft
