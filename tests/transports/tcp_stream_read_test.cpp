// When a fiber's read calls the kernel, when it waits, and what memory it holds meanwhile.
#include <weft/transports/tcp_stream.hpp>

#include <gtest/gtest.h>

#include <array>
#include <string>

#include <weft/scheduler/cancellation_shield.hpp>
#include <weft/scheduler/deadline_scope.hpp>
#include <weft/scheduler/non_suspending_scope.hpp>
#include <weft/scheduler/this_fiber.hpp>
#include <weft/transports/tcp_listener.hpp>

#include "transports/blocking_peer.hpp"
#include "transports/counting_system_calls.hpp"
#include "transports/socket_loops.hpp"
#include "transports/tcp_pair.hpp"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

// The first wait registers the stream with the poller, which then reports its state once; after that, only edges.
void watch(TcpStream& stream) {
    ErrorCode error;
    stream.setDeadline(std::chrono::steady_clock::now() + 1ms);
    EXPECT_TRUE(stream.read(64, error).empty());
    EXPECT_EQ(error, timedOut());
    stream.setDeadline(never);
}

// Returns once another fiber is in a read.
void awaitReads(TcpStream& stream) {
    std::array<char, 1> byte;
    for (ErrorCode error; error != fromErrno(EALREADY);) {
        thisFiber::yield();
        stream.tryRead(byte, error);
    }
}

// The peer's bytes arrive while the refused wait of this fiber yields.
void expectRefusedRead(SocketLoops& host, TcpPair& pair) {
    ErrorCode error;
    ErrorCode written;
    auto peer = host.carrier().spawn([&] { pair.server.tryWrite({"answer"}, written); });
    EXPECT_TRUE(pair.client.read(64, error).empty());
    EXPECT_EQ(error, operationAborted());
    const CancellationShield shield;
    peer.join();
    EXPECT_EQ(pair.client.read(64, error).view(), "answer") << error.message();
}

// The peer's fiber runs on the same carrier, so its next bytes arrive only after the reader has parked.
TEST(TcpStream, AnEmptiedSocketIsNotReadAgainBeforeItsNextEdge) {
    CountingSystemCalls calls;
    SocketLoops host(1, calls);
    host.inFiber([&] {
        TcpPair pair;
        auto server = host.carrier().spawn([&] { echo(pair.server); });
        std::array<char, 64> answer;
        pair.client.write(std::string_view("ping"));
        ASSERT_EQ(pair.client.read(answer), 4u);  // from here on both sockets have been emptied
        const int before = calls.recvs;
        for (int i = 0; i < 100; ++i) {
            pair.client.write(std::string_view("ping"));
            ASSERT_EQ(pair.client.read(answer), 4u);
        }
        EXPECT_EQ(calls.recvs - before, 200);  // one for each message at either end, and no EAGAIN
        pair.client.close();
        server.join();
    });
}

// Runs a bounded number of turns, then closes the stream under the reader: if the read has not ended by then, the
// poller has not reported the bytes.
template <class Read>
auto withinATurn(SocketLoops& host, TcpStream& stream, Read read) {
    auto reader = host.carrier().spawn(std::move(read));
    for (int i = 0; i < 100'000 && !reader.done(); ++i) thisFiber::yield();
    if (!reader.done()) stream.close();
    return reader.join();
}

TEST(TcpStream, AnEndThatArrivesWithTheLastBytesIsReadAfterThem) {
    SocketLoops host;
    host.inFiber([&] {
        TcpPair pair;
        watch(pair.client);
        const std::string all = withinATurn(host, pair.client, [&] {
            auto server = host.carrier().spawn([&] {
                pair.server.write(std::string_view("the last"));
                pair.server.shutdownOutput();  // one edge for both: no poll in between
            });
            std::string got;
            std::array<char, 64> bytes;
            ErrorCode error;
            while (std::size_t count = pair.client.read(bytes, error)) got.append(bytes.data(), count);
            got += error ? ", " + error.message() : ", the end";
            EXPECT_EQ(pair.client.read(bytes), 0u);  // and again
            return got;
        });
        EXPECT_EQ(all, "the last, the end");
    });
}

TEST(TcpStream, AnEndBehindAnEmptiedSocketIsAnEdge) {
    SocketLoops host;
    host.inFiber([&] {
        TcpPair pair;
        std::array<char, 64> bytes;
        pair.server.write(std::string_view("the last"));
        ASSERT_EQ(pair.client.read(bytes), 8u);
        pair.server.close();
        const ErrorCode error = withinATurn(host, pair.client, [&] {
            ErrorCode failure;
            EXPECT_EQ(pair.client.read(bytes, failure), 0u);
            return failure;
        });
        EXPECT_FALSE(error) << error.message();
    });
}

TEST(TcpStream, AReadAfterItsDeadlineTakesReceivedBytes) {
    SocketLoops host;
    host.inFiber([] {
        TcpPair pair;
        ErrorCode error;
        pair.server.write(std::string_view("first"));
        ASSERT_EQ(pair.client.read(64).view(), "first");  // emptied
        pair.server.write(std::string_view("second"));
        pair.client.setDeadline(std::chrono::steady_clock::now() - 1ms);
        EXPECT_EQ(pair.client.read(64, error).view(), "second") << error.message();
        EXPECT_TRUE(pair.client.read(64, error).empty());
        EXPECT_EQ(error, timedOut());
    });
}

// The carrier is busy until the deadline has passed, and the events of the other streams are dispatched first.
TEST(TcpStream, AReadWhoseWaitTimedOutTakesReceivedBytes) {
    CountingSystemCalls calls;
    EventLoop::Options oneEvent;
    oneEvent.ioEvents = 1;
    SocketLoops host(1, calls, oneEvent);
    host.inFiber([&] {
        TcpPair others[8];
        TcpPair pair;
        ErrorCode error;
        for (auto& other : others) watch(other.client);
        watch(pair.client);
        for (auto& other : others) other.server.write(std::string_view("news"));
        pair.server.write(std::string_view("bytes"));
        const Deadline deadline = std::chrono::steady_clock::now() + 5ms;
        pair.client.setDeadline(deadline);
        auto busy = host.carrier().spawn([&] {
            while (std::chrono::steady_clock::now() < deadline + 1ms) {
            }
        });
        EXPECT_EQ(pair.client.read(64, error).view(), "bytes") << error.message();
        busy.join();
    });
}

TEST(TcpStream, ACancelledFiberReadsReceivedBytes) {
    SocketLoops host(carrierWithLongRuns("test"));
    host.inFiber([&] {
        TcpPair pair;
        pair.server.write(std::string_view("first"));
        ASSERT_EQ(pair.client.read(64).view(), "first");  // emptied
        auto reader = host.carrier().spawn([&] {
            ErrorCode error;
            EXPECT_TRUE(pair.client.read(64, error).empty());
            EXPECT_EQ(error, operationAborted());
            pair.server.write(std::string_view("second"));
            EXPECT_EQ(pair.client.read(64, error).view(), "second") << error.message();
        });
        reader.cancel();
        reader.join();
    });
}

TEST(TcpStream, AReadOfACancelledFiberLeavesTheBytesThatArriveDuringItsWait) {
    SocketLoops host(carrierWithLongRuns("test"));
    host.inFiber([&] {
        TcpPair pair;
        watch(pair.client);
        pair.client.setDeadline(testDeadline());
        auto reader = host.carrier().spawn([&] { expectRefusedRead(host, pair); });
        reader.cancel();
        reader.join();
    });
}

TEST(TcpStream, AReadThatIsCancelledDuringItsWaitLeavesTheBytesThatFollow) {
    SocketLoops host;
    host.inFiber([&] {
        TcpPair pair;
        watch(pair.client);
        pair.client.setDeadline(testDeadline());
        ErrorCode error;
        auto reader = host.carrier().spawn([&] { EXPECT_TRUE(pair.client.read(64, error).empty()); });
        awaitReads(pair.client);
        reader.cancel();
        ErrorCode written;
        EXPECT_EQ(pair.server.tryWrite({"next"}, written), 4u);
        reader.join();
        EXPECT_EQ(error, operationAborted());
        EXPECT_EQ(pair.client.read(64).view(), "next");
    });
}

TEST(TcpStream, AReadInAnExpiredScopeLeavesTheBytesThatArriveDuringItsWait) {
    SocketLoops host(carrierWithLongRuns("test"));
    host.inFiber([&] {
        TcpPair pair;
        watch(pair.client);
        pair.client.setDeadline(testDeadline());
        const DeadlineScope expired(-1s);
        expectRefusedRead(host, pair);
    });
}

TEST(TcpStream, AStreamRefusedByAStoppingPollerReadsReceivedBytes) {
    SocketLoops host;
    host.inFiber([&] {
        TcpPair pair;
        ErrorCode error;
        pair.client.write(std::string_view("first"));
        EXPECT_EQ(pair.server.read(64, error).view(), "first");
        pair.client.write(std::string_view("second"));
        host.poller().prepareToClose();
        EXPECT_EQ(pair.server.read(64, error).view(), "second") << error.message();
    });
}

// recv() stops at the urgent mark: that read is short, and there is no edge for the bytes after it.
TEST(TcpStream, BytesBehindAnUrgentOneAreRead) {
    SocketLoops host;
    host.inFiber([&] {
        TcpListener listener = TcpListener::listen(anyPort);
        BlockingPeer peer(listener.localAddress());
        TcpStream stream = listener.accept(testDeadline());
        ErrorCode error;
        watch(stream);
        const std::string all = withinATurn(host, stream, [&] {
            peer.send("before");
            peer.sendUrgent('!');
            peer.send("behind");
            for (int i = 0; i < 1000; ++i) thisFiber::yield();  // all edges have been reported
            std::string got;
            while (got.size() < 12 && !error) got += stream.read(64, error).view();
            return got;
        });
        EXPECT_EQ(all, "beforebehind") << error.message();
    });
}

TEST(TcpStream, AReadThatMustNotWaitTakesReceivedBytes) {
    SocketLoops host(carrierWithLongRuns("test"));
    host.inFiber([] {
        TcpPair pair;
        std::array<char, 64> bytes;
        pair.server.write(std::string_view("first"));
        ASSERT_EQ(pair.client.read(bytes), 5u);
        pair.server.write(std::string_view("second"));
        const NonSuspendingScope here;
        EXPECT_EQ(pair.client.read(bytes), 6u);
        EXPECT_THROW(pair.client.read(bytes), BlockingOperationException);
    });
}

TEST(TcpStream, AReadIntoABufferTakesAtMostWhatWasAskedFor) {
    SocketLoops host;
    host.inFiber([&] {
        TcpPair pair;
        watch(pair.client);
        pair.server.write(std::string_view("0123456789"));
        EXPECT_EQ(pair.client.read(4).view(), "0123");
        EXPECT_EQ(pair.client.read(0).view(), "");
        EXPECT_EQ(withinATurn(host, pair.client, [&] { return pair.client.read(1024); }).view(), "456789");
        pair.server.shutdownOutput();
        EXPECT_TRUE(pair.client.read(1024).empty());
        EXPECT_TRUE(pair.client.read(1024).empty());

        pair.client.close();
        ErrorCode error;
        EXPECT_TRUE(pair.client.read(1024, error).empty());
        EXPECT_EQ(error, operationAborted());
        EXPECT_THROW(pair.client.read(1024), SystemError);
    });
}

TEST(TcpStream, AFiberThatWaitsForABufferHoldsNone) {
    SocketLoops host;
    host.inFiber([&] {
        TcpPair pair;
        const void* const next = detail::storageOf(Buffer::allocate(1024));  // the next block from the pool
        auto reader = host.carrier().spawn([&] { return pair.client.read(1024); });
        for (int i = 0; i < 20; ++i) thisFiber::yield();  // the reader runs until it parks
        EXPECT_EQ(detail::storageOf(Buffer::allocate(1024)), next);
        pair.server.write(std::string_view("here"));
        EXPECT_EQ(reader.join().view(), "here");
    });
}

TEST(TcpStream, EachReadHasItsOwnDeadline) {
    SocketLoops host;
    host.inFiber([&] {
        TcpPair pair;
        ErrorCode error;
        std::array<char, 8> bytes;
        pair.server.write({"bytes"});
        pair.client.setDeadline(testDeadline());
        ASSERT_EQ(pair.client.read(bytes, error), 5u);
        const Deadline early = std::chrono::steady_clock::now() + 5ms;
        for (const Deadline deadline : {early, early + 15ms}) {
            pair.client.setDeadline(deadline);
            pair.client.read(bytes, error);
            EXPECT_EQ(error, timedOut());
            EXPECT_GE(std::chrono::steady_clock::now(), deadline);
        }
        pair.client.setDeadline(testDeadline());
        auto reader = host.carrier().spawn([&] {
            std::array<char, 8> into;
            return pair.client.read(into);
        });
        thisFiber::yield();
        pair.server.write({"more"});
        EXPECT_EQ(reader.join(), 4u);
        pair.client.close();
        EXPECT_TRUE(host.carrier().timers().empty());  // it stays armed until then
    });
}

}  // namespace
}  // namespace weft::test
