// TlsStream: bytes in both directions, the handshake in whichever call comes first, and ends. What a peer does against
// the rules, and waits that end early: tls_stream_edges_test.cpp.
#include <weft/tls/tls_stream.hpp>

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include <weft/scheduler/this_fiber.hpp>

#include "tls/tls_stream_bench.hpp"

namespace weft::test {
namespace {

class TlsStreamTest : public TlsStreamBench {};

void echo(TcpStream& stream) {
    ErrorCode error;
    for (Buffer bytes = stream.read(4096, error); !bytes.empty(); bytes = stream.read(4096, error))
        stream.write(bytes.view());
}

TEST_P(TlsStreamTest, EchoesAThousandRoundTrips) {
    inFiber([&] {
        TlsPair pair(server_, client_);
        auto server = beside([&] { echo(pair.server); });
        for (int i = 0; i < 1000; ++i) {
            const std::string message = "message " + std::to_string(i);
            std::string answer(message.size(), '?');
            pair.client.write(message);
            pair.client.readExactly(answer);
            ASSERT_EQ(answer, message);
        }
        pair.client.close();
        server.join();
    });
}

TEST_P(TlsStreamTest, AHandshakeNegotiates) {
    inFiber([&] {
        TlsPair pair(server_, client_);
        auto server = beside([&] { pair.server.handshake(); });
        pair.client.handshake();
        server.join();
        EXPECT_EQ(pair.client.session().protocol(), "TLSv1.3");
        EXPECT_EQ(pair.server.session().serverName(), "localhost");
        EXPECT_EQ(pair.client.remoteAddress(), pair.server.localAddress());
        pair.client.handshake();  // once more: does nothing
    });
}

TEST_P(TlsStreamTest, AServerMaySpeakFirst) {
    inFiber([&] {
        TlsPair pair(server_, client_);
        auto server = beside([&] { pair.server.write("220 ready"); });
        std::string greeting(9, '?');
        pair.client.readExactly(greeting);
        EXPECT_EQ(greeting, "220 ready");
        server.join();
    });
}

// On each side one fiber reads while another one writes, from before the handshake on.
TEST_P(TlsStreamTest, BothDirectionsAtOnce) {
    const std::string bytes = pattern(3 << 20);
    inFiber([&] {
        TlsPair pair(server_, client_);
        const auto send = [&bytes](TlsStream& stream) {
            return [&stream, &bytes] {
                stream.write(bytes);
                stream.shutdownOutput();
            };
        };
        auto fromClient = beside(send(pair.client));
        auto fromServer = beside(send(pair.server));
        ErrorCode error;
        auto atClient = beside([&] { return readToEnd(pair.client, error) == bytes; });
        ErrorCode serverError;
        EXPECT_EQ(readToEnd(pair.server, serverError), bytes);
        EXPECT_TRUE(atClient.join());
        EXPECT_FALSE(error) << error.message();
        EXPECT_FALSE(serverError) << serverError.message();
        fromClient.join();
        fromServer.join();
    });
}

TEST_P(TlsStreamTest, ReadsOfAnySizeGetTheBytesOfARecord) {
    inFiber([&] {
        TlsPair pair(server_, client_);
        const std::string sent = pattern(100'000);
        auto writer = beside([&] { pair.server.write(sent); });
        std::string received;
        for (std::size_t size = 1; received.size() < sent.size(); size = size * 3 % 20'011) {
            std::string bytes(std::min(size, sent.size() - received.size()), '?');
            bytes.resize(size % 2 == 0 ? pair.client.read(std::span(bytes)) : 0);
            if (bytes.empty()) bytes = std::string(pair.client.read(size).view());
            ASSERT_LE(bytes.size(), size);
            received += bytes;
        }
        EXPECT_EQ(received, sent);
        writer.join();
    });
}

TEST_P(TlsStreamTest, AnEndOfTheOutputIsACloseNotifyAndReadingGoesOn) {
    inFiber([&] {
        TlsPair pair(server_, client_);
        auto server = beside([&] {
            ErrorCode error;
            EXPECT_EQ(readToEnd(pair.server, error), "request");
            EXPECT_FALSE(error) << error.message();
            pair.server.write("answer after your end");
            pair.server.close();
        });
        pair.client.write("request");
        pair.client.shutdownOutput();
        pair.client.shutdownOutput();
        ErrorCode error;
        EXPECT_EQ(pair.client.write("more", error), 0u);
        EXPECT_EQ(error, fromErrno(EPIPE));
        EXPECT_EQ(readToEnd(pair.client, error), "answer after your end");
        EXPECT_FALSE(error) << error.message();
        server.join();
    });
}

TEST_P(TlsStreamTest, AnEndOfTheOutputShakesHandsFirst) {
    inFiber([&] {
        TlsPair pair(server_, client_);
        auto server = beside([&] { return pair.server.read(10).empty(); });
        pair.client.shutdownOutput();
        EXPECT_TRUE(server.join());
    });
}

TEST_P(TlsStreamTest, IsATcpStreamThatMayBeMoved) {
    inFiber([&] {
        TlsPair pair(server_, client_);
        auto server = beside([stream = TcpStream(std::move(pair.server))]() mutable { echo(stream); });
        TlsStream moved = std::move(pair.client);
        moved.write("moved");
        std::string answer(5, '?');
        moved.readExactly(answer);
        EXPECT_EQ(answer, "moved");
        EXPECT_EQ(moved.session().protocol(), "TLSv1.3");
        EXPECT_FALSE(pair.client.isOpen());
        moved = TlsStream();
        server.join();
    });
}

TEST_P(TlsStreamTest, SmallPartsShareARecord) {
    inFiber([&] {
        std::vector<std::string> records;
        TlsStreamToPeer to(server_, [&](TlsPeer& peer) {
            EXPECT_TRUE(peer.shakeHands());
            peer.send("ready");
            peer.receive(SslEngine::youngBytes);  // with the tickets
            peer.send("go on");
            std::string wire;
            while (wire.size() < 10'000) wire += peer.socket().receive();
            records = EnginePair::records(wire);
        });
        std::string ready(5, '?');
        to.stream().readExactly(ready);
        to.stream().write(std::string(SslEngine::youngBytes, 'y'));  // records are small before
        to.stream().readExactly(ready);
        const std::string head(100, 'h'), body(9'900, 'b');
        to.stream().write({head, "", body});
        ErrorCode error;
        to.stream().read(1, error);  // the peer ends
        to.awaitEnd();
        EXPECT_EQ(records.size(), 1u);
    });
}

TEST_P(TlsStreamTest, ContextsOfTheOtherSideAreRefused) {
    inFiber([&] {
        TlsPair pair(server_, client_);
        EXPECT_THROW(TlsStream(TcpStream(), client_), std::invalid_argument);
        EXPECT_THROW(TlsStream(TcpStream(), server_, "localhost"), std::invalid_argument);
        EXPECT_THROW(TlsStream(TcpStream(), server_, {.handshakeTimeout = -1ns}), std::invalid_argument);
        TlsStream closed(TcpStream(), server_);
        ErrorCode error;
        closed.handshake(error);
        EXPECT_EQ(error, operationAborted());
        EXPECT_FALSE(closed.isOpen());
    });
}

TEST_P(TlsStreamTest, OptionsAreTheSockets) {
    inFiber([&] {
        TlsPair pair(server_, client_);
        int value = 0;
        EXPECT_FALSE(pair.client.setOption(SocketOption::keepAlive, 1));
        EXPECT_FALSE(pair.client.getOption(SocketOption::keepAlive, value));
        EXPECT_EQ(value, 1);
    });
}

INSTANTIATE_TEST_SUITE_P(Transports, TlsStreamTest, ::testing::ValuesIn(transports()), nameOfTransport);

}  // namespace
}  // namespace weft::test
