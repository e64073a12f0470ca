// SslContext::State: libssl's context, and what its connections need of the options.
#pragma once

#include <string>
#include <vector>

#include <weft/tls/ssl_context.hpp>

#include "openssl_pointers.hpp"

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
    std::string protocols;  // ALPN, each behind its length

  private:
    void setProfile(SslProfile profile, const std::string& ciphers);
    void setCiphers(const std::string& names);
    void setCertificate(const PemSource& certificate, const PemSource& key, const std::string& password);
    void setTrust(const PemSource& trust);
    void setProtocols(const std::vector<std::string>& names);
    void setSessionId(ClientAuth clientAuth);
    std::string option(std::string_view member) const;
    [[noreturn]] void refuse(std::string_view member, const std::string& fault) const;

    std::string name_;    // of the options, for errors
    std::string policy_;  // what sessions depend on; empty once the context is built
};

}  // namespace weft
