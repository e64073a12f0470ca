// SslEngine: a handshake, data in both directions, the ends of a connection, and what is refused.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tls/engine_pair.hpp"
#include "tls/libssl_peer.hpp"

namespace weft::test {
namespace {

using Step = SslEngine::Step;

TEST(SslEngine, AHandshakeAndDataInBothDirections) {
    EnginePair pair;
    pair.run();
    ASSERT_TRUE(pair.server.engine.handshakeDone()) << pair.server.engine.errorText();
    ASSERT_TRUE(pair.client.engine.handshakeDone()) << pair.client.engine.errorText();
    EXPECT_EQ(pair.server.handshakes, 1);
    EXPECT_EQ(pair.client.handshakes, 1);
    EXPECT_EQ(pair.server.engine.protocol(), "TLSv1.3");
    EXPECT_EQ(pair.client.engine.cipher(), pair.server.engine.cipher());
    EXPECT_EQ(pair.server.engine.serverName(), "localhost");
    EXPECT_EQ(pair.server.engine.applicationProtocol(), "");
    pair.client.send("question");
    pair.run();
    pair.server.send("answer");
    pair.run();
    EXPECT_EQ(pair.server.received, "question");
    EXPECT_EQ(pair.client.received, "answer");
    EXPECT_EQ(pair.server.step, Step::needInput);
    EXPECT_EQ(pair.server.engine.unreadBytes(), 0u);
}

TEST(SslEngine, NoMemoryIsUsedForAConnectionThatSendsNothing) {
    SslEngine server(SslContext::server(serverOptions()));
    ChannelOutput wire;
    Buffer plain = Buffer::allocate(1);
    server.feed(Buffer::copyOf("\x16\x03\x01\x02"));  // four bytes of a header
    EXPECT_EQ(server.receive(plain, wire), Step::needInput);
    EXPECT_EQ(server.unreadBytes(), 4u) << "libssl has not been given them, so it has no memory for them";
}

// Records of one byte, of some, of the largest size, and more than a record.
TEST(SslEngine, EachSizeArrives) {
    EnginePair pair;
    pair.run();
    for (const std::size_t size : {1, 2, 100, 16'383, 16'384, 16'385, 100'000}) {
        std::string sent(size, ' ');
        for (std::size_t i = 0; i < size; ++i) sent[i] = static_cast<char>(i * 31 % 251);
        pair.server.received.clear();
        pair.client.send(sent);
        pair.run();
        EXPECT_EQ(pair.server.received, sent);
    }
}

TEST(SslEngine, SmallBuffersGiveTheSameBytes) {
    EnginePair pair;
    pair.run();
    pair.server.readBytes = 7;
    pair.client.send("no seven bytes of this are more than the Buffer takes");
    pair.run();
    EXPECT_EQ(pair.server.received, "no seven bytes of this are more than the Buffer takes");
}

// Each record ends a call of libssl, but not one of receive(): pipelined requests are one Buffer.
TEST(SslEngine, RecordsThatArrivedTogetherAreReadTogether) {
    EnginePair pair;
    pair.run();
    for (const char* const each : {"one ", "two ", "three"}) pair.client.send(each);
    pair.server.engine.feed(Buffer::copyOf(pair.client.takeWire()));
    Buffer plain = Buffer::allocate(100);
    EXPECT_EQ(pair.server.engine.receive(plain, pair.server.wire), Step::plaintext);
    EXPECT_EQ(plain.view(), "one two three");
    EXPECT_EQ(pair.server.engine.receive(plain, pair.server.wire), Step::needInput);
}

TEST(SslEngine, HandshakesAndDataByteByByte) {
    EnginePair pair;
    pair.server.engine.feed({});
    for (int round = 0; round < 6; ++round) {
        for (const char byte : pair.client.takeWire()) pair.server.receive({&byte, 1});
        if (round == 3) pair.server.send("slowly");
        for (const char byte : pair.server.takeWire()) pair.client.receive({&byte, 1});
    }
    EXPECT_TRUE(pair.server.engine.handshakeDone()) << pair.server.engine.errorText();
    EXPECT_EQ(pair.client.received, "slowly");
}

TEST(SslEngine, HandshakesAndDataInRandomPieces) {
    std::mt19937 random(20'261'129);
    for (int program = 0; program < 20; ++program) {
        EnginePair pair;
        std::string toServer, toClient;
        const auto deliver = [&random](std::string& bytes, EngineSide& side) {
            if (bytes.empty()) return;
            const std::size_t size = 1 + random() % std::min<std::size_t>(bytes.size(), 1 + random() % 3000);
            side.receive(std::string_view(bytes).substr(0, size));
            bytes.erase(0, size);
        };
        std::string sent;
        for (int turn = 0; turn < 3000 && (turn < 500 || pair.server.received.size() < sent.size()); ++turn) {
            toServer += pair.client.takeWire();
            toClient += pair.server.takeWire();
            if (pair.client.engine.handshakeDone() && sent.size() < 60'000 && random() % 4 == 0) {
                const std::string more(1 + random() % 20'000, static_cast<char>('a' + random() % 26));
                pair.client.send(more);
                sent += more;
            }
            deliver(toServer, pair.server);
            deliver(toClient, pair.client);
        }
        EXPECT_FALSE(sent.empty());
        EXPECT_EQ(pair.server.received, sent);
    }
}

// ---- ends ----

TEST(SslEngine, ACloseNotifyEndsOneDirectionOnly) {
    EnginePair pair;
    pair.run();
    pair.client.send("last words");
    pair.client.engine.closeOutput(pair.client.wire);
    pair.client.engine.closeOutput(pair.client.wire);  // does nothing
    EXPECT_EQ(pair.client.engine.send("more", pair.client.wire), 0u);
    pair.run();
    EXPECT_EQ(pair.server.received, "last words");
    EXPECT_EQ(pair.server.step, Step::peerClosed);
    pair.server.send("an answer, nevertheless");
    pair.run();
    EXPECT_EQ(pair.client.received, "an answer, nevertheless");
    pair.server.engine.closeOutput(pair.server.wire);
    pair.run();
    EXPECT_EQ(pair.client.step, Step::peerClosed);
}

TEST(SslEngine, AStreamThatEndsWithoutACloseNotifyIsTruncated) {
    EnginePair pair;
    pair.run();
    pair.client.send("the end is miss");
    pair.run();
    pair.server.engine.endInput();
    pair.server.receive();
    EXPECT_EQ(pair.server.received, "the end is miss");
    EXPECT_EQ(pair.server.step, Step::failed);
    EXPECT_EQ(pair.server.engine.error(), SslError::truncated);
    EXPECT_EQ(pair.server.engine.send("x", pair.server.wire), 0u);
}

TEST(SslEngine, AStreamThatEndsInsideARecordIsTruncated) {
    EnginePair pair;
    pair.run();
    pair.client.send("whole");
    pair.client.send("cut");
    const std::string sent = pair.client.takeWire();
    for (const std::size_t missing : {1u, 22u}) {
        EnginePair each;
        each.run();
        each.client.send("whole");
        each.client.send("cut");
        const std::string bytes = each.client.takeWire();
        ASSERT_EQ(bytes.size(), sent.size());
        each.server.engine.feed(Buffer::copyOf(std::string_view(bytes).substr(0, bytes.size() - missing)));
        each.server.engine.endInput();
        each.server.receive();
        EXPECT_EQ(each.server.received, "whole");
        EXPECT_EQ(each.server.engine.error(), SslError::truncated);
    }
}

TEST(SslEngine, AnEndBeforeAndInTheHandshakeIsTruncated) {
    EnginePair pair;
    const std::string hello = pair.client.takeWire();
    for (std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{5}, hello.size() - 1, hello.size()}) {
        EngineSide server(SslContext::server(serverOptions()));
        server.engine.feed(Buffer::copyOf(std::string_view(hello).substr(0, size)));
        server.engine.endInput();
        server.receive();
        EXPECT_EQ(server.engine.error(), SslError::truncated) << size << " bytes: " << server.engine.errorText();
    }
}

// Nothing is done for a connection whose other side has closed properly, whatever follows.
TEST(SslEngine, BytesAfterACloseNotifyAreIgnored) {
    EnginePair pair;
    pair.run();
    pair.client.engine.closeOutput(pair.client.wire);
    pair.server.receive(pair.client.takeWire() + "garbage");
    EXPECT_EQ(pair.server.step, Step::peerClosed);
    pair.server.receive("more");
    EXPECT_EQ(pair.server.step, Step::peerClosed);
    pair.server.engine.endInput();
    pair.server.receive();
    EXPECT_EQ(pair.server.step, Step::peerClosed);
    pair.server.send("still");
    pair.run();
    EXPECT_EQ(pair.client.received, "still");
}

// ---- names and certificates ----

ErrorCode clientsError(const SslContext& server, const SslClientOptions& options, std::string_view name) {
    EnginePair pair(server, SslContext::client(options), name);
    pair.run();
    EXPECT_EQ(pair.client.engine.failed(), !pair.client.engine.handshakeDone());
    if (pair.client.engine.failed()) {
        EXPECT_EQ(pair.server.engine.error(), SslError::alertReceived) << "the client says why it leaves";
    }
    return pair.client.engine.error();
}

TEST(SslEngine, AClientVerifiesNamesAndAddresses) {
    const Identity identity = testAuthority().issue(
        {.subject = "only.the.subject", .names = "DNS:a.example,DNS:*.w.example,IP:127.0.0.1,IP:::1"});
    const SslContext server = SslContext::server(serverOptions(identity));
    for (const char* const name : {"a.example", "A.EXAMPLE", "a.example.", "x.w.example", "127.0.0.1", "::1"})
        EXPECT_FALSE(clientsError(server, clientOptions(), name)) << name;
    for (const char* const name :
         {"b.example", "example", "w.example", "x.y.w.example", "only.the.subject", "127.0.0.2", "::2"})
        EXPECT_EQ(clientsError(server, clientOptions(), name), SslError::wrongName) << name;
}

TEST(SslEngine, ACertificateWithoutAlternativeNamesHasNone) {
    const SslContext server =
        SslContext::server(serverOptions(testAuthority().issue({.subject = "localhost", .names = ""})));
    EXPECT_EQ(clientsError(server, clientOptions(), "localhost"), SslError::wrongName);
}

TEST(SslEngine, ACertificateOfAnUnknownAuthorityIsRefused) {
    const Authority other("Another CA");
    EXPECT_EQ(clientsError(SslContext::server(serverOptions(other.issue())), clientOptions(), "localhost"),
              SslError::unknownAuthority);
    const Identity own = Authority::selfSigned({});
    EXPECT_EQ(clientsError(SslContext::server(serverOptions(own)), clientOptions(), "localhost"),
              SslError::unknownAuthority);
    EXPECT_EQ(clientsError(SslContext::server(serverOptions()), {}, "localhost"), SslError::unknownAuthority)
        << "the system's authorities";
}

TEST(SslEngine, AChainOfAuthoritiesIsSentAndVerified) {
    const Authority between("Intermediate CA", testAuthority());
    Identity identity = between.issue();
    EXPECT_EQ(clientsError(SslContext::server(serverOptions(identity)), clientOptions(), "localhost"),
              SslError::unknownAuthority);
    identity.certificate += between.certificate();
    EXPECT_FALSE(clientsError(SslContext::server(serverOptions(identity)), clientOptions(), "localhost"));
}

TEST(SslEngine, AnInsecureClientAcceptsEverything) {
    SslClientOptions options;
    options.insecureWithoutVerification = true;
    const SslContext server = SslContext::server(serverOptions(Authority::selfSigned({})));
    EXPECT_FALSE(clientsError(server, options, "another.example"));
    EXPECT_FALSE(clientsError(server, options, ""));
}

TEST(SslEngine, AClientThatVerifiesNeedsAName) {
    const SslContext client = SslContext::client(clientOptions());
    for (const std::string& name :
         {std::string(), std::string("."), std::string(254, 'a'), std::string("a\0.example", 10)})
        EXPECT_THROW(SslEngine(client, name), std::invalid_argument) << name;
}

TEST(SslEngine, OnlyNamesAreSentToTheServer) {
    EnginePair pair(SslContext::server(serverOptions()), SslContext::client(clientOptions()), "127.0.0.1");
    pair.run();
    ASSERT_TRUE(pair.server.engine.handshakeDone());
    EXPECT_EQ(pair.server.engine.serverName(), "");
}

TEST(SslEngine, CertificatesOfClients) {
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

TEST(SslEngine, TheServersOrderOfApplicationProtocolsDecides) {
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

TEST(SslEngine, OnlyAModernServerRefusesTls12) {
    SslServerOptions options = serverOptions();
    EXPECT_EQ(withTls12(options), "TLSv1.2 ECDHE-ECDSA-AES256-GCM-SHA384") << "the client's order decides";
    options.ciphers = "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-ECDSA-AES128-GCM-SHA256";
    EXPECT_EQ(withTls12(options), "TLSv1.2 ECDHE-ECDSA-CHACHA20-POLY1305");
    options.ciphers = {};
    options.profile = SslProfile::modern;
    EXPECT_EQ(withTls12(options), make_error_code(SslError::nothingInCommon).message());
}

TEST(SslEngine, Tls11IsRefused) {
    EngineSide server(SslContext::server(serverOptions()));
    LibsslPeer client(LibsslPeer::Side::client, [](::SSL_CTX* context) {
        ::SSL_CTX_set_security_level(context, 0);
        SSL_CTX_set_min_proto_version(context, TLS1_1_VERSION);
        SSL_CTX_set_max_proto_version(context, TLS1_1_VERSION);
    });
    client.talkTo(server);
    EXPECT_EQ(server.engine.error(), SslError::nothingInCommon) << server.engine.errorText();
}

TEST(SslEngine, AnRsaCertificateServesToo) {
    const Identity identity = testAuthority().issue({.rsa = true});
    EXPECT_FALSE(clientsError(SslContext::server(serverOptions(identity)), clientOptions(), "localhost"));
}

// ---- peers that speak something else ----

TEST(SslEngine, TheFirstByteDecidesWhetherAPeerSpeaksTls) {
    for (const std::string_view first :
         {"GET / HTTP/1.1\r\n\r\n", "D", "SSH-2.0-x\r\n", "\x15", "\xff", "\x80\x2e\x01\x03\x01"}) {
        EngineSide server(SslContext::server(serverOptions()));
        server.receive(first);
        EXPECT_EQ(server.engine.error(), SslError::notTls) << first;
        EXPECT_EQ(server.takeWire(), "") << "an answer in the peer's protocol can follow";
    }
    EngineSide client(SslContext::client(clientOptions()), "localhost");
    client.engine.begin(client.wire);
    client.receive("HTTP/1.1 400 Bad Request\r\n\r\n");
    EXPECT_EQ(client.engine.error(), SslError::notTls) << client.engine.errorText();
}

TEST(SslEngine, AChangedByteIsAProtocolErrorAndThePeerIsTold) {
    EnginePair pair;
    pair.run();
    pair.client.send("to be changed");
    std::string record = pair.client.takeWire();
    record[record.size() - 3] = static_cast<char>(record[record.size() - 3] ^ 1);
    pair.server.receive(record);
    EXPECT_EQ(pair.server.engine.error(), SslError::protocolError);
    EXPECT_EQ(pair.server.received, "");
    pair.run();
    EXPECT_EQ(pair.client.engine.error(), SslError::alertReceived);
    EXPECT_NE(pair.client.engine.errorText().find("bad record mac"), std::string::npos)
        << pair.client.engine.errorText();
}

TEST(SslEngine, AFailureOfOneConnectionIsNotThatOfAnother) {
    EnginePair good, bad;
    good.run();
    bad.run();
    bad.client.send("x");
    std::string record = bad.client.takeWire();
    record.back() = static_cast<char>(record.back() ^ 1);
    bad.server.receive(record);
    EXPECT_TRUE(bad.server.engine.failed());
    good.client.send("fine");
    good.run();
    EXPECT_EQ(good.server.received, "fine");
}

TEST(SslEngine, BuffersOfAnIdleConnectionComeBackWhenTheyAreNeeded) {
    EnginePair pair;
    pair.run();
    pair.client.send("half");
    const std::string record = pair.client.takeWire();
    pair.server.receive(std::string_view(record).substr(0, 10));
    pair.server.engine.releaseBuffers();  // does nothing: a record has begun
    pair.server.receive(std::string_view(record).substr(10));
    EXPECT_EQ(pair.server.received, "half");
    pair.server.engine.releaseBuffers();
    pair.client.send(" and half");
    pair.run();
    pair.server.send("answer");
    pair.run();
    EXPECT_EQ(pair.server.received, "half and half");
    EXPECT_EQ(pair.client.received, "answer");
}

}  // namespace
}  // namespace weft::test
