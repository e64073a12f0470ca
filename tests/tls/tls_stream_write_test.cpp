// TlsStream: writes that end early or wait for the peer, and what is left of them at the end of the stream.
#include <weft/tls/tls_stream.hpp>

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include <weft/scheduler/non_suspending_scope.hpp>
#include <weft/scheduler/this_fiber.hpp>

#include "tls/sealed_records.hpp"
#include "tls/tls_stream_bench.hpp"

namespace weft::test {
namespace {

class TlsStreamWrites : public TlsStreamBench {};

Deadline in(Duration time) {
    return deadlineAfter(time);
}

// What a failed write has taken is sent nevertheless, once.
TEST_P(TlsStreamWrites, AWriteThatTimesOutMayGoOn) {
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

TEST_P(TlsStreamWrites, ATriedWriteIsSentByTheStream) {
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

TEST_P(TlsStreamWrites, AStreamThatIsDestroyedWhileItSendsLeavesNothing) {
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
TEST_P(TlsStreamWrites, ACloseAfterAWriteLosesNothing) {
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

TEST_P(TlsStreamWrites, AnEndOfTheOutputWaitsUntilAllIsSent) {
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

TEST_P(TlsStreamWrites, AWriteWhereNothingMayBlockIsSentLater) {
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

// TLS 1.3 forbids to send between the halves of a message, so the writer reads the other half itself.
TEST_P(TlsStreamWrites, AWriteWaitsForTheRestOfAKeyUpdate) {
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

INSTANTIATE_TEST_SUITE_P(Transports, TlsStreamWrites, ::testing::ValuesIn(transports()), nameOfTransport);

}  // namespace
}  // namespace weft::test
