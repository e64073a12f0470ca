// The end of reads by fibers on io_uring: resets, streams that are destroyed while their receive runs, and the end of
// the loop.
#include <array>
#include <cerrno>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <liburing.h>

#include <weft/transports/tcp_stream.hpp>

#include "support/pattern.hpp"
#include "transports/scripted_uring_calls.hpp"
#include "transports/tcp_pair.hpp"
#include "transports/uring_reader_bench.hpp"

namespace weft::test {
namespace {

TEST_F(UringFiberReader, ATryTakesAResetAndLaterCallsReportItToo) {
    UringHost host;
    inFiber(host, [&] {
        TcpPair pair;
        startReceive(pair.client);
        pair.server.setOption(SocketOption::linger, 0);
        pair.server.close();
        ErrorCode error;
        std::array<char, 4> bytes;
        EXPECT_EQ(pair.client.tryRead(bytes, error), 0u);
        EXPECT_EQ(error, fromErrno(ECONNRESET));
        pair.client.read(bytes, error);
        EXPECT_EQ(error, fromErrno(ECONNRESET));
        pair.client.write(std::string_view("x"), error);
        EXPECT_EQ(error, fromErrno(ECONNRESET));
    });
}

// The waiting write receives the reset first, and the receive sees only an end; no fiber has run since.
TEST_F(UringFiberReader, ATryReportsAResetSeenByAWriteInTheRing) {
    UringHost host;
    inFiber(host, [&] {
        TcpPair pair;
        startReceive(pair.client);
        auto writer = host.carrier().spawn([&] {
            const std::string endless(64 << 20, 'x');
            ErrorCode error;
            pair.client.write(endless, error);
            return error;
        });
        for (int i = 0; i < 100; ++i) letTheLoopPoll(host);
        pair.server.setOption(SocketOption::linger, 0);
        pair.server.close();
        ErrorCode error;
        std::array<char, 4> bytes;
        EXPECT_EQ(pair.client.tryRead(bytes, error), 0u);
        EXPECT_EQ(error, fromErrno(ECONNRESET));
        EXPECT_EQ(writer.join(), fromErrno(ECONNRESET));
    });
}

TEST_F(UringFiberReader, AStreamThatIsDestroyedWithItsReceiveRunningClosesItsSocket) {
    const DescriptorGuard guard;
    UringHost host;
    inFiber(host, [&] {
        TcpPair pair;
        startReceive(pair.client);
        pair.client = TcpStream();
        std::array<char, 1> byte;
        pair.server.setDeadline(testDeadline());
        EXPECT_EQ(pair.server.read(byte), 0u) << "the peer sees the end";
    });
}

// Even in a loop task, where waiting is forbidden, and with unread bytes.
TEST_F(UringFiberReader, AStreamMayBeDestroyedByALoopTask) {
    const DescriptorGuard guard;
    UringHost host;
    auto pair = std::make_unique<TcpPair*>(nullptr);
    inFiber(host, [&] {
        *pair = new TcpPair;
        startReceive((*pair)->client);
        startReceive((*pair)->server);
    });
    host.inLoop([&] {
        ErrorCode error;
        (*pair)->server.tryWrite({"unread"}, error);
        delete *pair;
    });
}

TEST_F(UringFiberReader, TheEndOfALoopEndsTheReceivesOfStreamsThatAreLeft) {
    const DescriptorGuard guard;
    std::unique_ptr<TcpPair> pair;
    UringHost host;
    inFiber(host, [&] {
        pair = std::make_unique<TcpPair>();
        startReceive(pair->client);
        startReceive(pair->server);
    });
    host.stop();
    inFiber(host, [&] {
        EXPECT_FALSE(pair->client.isOpen());
        pair.reset();
    });
}

// Even when the loop's budget lets the fiber read between the pieces, so that few of them are kept at a time.
TEST_F(UringFiberReader, AResetBehindManyUnreadPiecesIsReported) {
    const DescriptorGuard guard;
    UringHost host({}, UringCalls::kernel(), {.ioEvents = 8});
    inFiber(host, [&] {
        for (const std::size_t size : {1'000, 60'000, 70'000, 100'000, 200'000}) {
            TcpPair pair;  // the ring knows a client's socket from its connect on and polls it first
            pair.server.write(pattern(size));
            ASSERT_FALSE(pair.server.setOption(SocketOption::linger, 0));
            pair.server.close();
            pair.client.setDeadline(testDeadline());
            ErrorCode error;
            std::size_t got = 0;
            std::array<char, 1500> bytes;
            while (std::size_t count = pair.client.read(bytes, error)) got += count;
            EXPECT_EQ(error, fromErrno(ECONNRESET)) << "after " << got << " of " << size << " bytes";
        }
    });
}

// Some kernels do so when the reset arrives together with bytes (docs/adr/0009).
TEST_F(UringFiberReader, AResetThatTheReceiveDoesNotReportIsReported) {
    const DescriptorGuard guard;
    ScriptedUringCalls calls;
    calls.ignore(IORING_OP_RECV);
    UringHost host({}, calls);
    inFiber(host, [&] {
        TcpPair pair;
        startReceive(pair.client);
        ASSERT_FALSE(pair.server.setOption(SocketOption::linger, 0));
        pair.server.close();
        ErrorCode error;
        std::array<char, 1> byte;
        EXPECT_EQ(pair.client.read(byte, error), 0u);
        EXPECT_EQ(error, fromErrno(ECONNRESET));
    });
    EXPECT_EQ(calls.left(), 0u);
}

TEST_F(UringFiberReader, AResetThatCameWhileNothingWasReadIsReported) {
    UringHost host;
    inFiber(host, [&] {
        for (const std::size_t size : {1'000, 70'000, 300'000}) {
            TcpPair pair;
            startReceive(pair.client);
            pair.server.write(pattern(size));
            letTheLoopPoll(host);
            ASSERT_FALSE(pair.server.setOption(SocketOption::linger, 0));
            pair.server.close();
            letTheLoopPoll(host);
            pair.client.setDeadline(testDeadline());
            ErrorCode error;
            std::size_t got = 0;
            while (const std::size_t count = pair.client.read(1000, error).readableBytes()) got += count;
            EXPECT_EQ(error, fromErrno(ECONNRESET)) << "after " << got << " of " << size << " bytes";
        }
    });
}

// The loop has ended without having known the socket: its ring no longer exists.
TEST_F(UringFiberReader, AStreamThatNeverWaitedOutlivesItsLoop) {
    const DescriptorGuard guard;
    UringHost host;
    std::unique_ptr<TcpPair> pair;
    inFiber(host, [&] { pair = std::make_unique<TcpPair>(); });
    host.stop();
    inFiber(host, [&] {
        ErrorCode error;
        std::array<char, 1> byte;
        pair->server.shutdownOutput(error);
        EXPECT_FALSE(error) << error.message();
        pair->server.tryWrite({"x"}, error);
        EXPECT_EQ(error, fromErrno(EPIPE));
        pair->server.write(std::string_view("x"), error);
        EXPECT_EQ(error, fromErrno(EPIPE));
        pair->server.tryRead(byte, error);
        pair.reset();
    });
}

}  // namespace
}  // namespace weft::test
