// What a peer may do against an SslEngine: floods, halves of messages, changed and cut bytes.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tls/engine_pair.hpp"
#include "tls/libssl_peer.hpp"
#include "tls/sealed_records.hpp"

namespace weft::test {
namespace {

using Step = SslEngine::Step;

constexpr unsigned char handshakeProtocol = 22, data = 23;  // RFC 8446, section 5.1

// A server and a connected client that does as it likes.
struct Attack {
    explicit Attack(const std::function<void(::SSL_CTX*)>& configure = [](::SSL_CTX*) {})
        : client(LibsslPeer::Side::client, configure) {
        client.talkTo(server);
        EXPECT_TRUE(server.engine.handshakeDone()) << server.engine.errorText();
    }
    EngineSide server{SslContext::server(serverOptions())};
    LibsslPeer client;
};

TEST(HostilePeer, AFewKeyUpdatesAreAnswered) {
    Attack attack;
    for (int i = 0; i < 20; ++i) attack.client.updateKeys(true);
    attack.client.write("still here");
    attack.client.talkTo(attack.server);
    EXPECT_EQ(attack.server.received, "still here") << attack.server.engine.errorText();
    attack.server.send("with new keys");
    attack.client.talkTo(attack.server);
    EXPECT_EQ(attack.client.received, "with new keys");
}

TEST(HostilePeer, AFloodOfKeyUpdatesIsRefused) {
    for (const bool asksForAnswer : {false, true}) {
        Attack attack;
        for (int i = 0; i < 1000; ++i) attack.client.updateKeys(asksForAnswer);
        attack.server.receive(attack.client.takeWire());
        EXPECT_EQ(attack.server.engine.error(), SslError::tooManyEmptyRecords) << attack.server.engine.errorText();
        EXPECT_LT(attack.server.takeWire().size(), 100 * SslEngine::mostEmptyRecords) << "answers do not pile up";
    }
}

TEST(HostilePeer, KeyUpdatesBetweenDataAreCountedToo) {
    Attack attack;
    int updates = 0;
    for (; updates < 10'000 && !attack.server.engine.failed(); ++updates) {
        attack.client.updateKeys(false);
        attack.client.write("x");
        attack.server.receive(attack.client.takeWire());
    }
    EXPECT_EQ(attack.server.engine.error(), SslError::tooManyEmptyRecords) << attack.server.engine.errorText();
    EXPECT_LT(updates, 200);
}

// A long and honest connection: one key update for each hundred records, ten thousand records.
TEST(HostilePeer, SeldomKeyUpdatesAreAllowedForEver) {
    Attack attack;
    for (int i = 0; i < 10'000; ++i) {
        if (i % 100 == 0) attack.client.updateKeys(true);
        attack.client.write("x");
        attack.client.talkTo(attack.server);
    }
    EXPECT_EQ(attack.server.received.size(), 10'000u) << attack.server.engine.errorText();
}

TEST(HostilePeer, AFloodOfTicketsIsRefused) {
    LibsslPeer server(LibsslPeer::Side::server, [](::SSL_CTX* context) { ::SSL_CTX_set_num_tickets(context, 200); });
    EngineSide client(SslContext::client(clientOptions()), "localhost");
    client.engine.begin(client.wire);
    server.talkTo(client);
    EXPECT_EQ(client.engine.error(), SslError::tooManyEmptyRecords);
}

TEST(HostilePeer, RenegotiationIsRefusedAndTheConnectionLives) {
    Attack attack([](::SSL_CTX* context) { SSL_CTX_set_max_proto_version(context, TLS1_2_VERSION); });
    attack.client.write("before");
    attack.client.talkTo(attack.server);
    ::SSL_renegotiate(attack.client.ssl());
    ::SSL_do_handshake(attack.client.ssl());
    attack.server.receive(attack.client.takeWire());
    EXPECT_EQ(attack.server.received, "before");
    EXPECT_FALSE(attack.server.engine.failed()) << attack.server.engine.errorText();
    attack.server.send("after");
    EXPECT_FALSE(attack.server.takeWire().empty());
}

// Four of the five bytes of a key update: until the last one comes, TLS 1.3 forbids to send.
TEST(HostilePeer, AHalfKeyUpdateStopsTheWriterUntilTheRestComes) {
    Attack attack(&SealedRecords::configure);
    SealedRecords records;
    const std::string update("\x18\x00\x00\x01\x00", 5);
    attack.server.receive(records.seal(handshakeProtocol, update.substr(0, 4)));
    EXPECT_FALSE(attack.server.engine.failed()) << attack.server.engine.errorText();
    EXPECT_TRUE(attack.server.engine.isWaitingForPeer());
    EXPECT_EQ(attack.server.engine.send("stuck", attack.server.wire), 0u);
    attack.server.engine.closeOutput(attack.server.wire);
    EXPECT_EQ(attack.server.takeWire(), "") << "no close_notify either";
    attack.server.receive(records.seal(handshakeProtocol, update.substr(4)));
    EXPECT_FALSE(attack.server.engine.isWaitingForPeer());
    attack.server.send("goes on");
    attack.client.talkTo(attack.server);
    EXPECT_EQ(attack.client.received, "goes on");
}

// Each delivery ends a key update and begins the next, so that none ends together with a call.
TEST(HostilePeer, KeyUpdatesThatAreCutInTheMiddleAreCounted) {
    Attack attack;
    std::string all;
    for (int i = 0; i < 1000; ++i) attack.client.updateKeys(true);
    all = attack.client.takeWire();
    attack.server.receive(all.substr(0, 13));
    std::size_t at = 13;
    for (; at < all.size() && !attack.server.engine.failed(); at += 27) attack.server.receive(all.substr(at, 27));
    EXPECT_EQ(attack.server.engine.error(), SslError::tooManyEmptyRecords);
    EXPECT_LT(at, 100 * 27u);
}

TEST(HostilePeer, AKeyUpdateMustEndItsRecord) {
    Attack attack(&SealedRecords::configure);
    SealedRecords records;
    std::string updates;
    for (int i = 0; i < 3; ++i) updates += std::string("\x18\x00\x00\x01\x00", 5);
    attack.server.receive(records.seal(handshakeProtocol, updates));
    EXPECT_EQ(attack.server.engine.error(), SslError::protocolError) << attack.server.engine.errorText();
}

// Hundreds of messages in one record: libssl takes them all in one call, unless it is stopped.
TEST(HostilePeer, ManyTicketsInOneRecordAreCounted) {
    LibsslPeer server(LibsslPeer::Side::server, [](::SSL_CTX* context) {
        SealedRecords::configure(context);
        ::SSL_CTX_set_num_tickets(context, 0);
    });
    EngineSide client(SslContext::client(clientOptions()), "localhost");
    client.engine.begin(client.wire);
    server.talkTo(client);
    ASSERT_TRUE(client.engine.handshakeDone());
    SealedRecords records(SealedRecords::Of::server);
    std::string tickets;
    const std::string ticket = std::string("\x04\x00\x00\x0f", 4) + std::string("\x00\x00\x0e\x10", 4) +
                               std::string(4, 'a') + std::string("\x00\x00\x02", 3) + "tt" + std::string("\x00\x00", 2);
    for (int i = 0; i < 800; ++i) tickets += ticket;
    client.receive(records.seal(handshakeProtocol, tickets));
    EXPECT_EQ(client.engine.error(), SslError::tooManyEmptyRecords) << client.engine.errorText();
}

TEST(HostilePeer, RecordsOfPaddingOnlyAreCounted) {
    Attack attack(&SealedRecords::configure);
    SealedRecords records;
    for (int i = 0; i < 40 && !attack.server.engine.failed(); ++i)
        attack.server.receive(records.seal(data, "", 16'000));
    EXPECT_TRUE(attack.server.engine.failed());
}

TEST(HostilePeer, DataInsideAHalfMessageIsRefused) {
    Attack attack(&SealedRecords::configure);
    SealedRecords records;
    const std::string half = records.seal(handshakeProtocol, "\x18");
    attack.server.receive(half + records.seal(data, "x"));
    EXPECT_EQ(attack.server.engine.error(), SslError::protocolError);
    EXPECT_EQ(attack.server.received, "");
}

TEST(HostilePeer, AnEmptyRecordForEachByteOfDataIsCounted) {
    Attack attack(&SealedRecords::configure);
    SealedRecords records;
    int rounds = 0;
    for (; rounds < 10'000 && !attack.server.engine.failed(); ++rounds) {
        attack.server.receive(records.seal(data, ""));
        attack.server.receive(records.seal(data, "x"));
    }
    EXPECT_EQ(attack.server.engine.error(), SslError::tooManyEmptyRecords) << attack.server.engine.errorText();
    EXPECT_LT(rounds, 200);
}

TEST(HostilePeer, AnOversizedRecordIsRefused) {
    Attack attack;
    attack.server.receive(std::string("\x17\x03\x03\x48\x01", 5) + std::string(0x4801, 'x'));
    EXPECT_EQ(attack.server.engine.error(), SslError::protocolError) << attack.server.engine.errorText();
}

TEST(HostilePeer, AFloodOfEmptyRecordsIsRefused) {
    EngineSide server(SslContext::server(serverOptions()));
    std::string records;
    for (int i = 0; i < 100; ++i) records += std::string("\x16\x03\x01\x00\x00", 5);
    server.receive(records);
    EXPECT_EQ(server.engine.error(), SslError::protocolError) << server.engine.errorText();
}

TEST(HostilePeer, APromiseOfALongHelloCostsNothing) {
    EngineSide server(SslContext::server(serverOptions()));
    server.receive(std::string("\x16\x03\x01\x00\x04\x01\x01\xff\xff", 9));
    EXPECT_EQ(server.step, Step::needInput);
    server.receive(std::string("\x16\x03\x01\x00\x04\x01\x02\x01\x45", 9));
    SUCCEED() << "neither an error of the sanitizers nor an endless loop";
}

// Each byte of a client's first message is changed in turn. The server fails or waits for more; a handshake with a
// changed byte never succeeds.
TEST(HostilePeer, ChangedBytesOfAHello) {
    const SslContext context = SslContext::server(serverOptions());
    EnginePair pair;
    const std::string hello = pair.client.takeWire();
    for (std::size_t i = 0; i < hello.size(); ++i) {
        std::string changed = hello;
        changed[i] = static_cast<char>(changed[i] ^ 0x41);
        EngineSide server(context);
        server.receive(changed);
        EXPECT_FALSE(server.engine.handshakeDone());
        server.engine.endInput();
        server.receive();
        EXPECT_TRUE(server.engine.failed());
    }
}

// The whole conversation of a client is recorded, mutated, and sent to a new server, which never completes it.
TEST(HostilePeer, RandomMutationsOfARecordedHandshake) {
    const SslContext context = SslContext::server(serverOptions());
    EnginePair pair;
    std::string recorded = pair.client.takeWire();
    pair.server.receive(recorded);
    pair.client.receive(pair.server.takeWire());
    recorded += pair.client.takeWire();
    std::mt19937 random(37);
    for (int round = 0; round < 20'000; ++round) {
        std::string changed = recorded;
        for (unsigned i = 0; i <= random() % 4 && !changed.empty(); ++i) {
            const std::size_t at = random() % changed.size();
            switch (random() % 4) {
                case 0: changed[at] = static_cast<char>(random()); break;
                case 1: changed.erase(at, 1 + random() % 8); break;
                case 2: changed.insert(at, std::string(1 + random() % 8, static_cast<char>(random()))); break;
                default: changed.resize(at + 1);
            }
        }
        EngineSide server(context);
        while (!changed.empty() && !server.engine.failed()) {
            const std::size_t size = std::min<std::size_t>(changed.size(), 1 + random() % 400);
            server.receive(std::string_view(changed).substr(0, size));
            changed.erase(0, size);
        }
        EXPECT_FALSE(server.engine.handshakeDone());
        EXPECT_LT(server.takeWire().size(), 4096u);
    }
}

}  // namespace
}  // namespace weft::test
