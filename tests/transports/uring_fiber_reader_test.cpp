// Reads by fibers on io_uring: one receive serves them all, keeps early bytes, and is started again when it ends.
// Resets and the end of a stream: uring_fiber_reader_end_test.cpp.
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <liburing.h>

#include <weft/pipeline/buffer_pool.hpp>
#include <weft/scheduler/non_suspending_scope.hpp>
#include <weft/scheduler/this_fiber.hpp>
#include <weft/transports/tcp_stream.hpp>

#include "support/pattern.hpp"
#include "transports/scripted_uring_calls.hpp"
#include "transports/tcp_pair.hpp"
#include "transports/uring_reader_bench.hpp"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

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
