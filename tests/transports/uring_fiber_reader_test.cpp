// Reads by fibers on io_uring: one receive serves them all, keeps early bytes, and outlives its stream.
#include <array>
#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <liburing.h>

#include <weft/pipeline/buffer_pool.hpp>
#include <weft/scheduler/non_suspending_scope.hpp>
#include <weft/scheduler/this_fiber.hpp>
#include <weft/transports/fiber_stream.hpp>
#include <weft/transports/tcp_stream.hpp>

#include "support/pattern.hpp"
#include "transports/scripted_uring_calls.hpp"
#include "transports/tcp_pair.hpp"
#include "transports/uring_host.hpp"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

class UringFiberReader : public UringTransport {
  protected:
    template <class F>
    static void inFiber(UringHost& host, F fn) {
        host.carrier().spawn(std::move(fn)).join();
    }
    // Starts the receive of a stream and leaves it running.
    static void startReceive(TcpStream& stream) {
        ErrorCode error;
        std::array<char, 1> byte;
        stream.setDeadline(Clock::steady().now());
        EXPECT_EQ(stream.read(byte, error), 0u);
        EXPECT_EQ(error, timedOut());
        stream.setDeadline(testDeadline());
    }
    // Returns once the loop has dispatched everything that had arrived: a turn polls before it runs its tasks.
    static void letTheLoopPoll(UringHost& host) {
        Promise<void> done;
        const Future<void> polled = done.future();
        host.loop().execute([done = std::move(done)]() mutable { done.setValue(); });
        polled.await();
    }
};

TEST_F(UringFiberReader, ManyReadsAreOneEntryOfTheRing) {
    UringHost host;
    inFiber(host, [&] {
        TcpPair pair;
        startReceive(pair.client);
        const std::uint64_t before = host.poller().counters().entries;
        std::array<char, 8> bytes;
        for (int i = 0; i < 100; ++i) {
            ErrorCode error;
            EXPECT_EQ(pair.server.tryWrite({"message"}, error), 7u);
            EXPECT_EQ(pair.client.read(bytes), 7u);
        }
        EXPECT_EQ(host.poller().counters().entries, before);
    });
}

TEST_F(UringFiberReader, BytesThatArriveBeforeAReadAreKeptInOrder) {
    UringHost host;
    inFiber(host, [&] {
        TcpPair pair;
        startReceive(pair.client);
        for (const char* word : {"one", "two", "three"}) {
            pair.server.write(std::string_view(word));
            letTheLoopPoll(host);
        }
        std::array<char, 5> some;
        pair.client.readExactly(some);
        EXPECT_EQ(std::string(some.data(), 5), "onetw");
        EXPECT_EQ(pair.client.read(1).view(), "o");
        EXPECT_EQ(pair.client.read(100).view(), "three");
        ErrorCode error;
        EXPECT_EQ(pair.client.tryRead(some, error), 0u);
        EXPECT_EQ(error, fromErrno(EAGAIN));
    });
}

TEST_F(UringFiberReader, ATryTakesWhatTheKernelHasReceivedMeanwhile) {
    UringHost host;
    inFiber(host, [&] {
        TcpPair pair;
        startReceive(pair.client);
        ErrorCode error;
        std::array<char, 4> bytes;
        for (int i = 0; i < 3; ++i) {
            EXPECT_EQ(pair.client.tryRead(bytes, error), 0u);
            EXPECT_EQ(error, fromErrno(EAGAIN));
            EXPECT_EQ(pair.server.tryWrite({"abcdef"}, error), 6u);
            EXPECT_EQ(pair.client.tryRead(bytes, error), 4u);  // same turn: the loop has not seen the completion
            EXPECT_EQ(pair.client.tryRead(bytes, error), 2u);
        }
        pair.server.close();
        EXPECT_EQ(pair.client.tryRead(bytes, error), 0u);
        EXPECT_FALSE(error) << "the end, not " << error.message();
    });
}

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

// A call that need not wait succeeds even after its deadline, and inside a scope that forbids waiting.
TEST_F(UringFiberReader, BytesThatHaveComeAreReadWithoutAWait) {
    UringHost host;
    inFiber(host, [&] {
        TcpPair pair;
        startReceive(pair.client);
        ErrorCode error;
        std::array<char, 8> bytes;
        pair.client.setDeadline(Clock::steady().now() - 1s);
        EXPECT_EQ(pair.server.tryWrite({"late"}, error), 4u);
        EXPECT_EQ(pair.client.read(bytes, error), 4u) << error.message();
        EXPECT_EQ(pair.client.read(bytes, error), 0u);
        EXPECT_EQ(error, timedOut());
        auto cancelled = host.carrier().spawn([&] {
            while (!thisFiber::cancelRequested()) thisFiber::yield();
            EXPECT_EQ(pair.server.tryWrite({"too"}, error), 3u);
            EXPECT_EQ(pair.client.read(bytes, error), 3u) << error.message();
        });
        cancelled.cancel();
        cancelled.join();
        EXPECT_EQ(pair.server.tryWrite({"here"}, error), 4u);
        const NonSuspendingScope scope;
        EXPECT_EQ(pair.client.read(bytes, error), 4u) << error.message();
        EXPECT_THROW(pair.client.read(bytes, error), BlockingOperationException);
    });
}

// The loop dispatches one completion before it looks at its timers.
TEST_F(UringFiberReader, AReadWhoseWaitTimedOutTakesReceivedBytes) {
    EventLoop::Options oneEvent;
    oneEvent.ioEvents = 1;
    UringHost host({}, UringCalls::kernel(), oneEvent);
    inFiber(host, [&] {
        TcpPair others[8];
        TcpPair pair;
        ErrorCode error;
        for (auto& other : others) startReceive(other.client);
        startReceive(pair.client);
        for (auto& other : others) EXPECT_EQ(other.server.tryWrite({"news"}, error), 4u);
        EXPECT_EQ(pair.server.tryWrite({"bytes"}, error), 5u);
        pair.client.setDeadline(Clock::steady().now() - 1s);
        EXPECT_EQ(pair.client.read(64, error).view(), "bytes") << error.message();
    });
}

TEST_F(UringFiberReader, ACancelledFiberHasLostNoByteOfItsStream) {
    UringHost host;
    inFiber(host, [&] {
        TcpPair pair;
        auto reader = host.carrier().spawn([&] {
            ErrorCode error;
            std::array<char, 8> bytes;
            pair.client.read(bytes, error);
            return error;
        });
        letTheLoopPoll(host);
        reader.cancel();
        EXPECT_EQ(reader.join(), operationAborted());
        pair.server.write(std::string_view("for the next"));
        std::array<char, 12> bytes;
        pair.client.readExactly(bytes);
        EXPECT_EQ(std::string(bytes.data(), bytes.size()), "for the next");
    });
}

TEST_F(UringFiberReader, AReadThatIsCancelledDuringItsWaitLeavesTheBytesThatFollow) {
    UringHost host;
    inFiber(host, [&] {
        TcpPair pair;
        startReceive(pair.client);
        ErrorCode error;
        auto reader = host.carrier().spawn([&] { EXPECT_TRUE(pair.client.read(64, error).empty()); });
        letTheLoopPoll(host);
        reader.cancel();
        ErrorCode written;
        EXPECT_EQ(pair.server.tryWrite({"next"}, written), 4u);
        reader.join();
        EXPECT_EQ(error, operationAborted());
        EXPECT_EQ(pair.client.read(64).view(), "next");
    });
}

// While its reader is busy elsewhere, the socket's window holds the peer back.
TEST_F(UringFiberReader, AReaderThatIsBusyElsewhereHoldsABoundedNumberOfPieces) {
    UringHost host;
    inFiber(host, [&] {
        TcpPair pair;
        startReceive(pair.client);
        const std::int64_t before = BufferPool::liveBlocks();
        std::string sent;
        for (int i = 0; i < 100; ++i) {
            const std::string piece = pattern(100 + static_cast<std::size_t>(i));
            pair.server.write(piece);
            letTheLoopPoll(host);
            sent += piece;
        }
        EXPECT_LE(BufferPool::liveBlocks() - before, 40) << "of 100 pieces 32 are kept";
        std::string got(sent.size(), '?');
        pair.client.readExactly(got);
        EXPECT_TRUE(got == sent) << "not what was sent";
    });
}

TEST_F(UringFiberReader, AnExhaustedBufferRingIsNotAnEndOfInput) {
    UringHost host({.smallBuffers = 2, .largeBuffers = 1});
    inFiber(host, [&] {
        TcpPair pair;
        startReceive(pair.client);
        constexpr std::size_t size = 4 << 20;
        auto writer = host.carrier().spawn([&] { pair.server.write(pattern(size)); });
        std::string got;
        while (got.size() < size) got += pair.client.read(64 << 10).view();
        writer.join();
        EXPECT_TRUE(got == pattern(size)) << "not what was sent";
        EXPECT_GT(host.poller().counters().buffersRanOut, 0u);
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

// Its last completion is in the ring; later bytes are in the socket.
TEST_F(UringFiberReader, ATryReadsAfterAReceiveThatHasEnded) {
    ScriptedUringCalls calls;
    UringHost host({}, calls);
    inFiber(host, [&] {
        TcpPair pair;
        calls.complete(IORING_OP_RECV, -ENOBUFS, 2);
        ErrorCode error;
        std::array<char, 8> bytes;
        pair.client.setDeadline(Clock::steady().now() - 1s);
        auto reader = host.carrier().spawn([&] {
            while (!thisFiber::cancelRequested()) thisFiber::yield();
            EXPECT_EQ(pair.server.tryWrite({"here"}, error), 4u);
            EXPECT_EQ(pair.client.read(bytes, error), 4u) << error.message();
        });
        reader.cancel();
        reader.join();
        EXPECT_EQ(pair.client.tryRead(bytes, error), 0u);
        EXPECT_EQ(error, fromErrno(EAGAIN));
        EXPECT_EQ(pair.server.tryWrite({"there"}, error), 5u);
        EXPECT_EQ(pair.client.tryRead(bytes, error), 5u);
    });
}

TEST_F(UringFiberReader, AnInterruptedReceiveIsStartedAgain) {
    ScriptedUringCalls calls;
    UringHost host({}, calls);
    inFiber(host, [&] {
        TcpPair pair;
        for (const int result : {-EINTR, -EAGAIN, -ECANCELED}) calls.complete(IORING_OP_RECV, result);
        auto writer = host.carrier().spawn([&] {
            letTheLoopPoll(host);
            pair.server.write(std::string_view("there"));
        });
        pair.client.setDeadline(testDeadline());
        std::array<char, 5> bytes;
        EXPECT_EQ(pair.client.read(bytes), 5u);
        writer.join();
    });
}

}  // namespace
}  // namespace weft::test
