// TlsStream: failures, and waits that end early. What is left of a write: tls_stream_write_test.cpp.
#include <weft/tls/tls_stream.hpp>

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <weft/pipeline/buffer_pool.hpp>
#include <weft/scheduler/this_fiber.hpp>
#include <weft/tls/ssl_error.hpp>

#include "tls/tls_stream_bench.hpp"

namespace weft::test {
namespace {

class TlsStreamEdges : public TlsStreamBench {};

Deadline in(Duration time) {
    return deadlineAfter(time);
}

TEST_P(TlsStreamEdges, AServerOfAnotherNameIsRefusedByBoth) {
    inFiber([&] {
        TlsPair pair(server_, client_, "example.org");
        auto server = beside([&] {
            ErrorCode error;
            pair.server.handshake(error);
            return error ? error : (pair.server.read(1, error), error);
        });
        try {
            pair.client.write("secret");
            FAIL() << "no exception";
        } catch (const SystemError& error) {
            EXPECT_EQ(error.code(), SslError::wrongName);
            EXPECT_NE(std::string(error.what()).find("certificate verify failed"), std::string::npos) << error.what();
        }
        EXPECT_EQ(server.join(), SslError::alertReceived);
        ErrorCode again;
        pair.client.read(1, again);
        EXPECT_EQ(again, SslError::wrongName);
    });
}

TEST_P(TlsStreamEdges, APeerThatIsSilentIsLeft) {
    inFiber([&] {
        TcpListener listener = TcpListener::listen(anyPort);
        const TcpStream silent = TcpStream::connect(listener.localAddress(), testDeadline());
        TlsStream stream(listener.accept(testDeadline()), server_, {.handshakeTimeout = 30ms});
        auto writer = beside([&] {
            ErrorCode error;
            stream.write("hello", error);
            return error;
        });
        try {
            stream.read(1);
            FAIL() << "no exception";
        } catch (const SystemError& error) {
            EXPECT_EQ(error.code(), timedOut());
            EXPECT_NE(std::string(error.what()).find("the TLS handshake took too long"), std::string::npos)
                << error.what();
        }
        EXPECT_EQ(writer.join(), timedOut());
    });
}

TEST_P(TlsStreamEdges, ADeadlineEndsAWaitAndTheNextCallGoesOn) {
    inFiber([&] {
        TlsPair pair(server_, client_);
        ErrorCode error;
        pair.client.setDeadline(in(20ms));
        pair.client.handshake(error);
        EXPECT_EQ(error, timedOut());
        pair.client.setDeadline(never);
        auto server = beside([&] {
            pair.server.handshake();
            pair.server.setDeadline(in(20ms));
            ErrorCode late;
            pair.server.read(1, late);
            EXPECT_EQ(late, timedOut());
            pair.server.setDeadline(never);
            pair.server.write(pair.server.read(5).view());
        });
        pair.client.handshake();
        while (pair.server.session().protocol().empty()) thisFiber::yield();
        thisFiber::sleepFor(40ms);
        pair.client.write("hello");
        EXPECT_EQ(pair.client.read(5).view(), "hello");
        server.join();
    });
}

TEST_P(TlsStreamEdges, ACancelledReadLosesNothing) {
    inFiber([&] {
        TlsPair pair(server_, client_);
        auto server = beside([&] { pair.server.handshake(); });
        pair.client.handshake();
        server.join();
        bool reads = false;
        auto reader = beside([&] {
            ErrorCode error;
            reads = true;
            pair.client.read(10, error);
            return error;
        });
        while (!reads) thisFiber::yield();
        reader.cancel();
        EXPECT_EQ(reader.join(), operationAborted());
        pair.server.write("kept");
        EXPECT_EQ(pair.client.read(10).view(), "kept");
    });
}

TEST_P(TlsStreamEdges, ASecondReaderIsRefused) {
    inFiber([&] {
        TlsPair pair(server_, client_);
        bool reads = false;
        auto reader = beside([&] {
            ErrorCode error;
            reads = true;
            pair.client.read(10, error);
            return error;
        });
        while (!reads) thisFiber::yield();
        ErrorCode error;
        pair.client.read(10, error);
        EXPECT_EQ(error, fromErrno(EALREADY));
        pair.client.handshake(error);
        EXPECT_EQ(error, fromErrno(EALREADY));
        pair.client.close();
        EXPECT_EQ(reader.join(), operationAborted());
    });
}

TEST_P(TlsStreamEdges, ACloseEndsTheWaitsOfBothDirections) {
    inFiber([&] {
        TlsPair pair(server_, client_);
        auto server = beside([&] { pair.server.handshake(); });
        pair.client.handshake();
        server.join();
        auto reader = beside([&] {
            ErrorCode error;
            pair.client.read(1, error);
            return error;
        });
        auto writer = beside([&] {
            ErrorCode error;
            pair.client.write(std::string(32 << 20, 'x'), error);
            return error;
        });
        thisFiber::sleepFor(5ms);
        pair.client.close();
        EXPECT_EQ(reader.join(), operationAborted());
        EXPECT_EQ(writer.join(), operationAborted());
        ErrorCode error;
        pair.client.write("x", error);
        EXPECT_EQ(error, operationAborted());
    });
}

TEST_P(TlsStreamEdges, AnEndWithoutCloseNotifyIsATruncation) {
    inFiber([&] {
        TlsStreamToPeer to(server_, [](TlsPeer& peer) {
            EXPECT_TRUE(peer.shakeHands());
            peer.send("half of it");
            peer.socket().endOutput();
            peer.receiveToEnd();
        });
        ErrorCode error;
        EXPECT_EQ(readToEnd(to.stream(), error), "half of it");
        EXPECT_EQ(error, SslError::truncated);
    });
}

TEST_P(TlsStreamEdges, AnEndInTheHandshakeIsATruncation) {
    inFiber([&] {
        TlsStreamToPeer to(server_, [](TlsPeer& peer) {
            peer.socket().send("\x16\x03\x01");
            peer.socket().close();
        });
        ErrorCode error;
        to.stream().handshake(error);
        EXPECT_EQ(error, SslError::truncated);
    });
}

TEST_P(TlsStreamEdges, PlainTextIsNotTls) {
    inFiber([&] {
        TlsStreamToPeer to(server_, [](TlsPeer& peer) {
            peer.socket().send("GET / HTTP/1.1\r\n\r\n");
            peer.socket().receive();
        });
        ErrorCode error;
        to.stream().read(1, error);
        EXPECT_EQ(error, SslError::notTls);
    });
}

TEST_P(TlsStreamEdges, KeyUpdatesAreAnsweredByAReader) {
    inFiber([&] {
        bool answered = false;
        TlsStreamToPeer to(server_, [&](TlsPeer& peer) {
            EXPECT_TRUE(peer.shakeHands());
            for (int i = 0; i < 3; ++i) {
                peer.updateKeys();
                peer.send("x");
            }
            answered = peer.receive(2) == "ok";
        });
        std::string bytes(3, '?');
        to.stream().readExactly(bytes);
        EXPECT_EQ(bytes, "xxx");
        to.stream().write("ok");
        ErrorCode error;
        to.stream().read(1, error);
        to.awaitEnd();
        EXPECT_TRUE(answered);
    });
}

TEST_P(TlsStreamEdges, AWaitingReaderHoldsNoBuffer) {
    inFiber([&] {
        TlsPair pair(server_, client_);
        auto server = beside([&] { pair.server.handshake(); });
        pair.client.handshake();
        server.join();
        const auto blocks = BufferPool::liveBlocks();
        auto reader = beside([&] {
            ErrorCode error;
            pair.client.read(1, error);  // gets the tickets first
        });
        thisFiber::sleepFor(5ms);
        const int ofTheRing = GetParam() == Transport::Kind::ioUring ? 1 : 0;  // io_uring keeps one for the next bytes
        EXPECT_LE(BufferPool::liveBlocks(), blocks + ofTheRing);
        EXPECT_FALSE(pair.client.holdsInput());
        pair.client.close();
        reader.join();
    });
}

TEST_P(TlsStreamEdges, APlainStreamThatWasMovedInIsToldApart) {
    inFiber([&] {
        TlsPair pair(server_, client_);
        TlsPair other(server_, client_);
        TcpStream& base = pair.client;
        base = TcpStream::connect(pair.tcp.listener.localAddress(), testDeadline());
        ErrorCode error;
        pair.client.handshake(error);
        EXPECT_EQ(error, fromErrno(EPROTONOSUPPORT));
    });
}

// The peer learns that nothing was cut off.
TEST_P(TlsStreamEdges, ADrainOfAServerOfFibersEndsWithACloseNotify) {
    ServerBootstrap bootstrap(*group_);
    bootstrap.childFiber([this](TcpStream socket) {
        TlsStream stream(std::move(socket), server_);
        for (Buffer bytes = stream.read(4096); !bytes.empty(); bytes = stream.read(4096)) stream.write(bytes.view());
    });
    Server server = bootstrap.bind(anyPort).sync().channel();
    TlsPeer peer(server.localAddress());
    ASSERT_TRUE(peer.shakeHands());
    peer.send("hello");
    EXPECT_EQ(peer.receive(5), "hello");
    TlsPeer silent(server.localAddress());  // in its handshake
    EXPECT_TRUE(eventually([&] { return server.liveChildren() == 2; }));
    EXPECT_EQ(server.drain(20s), 0u);
    EXPECT_EQ(peer.receiveToEnd(), "");
    EXPECT_TRUE(peer.sawCloseNotify());
}

TEST_P(TlsStreamEdges, AReaderAndAWriterThatShakeHandsTogetherTakeOnePlace) {
    SslServerOptions options = serverOptions();
    options.mostHandshakes = 1;
    const SslContext server = SslContext::server(options);
    inFiber([&] {
        std::vector<std::unique_ptr<TlsPair>> pairs;  // kept: none of them may keep a place
        for (int round = 0; round < 4; ++round) {
            std::vector<JoinHandle<void>> fibers;
            for (int each = 0; each < 3; ++each) {
                pairs.push_back(std::make_unique<TlsPair>(server, client_));
                for (TlsStream* const stream : {&pairs.back()->client, &pairs.back()->server}) {
                    fibers.push_back(beside([stream] { stream->write("hello"); }));
                    fibers.push_back(beside([stream] {
                        std::array<char, 5> bytes;
                        stream->readExactly(bytes);
                        EXPECT_EQ(std::string_view(bytes.data(), bytes.size()), "hello");
                    }));
                }
            }
            for (JoinHandle<void>& fiber : fibers) fiber.join();
        }
    });
}

TEST_P(TlsStreamEdges, ACloseEndsTheWaitForATurn) {
    SslServerOptions options = serverOptions();
    options.mostHandshakes = 1;
    const SslContext context = SslContext::server(options);
    inFiber([&] {
        LibsslPeer greeting(LibsslPeer::Side::client);
        greeting.receive({});
        const std::string hello = greeting.takeWire();
        const TlsStreamOptions withoutLimit{.handshakeTimeout = Duration::zero()};
        TlsPair::Tcp firstSocket, secondSocket;
        TlsStream first(std::move(firstSocket.server), context, withoutLimit);
        TlsStream second(std::move(secondSocket.server), context, withoutLimit);
        firstSocket.client.write(hello);
        secondSocket.client.write(hello);
        ErrorCode firstError, secondError;
        auto running = beside([&] { first.handshake(firstError); });
        EXPECT_FALSE(firstSocket.client.read(1).empty());  // it has its place
        auto waiting = beside([&] { second.handshake(secondError); });
        thisFiber::sleepFor(5ms);
        second.close();
        waiting.join();
        EXPECT_EQ(secondError, operationAborted());
        first.close();
        running.join();
        EXPECT_EQ(firstError, operationAborted());
    });
}

INSTANTIATE_TEST_SUITE_P(Transports, TlsStreamEdges, ::testing::ValuesIn(transports()), nameOfTransport);

}  // namespace
}  // namespace weft::test
