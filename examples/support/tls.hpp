// The TLS port of an example server: its flags, and a certificate that SIGHUP reads again. Without weft::tls there are
// no such flags.
#pragma once

#include <csignal>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "support/program.hpp"

#ifdef EXAMPLES_TLS
#include <weft/tls.hpp>
#endif

namespace examples {

using FillPipeline = std::function<void(weft::Channel&)>;

#ifdef EXAMPLES_TLS

struct TlsFlags {
    std::optional<weft::SocketAddress> listen;
    std::string certificate;
    std::string key;

    explicit TlsFlags(CLI::App& app) {
        CLI::Option* const port = addAddress(app, "--tls-listen", listen, "address to listen on for TLS, besides");
        CLI::Option* const chain =
            app.add_option("--tls-cert", certificate, "file with the certificate, then its chain");
        CLI::Option* const secret = app.add_option("--tls-key", key, "file with the certificate's private key");
        port->needs(chain, secret);
        chain->needs(port)->type_name("PATH");
        secret->needs(port)->type_name("PATH");
    }
};

// Serves the same pipeline behind TLS. SIGHUP reads the files again: new connections get the new certificate; if a file
// is wrong, the log says why, and the old one stays.
class TlsPort {
  public:
    TlsPort(const TlsFlags& flags, weft::EventLoopGroup& group, FillPipeline fill) : flags_(flags), bootstrap_(group) {
        if (!flags_.listen) return;
        tls_.emplace(read());
        reload_.emplace(SIGHUP, [this] { tls_->exchange(read()); });
        bootstrap_.childHandler([source = *tls_, fill = std::move(fill)](weft::Channel& channel) {
            channel.pipeline().addLast<weft::SslHandler>(source);
            fill(channel);
        });
    }

    void bind() {
        if (!flags_.listen) return;
        const weft::Server server = bootstrap_.bind(*flags_.listen).sync().channel();
        std::cout << "listening on " << server.localAddress() << " for TLS" << std::endl;
    }

  private:
    weft::SslContext read() const {
        weft::SslServerOptions options;
        options.certificate = flags_.certificate;
        options.key = flags_.key;
        options.applicationProtocols = {"http/1.1"};
        options.plainAnswer = weft::http::plainRequestAnswer;
        return weft::SslContext::server(options);
    }

    const TlsFlags flags_;
    weft::ServerBootstrap bootstrap_;
    std::optional<weft::SslContextSource> tls_;
    std::optional<weft::OnSignal> reload_;
};

// For a client: trusts the authorities in this file.
inline std::shared_ptr<const weft::StreamSecurity> trusting(const std::string& authorities) {
    weft::SslClientOptions options;
    options.trust = authorities;
    return weft::SslContext::client(options);
}

#else

struct TlsFlags {
    explicit TlsFlags(CLI::App&) {}
};

struct TlsPort {
    TlsPort(const TlsFlags&, weft::EventLoopGroup&, const FillPipeline&) {}
    void bind() {}
};

inline std::shared_ptr<const weft::StreamSecurity> trusting(const std::string&) {
    throw weft::ConfigurationError("this program was built without TLS (WEFT_TLS=OFF)");
}

#endif

}  // namespace examples
