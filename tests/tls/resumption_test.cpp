// Sessions: which later connection resumes one, and which must not.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <unistd.h>

#include "tls/engine_pair.hpp"
#include "tls/libssl_peer.hpp"

namespace weft::test {
namespace {

// Whether the connection resumes a session. It leaves its own for the next one.
bool resumes(const SslContext& server, const SslContext& client, std::string_view name = "localhost") {
    EnginePair pair(server, client, name);
    pair.run();
    EXPECT_TRUE(pair.client.engine.handshakeDone()) << pair.client.engine.errorText();
    EXPECT_EQ(pair.client.engine.isResumed(), pair.server.engine.isResumed());
    pair.client.send("x");  // reads the tickets, too
    pair.run();
    return pair.client.engine.isResumed();
}

SslClientOptions tls12() {
    SslClientOptions options = clientOptions();
    options.ciphers = "ECDHE-ECDSA-AES128-GCM-SHA256";
    return options;
}

// A server that speaks nothing newer.
class OldServer {
  public:
    bool resumes(const SslContext& client) {
        EngineSide side(client, "localhost");
        side.engine.begin(side.wire);
        LibsslPeer peer(LibsslPeer::Side::server, [this](::SSL_CTX* context) {
            ::SSL_CTX_set_max_proto_version(context, TLS1_2_VERSION);
            ::SSL_CTX_set_tlsext_ticket_keys(context, keys_, sizeof keys_);
        });
        side.receive();
        peer.talkTo(side);
        EXPECT_EQ(side.engine.protocol(), "TLSv1.2");
        return side.engine.isResumed();
    }

  private:
    unsigned char keys_[80] = {1, 2, 3};
};

class KeyFile {
  public:
    explicit KeyFile(const std::string& bytes) { std::ofstream(path_, std::ios::binary) << bytes; }
    ~KeyFile() { std::filesystem::remove(path_); }
    const std::string& path() const { return path_; }

  private:
    const std::string path_ =
        (std::filesystem::temp_directory_path() / ("weft-ticket-keys-" + std::to_string(::getpid()))).string();
};

TEST(Resumption, ASecondConnectionResumesTheSession) {
    const SslContext server = SslContext::server(serverOptions());
    const SslContext client = SslContext::client(clientOptions());
    EXPECT_FALSE(resumes(server, client));
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(resumes(server, client)) << i;  // each gets new tickets
}

TEST(Resumption, ASessionOfTls12ServesSeveralConnections) {
    OldServer server;
    const SslContext client = SslContext::client(tls12());
    EXPECT_FALSE(server.resumes(client));
    EXPECT_TRUE(server.resumes(client));
    EXPECT_TRUE(server.resumes(client));
}

TEST(Resumption, NeitherSideNeedResume) {
    SslServerOptions none = serverOptions();
    none.tickets = 0;
    const SslContext client = SslContext::client(clientOptions());
    const SslContext without = SslContext::server(none);
    EXPECT_FALSE(resumes(without, client));
    EXPECT_FALSE(resumes(without, client));
    SslClientOptions forgetful = clientOptions();
    forgetful.resumesSessions = false;
    const SslContext server = SslContext::server(serverOptions());
    const SslContext forgets = SslContext::client(forgetful);
    EXPECT_FALSE(resumes(server, forgets));
    EXPECT_FALSE(resumes(server, forgets));
}

// In libssl alone, a session of one name is resumed at another.
TEST(Resumption, ASessionOfOneNameIsNotResumedAtAnother) {
    SslServerOptions options = serverOptions();
    for (const char* name : {"a.test", "b.test"}) {
        options.names.emplace_back(name, SslContext::server(serverOptions(testAuthority().issue(
                                             {.subject = name, .names = "DNS:" + std::string(name)}))));
    }
    const SslContext server = SslContext::server(options);
    const auto connect = [&](LibsslPeer& peer, const char* name, ::SSL_SESSION* session) {
        SSL_set_tlsext_host_name(peer.ssl(), name);
        if (session != nullptr) ::SSL_set_session(peer.ssl(), session);
        EngineSide side(server);
        peer.talkTo(side);
        EXPECT_TRUE(side.engine.handshakeDone()) << side.engine.errorText();
        return side.engine.isResumed();
    };
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        const auto configure = [version](::SSL_CTX* context) { ::SSL_CTX_set_max_proto_version(context, version); };
        LibsslPeer first(LibsslPeer::Side::client, configure);
        EXPECT_FALSE(connect(first, "a.test", nullptr));
        ::SSL_SESSION* const session = ::SSL_get1_session(first.ssl());
        ASSERT_EQ(::SSL_SESSION_is_resumable(session), 1);
        LibsslPeer other(LibsslPeer::Side::client, configure);
        EXPECT_FALSE(connect(other, "b.test", session)) << version;
        LibsslPeer plain(LibsslPeer::Side::client, configure);
        EXPECT_FALSE(connect(plain, "localhost", session)) << version;
        LibsslPeer same(LibsslPeer::Side::client, configure);
        EXPECT_TRUE(connect(same, "a.test", session)) << version;
        ::SSL_SESSION_free(session);
    }
}

TEST(Resumption, NamesOfOneContextDoNotShareSessions) {
    const SslContext server = SslContext::server(serverOptions(testAuthority().issue({.names = "DNS:*.shop.test"})));
    ::SSL_SESSION* session = nullptr;
    for (const char* name : {"a.shop.test", "b.shop.test", "a.shop.test"}) {
        LibsslPeer peer(LibsslPeer::Side::client);
        SSL_set_tlsext_host_name(peer.ssl(), name);
        if (session != nullptr) ::SSL_set_session(peer.ssl(), session);
        EngineSide side(server);
        peer.talkTo(side);
        ASSERT_TRUE(side.engine.handshakeDone());
        EXPECT_FALSE(side.engine.isResumed()) << name;
        ::SSL_SESSION_free(session);
        session = ::SSL_get1_session(peer.ssl());
    }
    ::SSL_SESSION_free(session);
}

// In TLS 1.3 each resumption brings new tickets.
TEST(Resumption, AClientWhoseCertificateExpiresMustShowANewOne) {
    SslServerOptions strict = serverOptions();
    strict.clientAuth = ClientAuth::required;
    strict.trust = PemSource::text(testAuthority().certificate());
    const SslContext server = SslContext::server(strict);
    SslClientOptions options = clientOptions();
    const Identity brief = testAuthority().issue({.subject = "brief", .untilSeconds = 4});
    options.certificate = PemSource::text(brief.certificate);
    options.key = PemSource::text(brief.key);
    const SslContext client = SslContext::client(options);
    EXPECT_FALSE(resumes(server, client));
    EXPECT_TRUE(resumes(server, client));
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    ErrorCode refused;
    while (!refused && std::chrono::steady_clock::now() < end) {  // until it has expired
        EnginePair late(server, client);
        late.run();
        if (late.server.engine.handshakeDone()) late.client.send("x");  // gets new tickets
        late.run();
        refused = late.server.engine.error();
    }
    EXPECT_EQ(refused, SslError::certificateExpired);
}

TEST(Resumption, ASessionWithoutACertificateIsNotResumedWhereOneIsRequired) {
    SslServerOptions strict = serverOptions();
    strict.clientAuth = ClientAuth::required;
    strict.trust = PemSource::text(testAuthority().certificate());
    const SslContext client = SslContext::client(clientOptions());
    EXPECT_FALSE(resumes(SslContext::server(serverOptions()), client));
    EnginePair pair(SslContext::server(strict), client);
    pair.run();
    EXPECT_EQ(pair.server.engine.error(), SslError::certificateMissing);
}

TEST(Resumption, SessionsBelongToAClientsContextAndName) {
    const SslContext server = SslContext::server(serverOptions());
    const SslContext one = SslContext::client(clientOptions());
    EXPECT_FALSE(resumes(server, one));
    EXPECT_FALSE(resumes(server, SslContext::client(clientOptions())));
    EXPECT_FALSE(resumes(server, one, "127.0.0.1"));
    EXPECT_TRUE(resumes(server, one));
    EXPECT_TRUE(resumes(server, one, "127.0.0.1"));
}

TEST(Resumption, ContextsOfAProcessShareTheirKeys) {
    const SslContext client = SslContext::client(clientOptions());
    EXPECT_FALSE(resumes(SslContext::server(serverOptions()), client));
    EXPECT_TRUE(resumes(SslContext::server(serverOptions()), client));  // as after a reload
}

TEST(Resumption, AFileOfKeysIsSharedAndItsOldKeysAreAccepted) {
    const std::string first(80, 'a'), second(80, 'b');
    const auto withKeys = [](const std::string& bytes) {
        const KeyFile file(bytes);
        SslServerOptions options = serverOptions();
        options.ticketKeyFile = file.path();
        return SslContext::server(options);
    };
    const SslContext client = SslContext::client(clientOptions());
    EXPECT_FALSE(resumes(withKeys(first), client));
    EXPECT_TRUE(resumes(withKeys(first), client));
    EXPECT_TRUE(resumes(withKeys(second + first), client));  // gets tickets of the second key
    EXPECT_FALSE(resumes(withKeys(first), client));          // which this server does not know
    EXPECT_FALSE(resumes(SslContext::server(serverOptions()), client));
}

TEST(Resumption, FilesWithoutWholeKeysAreRefused) {
    for (const std::size_t size : {0, 1, 79, 81, 17 * 80}) {
        const KeyFile file(std::string(size, 'k'));
        SslServerOptions options = serverOptions();
        options.ticketKeyFile = file.path();
        try {
            SslContext::server(options);
            ADD_FAILURE() << size;
        } catch (const ConfigurationError& error) {
            EXPECT_NE(std::string(error.what())
                          .find("SslServerOptions::ticketKeyFile '" + file.path() + "': has " + std::to_string(size) +
                                " bytes"),
                      std::string::npos)
                << error.what();
        }
    }
    SslServerOptions missing = serverOptions();
    missing.ticketKeyFile = "/nowhere/keys";
    EXPECT_THROW(SslContext::server(missing), ConfigurationError);
    SslServerOptions many = serverOptions();
    many.tickets = 17;
    EXPECT_THROW(SslContext::server(many), ConfigurationError);
    SslServerOptions useless = serverOptions();
    useless.tickets = 0;
    useless.ticketKeyFile = "/nowhere/keys";
    EXPECT_THROW(SslContext::server(useless), ConfigurationError);
}

// A server may send tickets without end: the newest are kept.
TEST(Resumption, ManyTicketsAreNotAllKept) {
    SslServerOptions options = serverOptions();
    options.tickets = 16;
    const SslContext server = SslContext::server(options);
    const SslContext client = SslContext::client(clientOptions());
    EXPECT_FALSE(resumes(server, client));
    int resumed = 0;
    SslServerOptions silent = serverOptions();
    silent.tickets = 0;
    EXPECT_TRUE(resumes(server, client));
    EXPECT_TRUE(resumes(server, client));
    const SslContext last = SslContext::server(silent);  // accepts none, so each attempt uses one up
    for (int i = 0; i < 8; ++i) resumed += resumes(last, client) ? 1 : 0;
    EXPECT_EQ(resumed, 0);
    EXPECT_FALSE(resumes(server, client));
}

}  // namespace
}  // namespace weft::test
