// TlsStream: failures, waits that end early, and what is left of a write.
#include <weft/tls/tls_stream.hpp>

#include <array>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <weft/scheduler/non_suspending_scope.hpp>
#include <weft/scheduler/this_fiber.hpp>
#include <weft/tls/ssl_error.hpp>

#include "tls/sealed_records.hpp"
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
        auto reader = beside([&] {
            ErrorCode error;
            pair.client.read(10, error);
            return error;
        });
        thisFiber::yield();
        reader.cancel();
        EXPECT_EQ(reader.join(), operationAborted());
        pair.server.write("kept");
        EXPECT_EQ(pair.client.read(10).view(), "kept");
    });
}

TEST_P(TlsStreamEdges, ASecondReaderIsRefused) {
    inFiber([&] {
        TlsPair pair(server_, client_);
        auto reader = beside([&] {
            ErrorCode error;
            pair.client.read(10, error);
            return error;
        });
        thisFiber::yield();
        ErrorCode error;
        pair.client.read(10, error);
        EXPECT_EQ(error, fromErrno(EALREADY));
        pair.client.handshake(error);
        EXPECT_EQ(error, fromErrno(EALREADY));
        pair.client.close();
        EXPECT_EQ(reader.join(), operationAborted());
    });
}

// What a failed write has taken is sent nevertheless, once.
TEST_P(TlsStreamEdges, AWriteThatTimesOutMayGoOn) {
    const std::string sent = pattern(16 << 20);
    inFiber([&] {
        TlsPair pair(server_, client_);
        auto reader = beside([&] {
            pair.server.handshake();
            thisFiber::sleepFor(60ms);
            ErrorCode error;
            return readToEnd(pair.server, error) == sent && !error;
        });
        pair.client.handshake();
        std::size_t taken = 0;
        int timeouts = 0;
        while (taken < sent.size()) {
            pair.client.setDeadline(in(20ms));
            ErrorCode error;
            taken += pair.client.write(std::string_view(sent).substr(taken), error);
            if (!error) continue;
            ASSERT_EQ(error, timedOut());
            ++timeouts;
        }
        pair.client.setDeadline(never);
        pair.client.shutdownOutput();
        EXPECT_GT(timeouts, 0);
        EXPECT_TRUE(reader.join());
    });
}

TEST_P(TlsStreamEdges, ATriedWriteIsSentByTheStream) {
    inFiber([&] {
        TlsPair pair(server_, client_);
        ErrorCode error;
        std::array<char, 100> byte;
        EXPECT_EQ(pair.client.tryWrite({"early"}, error), 0u);
        EXPECT_EQ(error, fromErrno(EAGAIN));
        EXPECT_EQ(pair.client.tryRead(byte, error), 0u);
        EXPECT_EQ(error, fromErrno(EAGAIN));
        auto server = beside([&] { pair.server.handshake(); });
        pair.client.handshake();
        server.join();
        const std::string piece = pattern(50'000);
        std::string taken;
        for (error = {}; !error;) {
            const std::size_t count = pair.client.tryWrite({piece}, error);
            taken += piece.substr(0, count);
        }
        EXPECT_EQ(error, fromErrno(EAGAIN));
        EXPECT_GT(taken.size(), 100'000u);
        std::string received(taken.size(), '?');
        pair.server.readExactly(received);
        EXPECT_EQ(received, taken);
        pair.server.write("answer");
        std::size_t count = 0;
        while ((count = pair.client.tryRead(byte, error)) == 0 && error == fromErrno(EAGAIN)) thisFiber::yield();
        EXPECT_EQ(std::string(byte.data(), count), "answer");
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

// TLS 1.3 forbids to send between the halves of a message, so the writer reads the other half itself.
TEST_P(TlsStreamEdges, AWriteWaitsForTheRestOfAKeyUpdate) {
    inFiber([&] {
        Promise<void> halfSent, goOn;
        TlsStreamToPeer to(
            server_,
            [&](TlsPeer& peer) {
                EXPECT_TRUE(peer.shakeHands());
                SealedRecords records;
                peer.socket().send(records.seal(22, std::string_view("\x18\0\0\x01", 4)));
                halfSent.setValue();
                goOn.future().await();
                peer.socket().send(records.seal(22, std::string_view("\0", 1)));
                EXPECT_EQ(peer.receive(6), "waited");
            },
            &SealedRecords::configure);
        to.stream().handshake();
        halfSent.future().await();
        ErrorCode error;
        to.stream().setDeadline(in(20ms));
        to.stream().read(1, error);
        EXPECT_EQ(error, timedOut());
        EXPECT_EQ(to.stream().write("too early", error), 0u);
        EXPECT_EQ(error, timedOut());
        to.stream().setDeadline(never);
        to.stream().shutdownOutput(error);
        EXPECT_EQ(error, fromErrno(EAGAIN));
        goOn.setValue();
        to.stream().write("waited");
        EXPECT_TRUE(to.stream().read(1, error).empty());
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
        EXPECT_TRUE(answered);
    });
}

TEST_P(TlsStreamEdges, AStreamThatIsDestroyedWhileItSendsLeavesNothing) {
    inFiber([&] {
        TlsPair pair(server_, client_);
        auto server = beside([&] { pair.server.handshake(); });
        pair.client.handshake();
        server.join();
        ErrorCode error;
        const std::string piece(50'000, 'x');
        while (!error) pair.client.tryWrite({piece}, error);
        pair.client = TlsStream();
        pair.server = TlsStream();
    });
}

// The tickets that the client has not read must not cost the server the last bytes.
TEST_P(TlsStreamEdges, ACloseAfterAWriteLosesNothing) {
    const std::string sent = pattern(200'000);
    inFiber([&] {
        for (int i = 0; i < 20; ++i) {
            TlsPair pair(server_, client_);
            auto server = beside([&] { pair.server.handshake(); });
            pair.client.handshake();
            server.join();
            auto client = beside([&] {
                pair.client.write(sent);
                pair.client.close();
            });
            ErrorCode error;
            ASSERT_EQ(readToEnd(pair.server, error).size(), sent.size()) << error.message();
            ASSERT_FALSE(error) << error.message();
            client.join();
        }
    });
}

TEST_P(TlsStreamEdges, AnEndOfTheOutputWaitsUntilAllIsSent) {
    const std::string sent = pattern(8 << 20);
    inFiber([&] {
        TlsPair pair(server_, client_);
        auto client = beside([&] {
            pair.client.setDeadline(in(20ms));
            ErrorCode error;
            std::size_t taken = pair.client.write(sent, error);
            EXPECT_EQ(error, timedOut());
            pair.client.shutdownOutput(error);
            EXPECT_EQ(error, timedOut());
            pair.client.setDeadline(never);
            pair.client.shutdownOutput();
            pair.client.close();
            return taken;
        });
        pair.server.handshake();
        thisFiber::sleepFor(60ms);
        ErrorCode error;
        const std::size_t received = readToEnd(pair.server, error).size();
        EXPECT_FALSE(error) << error.message();
        EXPECT_EQ(client.join(), received);
    });
}

TEST_P(TlsStreamEdges, AWriteWhereNothingMayBlockIsSentLater) {
    const std::string sent = pattern(50'000);
    inFiber([&] {
        TlsPair pair(server_, client_);
        auto server = beside([&] { pair.server.handshake(); });
        pair.client.handshake();
        server.join();
        std::size_t taken = 0;
        {
            const NonSuspendingScope dispatch;
            try {
                for (;;) taken += (pair.client.write(sent), sent.size());
            } catch (const BlockingOperationException&) {  // the socket is full, and so is the stream
            }
        }
        std::string received(taken, '?');
        pair.server.readExactly(received);
        for (std::size_t at = 0; at < taken; at += sent.size()) ASSERT_EQ(received.substr(at, sent.size()), sent) << at;
    });
}

TEST_P(TlsStreamEdges, AWaitingReaderHoldsNoBuffer) {
    inFiber([&] {
        TlsPair pair(server_, client_);
        auto server = beside([&] { pair.server.handshake(); });
        pair.client.handshake();
        server.join();
        auto reader = beside([&] {
            ErrorCode error;
            pair.client.read(1, error);  // gets the tickets first
        });
        thisFiber::sleepFor(5ms);
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

INSTANTIATE_TEST_SUITE_P(Transports, TlsStreamEdges, ::testing::ValuesIn(transports()), nameOfTransport);

}  // namespace
}  // namespace weft::test
