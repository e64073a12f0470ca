// SslServerOptions::lookup: a context for a name that is found while the handshake waits.
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "tls/engine_pair.hpp"
#include "tls/libssl_peer.hpp"
#include "tls/tls_stream_bench.hpp"

namespace weft::test {
namespace {

using Step = SslEngine::Step;

SslContext contextOf(const std::string& name) {
    return SslContext::server(serverOptions(testAuthority().issue({.subject = name, .names = "DNS:" + name})));
}

// Answers "late.test", and notes what it was asked for.
struct Found {
    std::vector<std::string> asked;

    SslServerOptions options() {
        SslServerOptions options = serverOptions();
        options.names = {{"known.test", contextOf("known.test")}};
        options.lookup = [this](const std::string& name) -> std::optional<SslContext> {
            asked.push_back(name);
            if (name == "broken.test") throw SystemError(fromErrno(ENOENT), "the certificate of broken.test");
            if (name == "odd.test") throw std::runtime_error("odd");
            return name == "late.test" ? std::optional(contextOf(name)) : std::nullopt;
        };
        return options;
    }
};

// Runs the handshake, with the context of the lookup where one is asked for.
void run(EnginePair& pair) {
    pair.run();
    while (pair.server.step == Step::needContext) {
        pair.server.engine.choose(pair.server.engine.lookup()());
        pair.server.receive();
        pair.run();
    }
}

std::string served(const SslContext& server, std::string_view name) {
    SslClientOptions options;
    options.insecureWithoutVerification = true;
    EnginePair pair(server, SslContext::client(options), name);
    run(pair);
    EXPECT_TRUE(pair.client.engine.handshakeDone()) << pair.client.engine.errorText();
    const auto peer = pair.client.engine.peerCertificate();
    return peer ? peer->subject() : "none";
}

TEST(ContextLookup, IsAskedForNamesThatAreNotKnown) {
    Found found;
    const SslContext server = SslContext::server(found.options());
    EXPECT_EQ(served(server, "late.test"), "CN = late.test");
    EXPECT_EQ(served(server, "LATE.test."), "CN = late.test");
    EXPECT_EQ(served(server, "other.test"), "CN = localhost");
    EXPECT_EQ(found.asked, (std::vector<std::string>{"late.test", "late.test", "other.test"}));
    EXPECT_EQ(served(server, "known.test"), "CN = known.test");
    EXPECT_EQ(served(server, "127.0.0.1"), "CN = localhost");
    EXPECT_EQ(found.asked.size(), 3u);
}

TEST(ContextLookup, NothingGoesOnBeforeTheChoice) {
    Found found;
    EnginePair pair(SslContext::server(found.options()), SslContext::client(clientOptions()), "late.test");
    pair.server.receive(pair.client.takeWire());
    EXPECT_EQ(pair.server.step, Step::needContext);
    EXPECT_EQ(pair.server.engine.requestedName(), "late.test");
    EXPECT_FALSE(pair.server.engine.canShakeHands());
    pair.server.receive();
    EXPECT_EQ(pair.server.step, Step::needInput);
    EXPECT_EQ(pair.server.takeWire(), "");
    EXPECT_THROW(pair.server.engine.choose(SslContext::client(clientOptions())), std::invalid_argument);
    pair.server.engine.choose(contextOf("late.test"));
    EXPECT_TRUE(pair.server.engine.canShakeHands());
    pair.server.receive();
    pair.run();
    EXPECT_TRUE(pair.server.engine.handshakeDone());
    EXPECT_EQ(pair.server.engine.serverName(), "late.test");
}

TEST(ContextLookup, TheRulesOfTheFoundContextApply) {
    SslServerOptions strict = serverOptions();
    strict.clientAuth = ClientAuth::required;
    strict.trust = PemSource::text(testAuthority().certificate());
    SslServerOptions options = serverOptions();
    options.lookup = [context = SslContext::server(strict)](const std::string&) { return context; };
    EnginePair pair(SslContext::server(options), SslContext::client(clientOptions()));
    run(pair);
    EXPECT_EQ(pair.server.engine.error(), SslError::certificateMissing);
}

TEST(ContextLookup, ASecondHelloIsNotLookedUpAgain) {
    Found found;
    EngineSide side(SslContext::server(found.options()));
    LibsslPeer peer(LibsslPeer::Side::client, [](::SSL_CTX* context) {
        ::SSL_CTX_set1_groups_list(context, "P-521:P-256");  // the server asks for another hello
        ::SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
    });
    SSL_set_tlsext_host_name(peer.ssl(), "late.test");
    peer.talkTo(side);
    ASSERT_EQ(side.step, Step::needContext);
    side.engine.choose(side.engine.lookup()());
    side.receive();
    peer.receive(side.takeWire());
    peer.talkTo(side);
    EXPECT_TRUE(side.engine.handshakeDone()) << side.engine.errorText();
    EXPECT_EQ(found.asked.size(), 1u);
}

TEST(ContextLookup, ARefusalIsAnAlertForTheClient) {
    Found found;
    EnginePair pair(SslContext::server(found.options()), SslContext::client(clientOptions()), "late.test");
    pair.run();
    pair.server.engine.refuse(fromErrno(ENOENT), "no such file", pair.server.wire);
    pair.run();
    pair.server.receive();
    EXPECT_EQ(pair.server.step, Step::failed);
    EXPECT_EQ(pair.server.engine.error(), fromErrno(ENOENT));
    EXPECT_EQ(pair.server.engine.errorText(), "no such file");
    EXPECT_EQ(pair.client.engine.error(), SslError::alertReceived);
}

TEST(ContextLookup, NothingIsSignedForAClientThatHasGone) {
    Found found;
    EnginePair pair(SslContext::server(found.options()), SslContext::client(clientOptions()), "late.test");
    pair.server.receive(pair.client.takeWire());
    pair.server.engine.endInput();
    pair.server.engine.choose(contextOf("late.test"));
    pair.server.receive();
    EXPECT_EQ(pair.server.engine.error(), SslError::truncated);
    EXPECT_EQ(pair.server.takeWire(), "");
}

// ---- with connections ----

class LookupTest : public SslHandlerTest {
  protected:
    static void asking(TlsPeer& peer, const char* name) { SSL_set_tlsext_host_name(peer.ssl(), name); }
    // Both kinds of servers.
    Server serveStreams(const SslServerOptions& tls, const TlsStreamOptions& options = {}) {
        ServerBootstrap bootstrap(*group);
        bootstrap.childFiber([this, options, context = SslContext::server(tls)](TcpStream socket) {
            TlsStream stream(std::move(socket), context, options);
            ErrorCode error;
            stream.handshake(error);
            story.add(error ? "handshake failed: " + error.message() : "handshake");
            if (error) return;
            for (Buffer bytes = stream.read(4096); !bytes.empty(); bytes = stream.read(4096))
                stream.write(bytes.view());
        });
        return bootstrap.bind(anyPort).sync().channel();
    }
};

// While one waits, the carrier goes on.
TEST_P(LookupTest, MayBlock) {
    for (const bool ofFibers : {false, true}) {
        Promise<void> asked, open;
        SslServerOptions options = serverOptions();
        options.lookup = [&](const std::string& name) -> std::optional<SslContext> {
            if (name != "late.test") return std::nullopt;
            asked.setValue();
            open.future().await();
            return contextOf(name);
        };
        Server server = ofFibers ? serveStreams(options) : serve({}, options);
        TlsPeer late(server.localAddress());
        asking(late, "late.test");
        std::thread waits([&] {
            EXPECT_TRUE(late.shakeHands());
            late.send("late");
            EXPECT_EQ(late.receive(4), "late");
        });
        asked.future().get();
        TlsPeer other(server.localAddress());
        asking(other, "other.test");
        EXPECT_TRUE(other.shakeHands());
        other.send("hello");
        EXPECT_EQ(other.receive(5), "hello");
        open.setValue();
        waits.join();
    }
}

TEST_P(LookupTest, WhatItThrowsEndsTheHandshake) {
    Found found;
    for (const bool ofFibers : {false, true}) {
        Server server = ofFibers ? serveStreams(found.options()) : serve({}, found.options());
        for (const char* name : {"broken.test", "odd.test"}) {
            TlsPeer peer(server.localAddress());
            asking(peer, name);
            EXPECT_FALSE(peer.shakeHands());
        }
        EXPECT_TRUE(eventually([&] { return server.liveChildren() == 0; }));
    }
    EXPECT_TRUE(story.has("handshake failed: No such file or directory"));
    EXPECT_TRUE(story.has("handshake failed: Input/output error"));
}

TEST_P(LookupTest, EndsWithTheHandshakesTimeout) {
    std::atomic<int> aborted{0};
    SslServerOptions options = serverOptions();
    options.lookup = [&](const std::string&) -> std::optional<SslContext> {
        ErrorCode error;
        thisFiber::sleepFor(std::chrono::hours(1), error);
        if (error == operationAborted()) ++aborted;
        throw SystemError(error, "asleep");
    };
    for (const bool ofFibers : {false, true}) {
        Server server =
            ofFibers ? serveStreams(options, {.handshakeTimeout = 20ms}) : serve({.handshakeTimeout = 20ms}, options);
        TlsPeer peer(server.localAddress());
        asking(peer, "late.test");
        EXPECT_FALSE(peer.shakeHands());
        EXPECT_TRUE(eventually([&] { return server.liveChildren() == 0; }));
    }
    EXPECT_TRUE(eventually([&] { return aborted == 2; }));
    EXPECT_TRUE(story.has("handshake failed: " + timedOut().message()));
}

TEST_P(LookupTest, AClientMayLeaveMeanwhile) {
    Promise<void> asked, open;
    SslServerOptions options = serverOptions();
    options.lookup = [&](const std::string&) -> std::optional<SslContext> {
        asked.setValue();
        open.future().await();
        return std::nullopt;
    };
    Server server = serve({}, options);
    {
        TlsPeer peer(server.localAddress());
        asking(peer, "late.test");
        peer.greet();
        asked.future().get();
    }
    open.setValue();
    EXPECT_TRUE(eventually([&] { return server.liveChildren() == 0; }));
}

INSTANTIATE_TEST_SUITE_P(EachTransport, LookupTest, ::testing::ValuesIn(transports()), nameOfTransport);

}  // namespace
}  // namespace weft::test
