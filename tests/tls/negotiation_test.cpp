// SslEngine: which names and certificates are accepted, and what two sides negotiate.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tls/engine_pair.hpp"
#include "tls/libssl_peer.hpp"

namespace weft::test {
namespace {

ErrorCode clientsError(const SslContext& server, const SslClientOptions& options, std::string_view name) {
    EnginePair pair(server, SslContext::client(options), name);
    pair.run();
    EXPECT_EQ(pair.client.engine.failed(), !pair.client.engine.handshakeDone());
    if (pair.client.engine.failed()) {
        EXPECT_EQ(pair.server.engine.error(), SslError::alertReceived) << "the client says why it leaves";
    }
    return pair.client.engine.error();
}

TEST(SslNegotiation, AClientVerifiesNamesAndAddresses) {
    const Identity identity = testAuthority().issue(
        {.subject = "only.the.subject", .names = "DNS:a.example,DNS:*.w.example,IP:127.0.0.1,IP:::1"});
    const SslContext server = SslContext::server(serverOptions(identity));
    for (const char* const name : {"a.example", "A.EXAMPLE", "a.example.", "x.w.example", "127.0.0.1", "::1"})
        EXPECT_FALSE(clientsError(server, clientOptions(), name)) << name;
    for (const char* const name :
         {"b.example", "example", "w.example", "x.y.w.example", "only.the.subject", "127.0.0.2", "::2"})
        EXPECT_EQ(clientsError(server, clientOptions(), name), SslError::wrongName) << name;
}

TEST(SslNegotiation, ACertificateWithoutAlternativeNamesHasNone) {
    const SslContext server =
        SslContext::server(serverOptions(testAuthority().issue({.subject = "localhost", .names = ""})));
    EXPECT_EQ(clientsError(server, clientOptions(), "localhost"), SslError::wrongName);
}

TEST(SslNegotiation, ACertificateOfAnUnknownAuthorityIsRefused) {
    const Authority other("Another CA");
    EXPECT_EQ(clientsError(SslContext::server(serverOptions(other.issue())), clientOptions(), "localhost"),
              SslError::unknownAuthority);
    const Identity own = Authority::selfSigned({});
    EXPECT_EQ(clientsError(SslContext::server(serverOptions(own)), clientOptions(), "localhost"),
              SslError::unknownAuthority);
    EXPECT_EQ(clientsError(SslContext::server(serverOptions()), {}, "localhost"), SslError::unknownAuthority)
        << "the system's authorities";
}

TEST(SslNegotiation, AChainOfAuthoritiesIsSentAndVerified) {
    const Authority between("Intermediate CA", testAuthority());
    Identity identity = between.issue();
    EXPECT_EQ(clientsError(SslContext::server(serverOptions(identity)), clientOptions(), "localhost"),
              SslError::unknownAuthority);
    identity.certificate += between.certificate();
    EXPECT_FALSE(clientsError(SslContext::server(serverOptions(identity)), clientOptions(), "localhost"));
}

TEST(SslNegotiation, AnInsecureClientAcceptsEverything) {
    SslClientOptions options;
    options.insecureWithoutVerification = true;
    const SslContext server = SslContext::server(serverOptions(Authority::selfSigned({})));
    EXPECT_FALSE(clientsError(server, options, "another.example"));
    EXPECT_FALSE(clientsError(server, options, ""));
}

TEST(SslNegotiation, AClientThatVerifiesNeedsAName) {
    const SslContext client = SslContext::client(clientOptions());
    for (const std::string& name : {std::string(), std::string("."), std::string(254, 'a'), std::string(".example.com"),
                                    std::string("a\0.example", 10)})
        EXPECT_THROW(SslEngine(client, name), std::invalid_argument) << name;
}

TEST(SslNegotiation, OnlyNamesAreSentToTheServer) {
    EnginePair pair(SslContext::server(serverOptions()), SslContext::client(clientOptions()), "127.0.0.1");
    pair.run();
    ASSERT_TRUE(pair.server.engine.handshakeDone());
    EXPECT_EQ(pair.server.engine.serverName(), "");
}

TEST(SslNegotiation, CertificatesOfClients) {
    const Identity own = testAuthority().issue({.subject = "a client", .names = ""});
    const Identity foreign = Authority("Another CA").issue({.subject = "a client", .names = ""});
    const auto serversError = [](ClientAuth clientAuth, const Identity* identity) {
        SslServerOptions options = serverOptions();
        options.clientAuth = clientAuth;
        if (clientAuth != ClientAuth::none) options.trust = PemSource::text(testAuthority().certificate());
        SslClientOptions asks = clientOptions();
        if (identity != nullptr) {
            asks.certificate = PemSource::text(identity->certificate);
            asks.key = PemSource::text(identity->key);
        }
        EnginePair pair(SslContext::server(options), SslContext::client(asks));
        pair.run();
        return pair.server.engine.error();
    };
    EXPECT_FALSE(serversError(ClientAuth::none, nullptr));
    EXPECT_FALSE(serversError(ClientAuth::none, &own));
    EXPECT_FALSE(serversError(ClientAuth::optional, nullptr));
    EXPECT_FALSE(serversError(ClientAuth::optional, &own));
    EXPECT_EQ(serversError(ClientAuth::optional, &foreign), SslError::unknownAuthority);
    EXPECT_EQ(serversError(ClientAuth::required, nullptr), SslError::certificateMissing);
    EXPECT_FALSE(serversError(ClientAuth::required, &own));
    EXPECT_EQ(serversError(ClientAuth::required, &foreign), SslError::unknownAuthority);
}

// ---- what is negotiated ----

TEST(SslNegotiation, TheServersOrderOfApplicationProtocolsDecides) {
    const auto negotiate = [](std::vector<std::string> server, std::vector<std::string> client) {
        SslServerOptions options = serverOptions();
        options.applicationProtocols = std::move(server);
        SslClientOptions asks = clientOptions();
        asks.applicationProtocols = std::move(client);
        EnginePair pair(SslContext::server(options), SslContext::client(asks));
        pair.run();
        EXPECT_EQ(pair.server.engine.applicationProtocol(), pair.client.engine.applicationProtocol());
        return pair.server.engine.failed() ? pair.server.engine.error().message()
                                           : std::string(pair.server.engine.applicationProtocol());
    };
    EXPECT_EQ(negotiate({"h2", "http/1.1"}, {"http/1.1", "h2"}), "h2");
    EXPECT_EQ(negotiate({"http/1.1"}, {"h2", "http/1.1"}), "http/1.1");
    EXPECT_EQ(negotiate({}, {"h2"}), "");
    EXPECT_EQ(negotiate({"h2"}, {}), "");
    EXPECT_EQ(negotiate({"h2"}, {"http/1.1"}), make_error_code(SslError::nothingInCommon).message());
}

// What a client that allows TLS 1.2 at most negotiates, or the server's error.
std::string withTls12(const SslServerOptions& options) {
    EngineSide server(SslContext::server(options));
    LibsslPeer client(LibsslPeer::Side::client,
                      [](::SSL_CTX* context) { SSL_CTX_set_max_proto_version(context, TLS1_2_VERSION); });
    client.talkTo(server);
    if (server.engine.failed()) return server.engine.error().message();
    client.write("by an older version");
    client.talkTo(server);
    EXPECT_EQ(server.received, "by an older version");
    server.send("answer");
    client.talkTo(server);
    EXPECT_EQ(client.received, "answer");
    return std::string(server.engine.protocol()) + " " + std::string(server.engine.cipher());
}

TEST(SslNegotiation, OnlyAModernServerRefusesTls12) {
    SslServerOptions options = serverOptions();
    EXPECT_EQ(withTls12(options), "TLSv1.2 ECDHE-ECDSA-AES256-GCM-SHA384") << "the client's order decides";
    options.ciphers = "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-ECDSA-AES128-GCM-SHA256";
    EXPECT_EQ(withTls12(options), "TLSv1.2 ECDHE-ECDSA-CHACHA20-POLY1305");
    options.ciphers = {};
    options.profile = SslProfile::modern;
    EXPECT_EQ(withTls12(options), make_error_code(SslError::nothingInCommon).message());
}

TEST(SslNegotiation, Tls11IsRefused) {
    EngineSide server(SslContext::server(serverOptions()));
    LibsslPeer client(LibsslPeer::Side::client, [](::SSL_CTX* context) {
        ::SSL_CTX_set_security_level(context, 0);
        SSL_CTX_set_min_proto_version(context, TLS1_1_VERSION);
        SSL_CTX_set_max_proto_version(context, TLS1_1_VERSION);
    });
    client.talkTo(server);
    EXPECT_EQ(server.engine.error(), SslError::nothingInCommon) << server.engine.errorText();
}

TEST(SslNegotiation, AnRsaCertificateServesToo) {
    const Identity identity = testAuthority().issue({.rsa = true});
    EXPECT_FALSE(clientsError(SslContext::server(serverOptions(identity)), clientOptions(), "localhost"));
}

}  // namespace
}  // namespace weft::test
