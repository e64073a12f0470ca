// SslServerOptions::names: which context a client gets, and that it gets all of it.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

#include "tls/engine_pair.hpp"
#include "tls/libssl_peer.hpp"

namespace weft::test {
namespace {

Identity identityOf(const std::string& name) {
    return testAuthority().issue({.subject = name, .names = "DNS:" + name + ",DNS:*." + name});
}

SslContext contextOf(const std::string& name) {
    return SslContext::server(serverOptions(identityOf(name)));
}

// The subject of the certificate that a client gets who asks for `name`.
std::string served(const SslContext& server, std::string_view name) {
    SslClientOptions options;
    options.insecureWithoutVerification = true;
    EnginePair pair(server, SslContext::client(options), name);
    pair.run();
    EXPECT_TRUE(pair.client.engine.handshakeDone()) << pair.client.engine.errorText();
    const auto peer = pair.client.engine.peerCertificate();
    return peer ? peer->subject() : "none";
}

SslServerOptions shops() {
    SslServerOptions options = serverOptions();
    options.names = {{"shop.test", contextOf("shop.test")},
                     {"*.shop.test", contextOf("any.shop.test")},
                     {"Exact.shop.test.", contextOf("exact.shop.test")}};
    return options;
}

TEST(ServerNames, AnExactNamePrecedesAWildcard) {
    const SslContext server = SslContext::server(shops());
    EXPECT_EQ(served(server, "shop.test"), "CN = shop.test");
    EXPECT_EQ(served(server, "SHOP.test."), "CN = shop.test");
    EXPECT_EQ(served(server, "a.shop.test"), "CN = any.shop.test");
    EXPECT_EQ(served(server, "exact.shop.test"), "CN = exact.shop.test");
}

TEST(ServerNames, OtherNamesAndNoneGetTheContextItself) {
    const SslContext server = SslContext::server(shops());
    for (const char* name : {"other.test", "a.b.shop.test", "127.0.0.1", "", "test", "xshop.test"})
        EXPECT_EQ(served(server, name), "CN = localhost") << name;
}

TEST(ServerNames, NamesThatCannotBeAreRefused) {
    const SslContext one = contextOf("a.test");
    for (const char* name : {"", "*", "*.", "*.*.test", "a*.test", ".test", "a..test", "a b", "ex\xc3\xa4mple.test"}) {
        SslServerOptions options = serverOptions();
        options.names = {{name, one}};
        EXPECT_THROW(SslContext::server(options), ConfigurationError) << name;
    }
    SslServerOptions twice = serverOptions();
    twice.names = {{"a.test", one}, {"A.test.", one}};
    EXPECT_THROW(SslContext::server(twice), ConfigurationError);
    SslServerOptions client = serverOptions();
    client.names = {{"a.test", SslContext::client(clientOptions())}};
    EXPECT_THROW(SslContext::server(client), ConfigurationError);
}

// libssl brings the certificates of another context, and none of its rules.
TEST(ServerNames, TheRulesOfTheChosenContextApply) {
    SslServerOptions strict = serverOptions(identityOf("strict.test"));
    strict.clientAuth = ClientAuth::required;
    strict.trust = PemSource::text(testAuthority().certificate());
    strict.profile = SslProfile::modern;
    strict.applicationProtocols = {"strict/1"};
    SslServerOptions options = serverOptions();
    options.names = {{"strict.test", SslContext::server(strict)}};
    const SslContext server = SslContext::server(options);

    EnginePair anonymous(server, SslContext::client(clientOptions()), "strict.test");
    anonymous.run();
    EXPECT_EQ(anonymous.server.engine.error(), SslError::certificateMissing);

    SslClientOptions own = clientOptions();
    const Identity me = testAuthority().issue({.subject = "me"});
    own.certificate = PemSource::text(me.certificate);
    own.key = PemSource::text(me.key);
    own.applicationProtocols = {"other", "strict/1"};
    EnginePair known(server, SslContext::client(own), "strict.test");
    known.run();
    ASSERT_TRUE(known.server.engine.handshakeDone()) << known.server.engine.errorText();
    EXPECT_EQ(known.server.engine.applicationProtocol(), "strict/1");
    EXPECT_EQ(known.server.engine.peerCertificate()->subject(), "CN = me");

    EngineSide old(server);
    LibsslPeer peer(LibsslPeer::Side::client,
                    [](::SSL_CTX* context) { ::SSL_CTX_set_max_proto_version(context, TLS1_2_VERSION); });
    SSL_set_tlsext_host_name(peer.ssl(), "strict.test");
    peer.talkTo(old);
    EXPECT_EQ(old.engine.error(), SslError::nothingInCommon) << old.engine.errorText();
}

// The client has been admitted by the rules of the first name.
TEST(ServerNames, ASecondHelloMustNameTheSameServer) {
    SslServerOptions options = serverOptions();
    options.names = {{"public.test", contextOf("public.test")}};
    const SslContext server = SslContext::server(options);
    for (const bool same : {true, false}) {
        EngineSide side(server);
        LibsslPeer peer(LibsslPeer::Side::client, [](::SSL_CTX* context) {
            ::SSL_CTX_set1_groups_list(context, "P-521:P-256");  // the server asks for another hello
            ::SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
        });
        SSL_set_tlsext_host_name(peer.ssl(), "public.test");
        peer.receive({});
        side.receive(peer.takeWire());
        if (!same) SSL_set_tlsext_host_name(peer.ssl(), "admin.test");
        peer.receive(side.takeWire());
        peer.talkTo(side);
        EXPECT_EQ(side.engine.handshakeDone(), same) << side.engine.errorText();
        EXPECT_EQ(side.engine.serverName(), same ? "public.test" : "");
    }
}

TEST(ServerNames, AResumedSessionOfTls12HasItsName) {
    const SslContext server = SslContext::server(shops());
    ::SSL_SESSION* session = nullptr;
    for (const bool resumed : {false, true}) {
        EngineSide side(server);
        LibsslPeer peer(LibsslPeer::Side::client,
                        [](::SSL_CTX* context) { ::SSL_CTX_set_max_proto_version(context, TLS1_2_VERSION); });
        SSL_set_tlsext_host_name(peer.ssl(), "shop.test");
        if (session != nullptr) ::SSL_set_session(peer.ssl(), session);
        peer.talkTo(side);
        EXPECT_EQ(side.engine.isResumed(), resumed);
        EXPECT_EQ(side.engine.serverName(), "shop.test");
        ::SSL_SESSION_free(session);
        session = ::SSL_get1_session(peer.ssl());
    }
    ::SSL_SESSION_free(session);
}

TEST(ServerNames, NamesInsideOfNamesAreRefused) {
    SslServerOptions outer = serverOptions();
    outer.names = {{"a.test", SslContext::server(shops())}};
    EXPECT_THROW(SslContext::server(outer), ConfigurationError);
}

TEST(ServerNames, TheContextLivesAsLongAsItsConnections) {
    SslServerOptions options = serverOptions();
    options.names = {{"shop.test", contextOf("shop.test")}};
    EnginePair pair(SslContext::server(options), SslContext::client(clientOptions()), "shop.test");
    options.names.clear();
    pair.run();
    pair.client.send("hello");
    pair.run();
    EXPECT_EQ(pair.server.received, "hello");
}

}  // namespace
}  // namespace weft::test
