// PeerCertificate, certificates of two kinds, lists of revoked certificates, the key log and SslContextSource.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

#include <weft/tls/ssl_context_source.hpp>

#include "tls/engine_pair.hpp"
#include "tls/libssl_peer.hpp"

namespace weft::test {
namespace {

SslServerOptions asking(ClientAuth how) {
    SslServerOptions options = serverOptions();
    options.clientAuth = how;
    options.trust = PemSource::text(testAuthority().certificate());
    return options;
}

SslContext clientWith(const Identity& identity) {
    SslClientOptions options = clientOptions();
    options.certificate = PemSource::text(identity.certificate);
    options.key = PemSource::text(identity.key);
    return SslContext::client(options);
}

TEST(PeerCertificateTest, TellsWhoTheClientIs) {
    const SslContext server = SslContext::server(asking(ClientAuth::optional));
    const SslContext client = clientWith(testAuthority().issue(
        {.subject = "me", .names = "DNS:me.test,IP:127.0.0.1,IP:::1,email:me@me.test,URI:spiffe://me/x"}));
    for (const bool resumed : {false, true}) {
        EnginePair pair(server, client);
        EXPECT_FALSE(pair.server.engine.peerCertificate().has_value());
        pair.run();
        ASSERT_EQ(pair.server.engine.isResumed(), resumed);
        const auto peer = pair.server.engine.peerCertificate();
        ASSERT_TRUE(peer.has_value());
        EXPECT_EQ(peer->subject(), "CN = me");
        EXPECT_EQ(peer->issuer(), "CN = Test CA");
        EXPECT_EQ(peer->names(), (std::vector<std::string>{"DNS:me.test", "IP:127.0.0.1", "IP:::1", "email:me@me.test",
                                                           "URI:spiffe://me/x"}));
        EXPECT_EQ(peer->fingerprint().size(), 64u);
        EXPECT_EQ(peer->fingerprint().find_first_not_of("0123456789abcdef"), std::string::npos);
        const auto now = std::chrono::system_clock::now();
        EXPECT_LT(peer->validFrom(), now);
        EXPECT_GT(peer->validUntil(), now + std::chrono::hours(23));
        EXPECT_LT(peer->validUntil(), now + std::chrono::hours(25));
        EXPECT_EQ(peer->chain().size(), resumed ? 1u : 2u);
        EXPECT_EQ(peer->chain()[0].find("-----BEGIN CERTIFICATE-----\n"), 0u);
        pair.client.send("x");
        pair.run();
    }
}

TEST(PeerCertificateTest, IsEmptyForAClientWithoutOne) {
    EnginePair pair(SslContext::server(asking(ClientAuth::optional)), SslContext::client(clientOptions()));
    pair.run();
    ASSERT_TRUE(pair.server.engine.handshakeDone());
    EXPECT_FALSE(pair.server.engine.peerCertificate().has_value());
    EXPECT_EQ(pair.client.engine.peerCertificate()->subject(), "CN = localhost");
}

TEST(SslContextTest, AClientGetsTheCertificateThatItCanVerify) {
    SslServerOptions options = serverOptions();
    const Identity rsa = testAuthority().issue({.subject = "rsa", .rsa = true});
    options.otherCertificates = {{PemSource::text(rsa.certificate), PemSource::text(rsa.key), {}}};
    const SslContext server = SslContext::server(options);
    for (const char* algorithm : {"RSA-PSS+SHA256", "ECDSA+SHA256"}) {
        EngineSide side(server);
        LibsslPeer peer(LibsslPeer::Side::client,
                        [&](::SSL_CTX* context) { ::SSL_CTX_set1_sigalgs_list(context, algorithm); });
        peer.talkTo(side);
        ASSERT_TRUE(side.engine.handshakeDone()) << side.engine.errorText();
        const int kind = ::EVP_PKEY_get_base_id(::X509_get0_pubkey(::SSL_get0_peer_certificate(peer.ssl())));
        EXPECT_EQ(kind == EVP_PKEY_RSA, std::string(algorithm).starts_with("RSA"));
    }
}

TEST(SslContextTest, TwoCertificatesOfOneKindAreRefused) {
    SslServerOptions options = serverOptions();
    const Identity other = testAuthority().issue({.subject = "other"});
    options.otherCertificates = {{PemSource::text(other.certificate), PemSource::text(other.key), {}}};
    try {
        SslContext::server(options);
        FAIL() << "no error";
    } catch (const ConfigurationError& error) {
        EXPECT_NE(std::string(error.what()).find("SslServerOptions::otherCertificates[0].key: is of the same kind"),
                  std::string::npos)
            << error.what();
    }
}

TEST(SslContextTest, ARevokedCertificateIsRefused) {
    const Identity good = testAuthority().issue({.subject = "good"});
    const Identity bad = testAuthority().issue({.subject = "bad"});
    SslServerOptions options = asking(ClientAuth::required);
    options.revoked = PemSource::text(testAuthority().revoking(bad.certificate));
    const SslContext server = SslContext::server(options);
    EnginePair known(server, clientWith(good));
    known.run();
    EXPECT_TRUE(known.server.engine.handshakeDone()) << known.server.engine.errorText();
    EnginePair revoked(server, clientWith(bad));
    revoked.run();
    EXPECT_EQ(revoked.server.engine.error(), SslError::certificateRejected);
    EXPECT_NE(revoked.server.engine.errorText().find("revoked"), std::string::npos);
    SslServerOptions wrong = asking(ClientAuth::required);
    wrong.revoked = PemSource::text(good.certificate);
    EXPECT_THROW(SslContext::server(wrong), ConfigurationError);
    SslServerOptions useless = serverOptions();
    useless.revoked = options.revoked;
    EXPECT_THROW(SslContext::server(useless), ConfigurationError);
}

TEST(SslContextTest, ARevokedAuthorityIsRefused) {
    const Authority below("Below", testAuthority());
    const Identity leaf = below.issue({.subject = "leaf"});
    for (const bool revoked : {false, true}) {
        SslServerOptions options = asking(ClientAuth::required);
        const std::string& other = testAuthority().issue().certificate;
        options.revoked = PemSource::text(testAuthority().revoking(revoked ? below.certificate() : other) +
                                          below.revoking(testIdentity().certificate));
        EnginePair pair(SslContext::server(options), clientWith({leaf.certificate + below.certificate(), leaf.key}));
        pair.run();
        EXPECT_EQ(pair.server.engine.handshakeDone(), !revoked) << pair.server.engine.errorText();
    }
}

TEST(SslContextTest, AnAuthorityThatIsSignedByAnotherMayBeTrusted) {
    const Authority below("Below", testAuthority());
    SslServerOptions options = asking(ClientAuth::required);
    options.trust = PemSource::text(below.certificate());
    EnginePair pair(SslContext::server(options), clientWith(below.issue({.subject = "leaf"})));
    pair.run();
    EXPECT_TRUE(pair.server.engine.handshakeDone()) << pair.server.engine.errorText();
}

TEST(SslContextTest, BlocksWithoutEffectAndOldListsAreRefused) {
    const std::string list = testAuthority().revoking(testIdentity().certificate);
    SslServerOptions inTrust = asking(ClientAuth::required);
    inTrust.trust = PemSource::text(testAuthority().certificate() + list);
    EXPECT_THROW(SslContext::server(inTrust), ConfigurationError);
    SslServerOptions inRevoked = asking(ClientAuth::required);
    inRevoked.revoked = PemSource::text(list + testAuthority().certificate());
    EXPECT_THROW(SslContext::server(inRevoked), ConfigurationError);
    SslServerOptions old = asking(ClientAuth::required);
    old.revoked = PemSource::text(testAuthority().revoking(testIdentity().certificate, -30));
    EXPECT_THROW(SslContext::server(old), ConfigurationError);
}

TEST(SslContextTest, AKeyLogThatOthersMayUseIsRefused) {
    const std::string path =
        (std::filesystem::temp_directory_path() / ("weft-open-log-" + std::to_string(::getpid()))).string();
    SslServerOptions options = serverOptions();
    options.keyLogFile = path;
    std::ofstream(path) << "";
    EXPECT_THROW(SslContext::server(options), ConfigurationError) << "readable by all";
    ::chmod(path.c_str(), 0600);
    EXPECT_NO_THROW(SslContext::server(options));
    const std::string link = path + ".link";
    std::filesystem::create_symlink(path, link);
    options.keyLogFile = link;
    EXPECT_THROW(SslContext::server(options), ConfigurationError) << "a link";
    options.keyLogFile = "/dev/null";
    EXPECT_THROW(SslContext::server(options), ConfigurationError) << "no regular file";
    std::filesystem::remove(link);
    std::filesystem::remove(path);
}

TEST(PeerCertificateTest, OddNamesAndTimesAreTold) {
    const SslContext server = SslContext::server(asking(ClientAuth::required));
    const SslContext client = clientWith(testAuthority().issue({.subject = "m\xc3\xa4x\x1b[1m",
                                                                .names = "email:a b@test,DNS:fine.test",
                                                                .untilSeconds = 3600L * 24 * 365 * 500}));
    EnginePair pair(server, client);
    pair.run();
    ASSERT_TRUE(pair.server.engine.handshakeDone()) << pair.server.engine.errorText();
    const auto peer = pair.server.engine.peerCertificate();
    EXPECT_EQ(peer->names(), std::vector<std::string>{"DNS:fine.test"});
    EXPECT_EQ(peer->validUntil(), std::chrono::system_clock::time_point::max());
    for (const char c : peer->subject()) EXPECT_TRUE(c >= ' ' && c < '\x7f') << peer->subject();
}

TEST(SslContextTest, AClientRefusesARevokedServer) {
    SslClientOptions options = clientOptions();
    options.revoked = PemSource::text(testAuthority().revoking(testIdentity().certificate));
    EnginePair pair(SslContext::server(serverOptions()), SslContext::client(options));
    pair.run();
    EXPECT_EQ(pair.client.engine.error(), SslError::certificateRejected);
}

TEST(SslContextTest, TheKeyLogHasTheSecretsAndOnlyTheUserMayReadIt) {
    const std::string path =
        (std::filesystem::temp_directory_path() / ("weft-key-log-" + std::to_string(::getpid()))).string();
    std::filesystem::remove(path);
    SslServerOptions options = serverOptions();
    options.keyLogFile = path;
    {
        EnginePair pair(SslContext::server(options), SslContext::client(clientOptions()));
        pair.run();
    }
    struct stat facts {};
    ASSERT_EQ(::stat(path.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777, 0600u);
    std::ifstream file(path);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    for (const char* label : {"CLIENT_HANDSHAKE_TRAFFIC_SECRET ", "SERVER_TRAFFIC_SECRET_0 ", "EXPORTER_SECRET "})
        EXPECT_NE(text.find(label), std::string::npos) << text;
    std::filesystem::remove(path);
    options.keyLogFile = "/nowhere/keys";
    EXPECT_THROW(SslContext::server(options), ConfigurationError);
}

TEST(SslContextSourceTest, GivesTheLatestContext) {
    SslContextSource source(SslContext::server(serverOptions()));
    const SslContextSource copy = source;
    const SslContext before = copy.context();
    source.exchange(SslContext::server(serverOptions(testAuthority().issue({.subject = "new"}))));
    EXPECT_THROW(source.exchange(SslContext::client(clientOptions())), std::invalid_argument);
    for (const bool old : {true, false}) {
        EnginePair pair(old ? before : copy.context(), SslContext::client(clientOptions()));
        pair.run();
        EXPECT_EQ(pair.client.engine.peerCertificate()->subject(), old ? "CN = localhost" : "CN = new");
    }
}

}  // namespace
}  // namespace weft::test
