// What ends a call of TcpStream and TcpListener before it is complete: its deadline, a close, the peer, the loop, the
// shutdown of the carrier.
#include <weft/transports/tcp_stream.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <string>
#include <string_view>
#include <thread>

#include <weft/scheduler/this_fiber.hpp>
#include <weft/transports/tcp_listener.hpp>

#include "transports/full_listener.hpp"
#include "transports/socket_loops.hpp"
#include "transports/tcp_pair.hpp"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

TEST(TcpStream, AConnectThatNobodyAnswersEndsAtItsDeadline) {
    const DescriptorGuard guard;
    const FullListener full;
    SocketLoops host;
    host.inFiber([&] {
        const Deadline deadline = std::chrono::steady_clock::now() + 50ms;
        ErrorCode error;
        TcpStream::connect(full.address(), deadline, error);
        EXPECT_EQ(error, timedOut());
        EXPECT_GE(std::chrono::steady_clock::now(), deadline);
    });
}

TEST(TcpStream, AReadEndsAtTheStreamsDeadline) {
    SocketLoops host;
    host.inFiber([] {
        TcpPair pair;
        const Deadline deadline = std::chrono::steady_clock::now() + 20ms;
        pair.client.setDeadline(deadline);
        std::array<char, 8> bytes;
        ErrorCode error;
        EXPECT_EQ(pair.client.read(bytes, error), 0u);
        EXPECT_EQ(error, timedOut());
        EXPECT_GE(std::chrono::steady_clock::now(), deadline);

        pair.client.setDeadline(never);  // the stream still works
        pair.server.write(std::string_view("late"));
        EXPECT_EQ(pair.client.read(bytes), 4u);
    });
}

TEST(TcpStream, AcceptEndsAtItsDeadline) {
    SocketLoops host;
    host.inFiber([] {
        TcpListener listener = TcpListener::listen(anyPort);
        ErrorCode error;
        TcpStream stream = listener.accept(std::chrono::steady_clock::now() + 10ms, error);
        EXPECT_EQ(error, timedOut());
        EXPECT_FALSE(stream.isOpen());
    });
}

TEST(TcpStream, CloseUnderAParkedReaderEndsItsReadWithOperationAborted) {
    const DescriptorGuard guard;
    SocketLoops host;
    host.inFiber([&] {
        TcpPair pair;
        auto reader = host.carrier().spawn([&] {
            std::array<char, 8> bytes;
            ErrorCode error;
            pair.client.read(bytes, error);
            return error;
        });
        thisFiber::yield();  // the reader runs until it parks
        pair.client.close();
        EXPECT_EQ(reader.join(), operationAborted());
        std::array<char, 8> bytes;
        ErrorCode error;
        EXPECT_EQ(pair.client.read(bytes, error), 0u);
        EXPECT_EQ(error, operationAborted());
    });
}

TEST(TcpStream, CloseUnderAParkedWriterEndsItsWriteWithOperationAborted) {
    SocketLoops host;
    host.inFiber([&] {
        TcpPair pair;
        auto writer = host.carrier().spawn([&] {
            const std::string endless(64 << 20, 'x');
            ErrorCode error;
            pair.client.write(endless, error);
            return error;
        });
        thisFiber::yield();
        pair.client.close();
        EXPECT_EQ(writer.join(), operationAborted());
    });
}

TEST(TcpStream, TheEndOfTheLoopWakesParkedReadersAndAcceptors) {
    const DescriptorGuard guard;
    SocketLoops host;
    auto fiber = host.carrier().spawn([&] {
        TcpPair pair;
        auto acceptor = host.carrier().spawn([&] {
            ErrorCode error;
            pair.listener.accept(error);
            return error;
        });
        thisFiber::yield();
        host.loop().stop();
        std::array<char, 8> bytes;
        ErrorCode error;
        pair.client.read(bytes, error);
        EXPECT_EQ(acceptor.join(), operationAborted());
        return error;
    });
    EXPECT_EQ(fiber.join(), operationAborted());
}

TEST(TcpStream, TheShutdownOfTheCarrierWakesAParkedReader) {
    const DescriptorGuard guard;
    SocketLoops host;
    std::atomic<bool> parked{false};
    auto fiber = host.carrier().spawn([&] {
        TcpPair pair;
        parked = true;
        std::array<char, 8> bytes;
        ErrorCode error;
        pair.client.read(bytes, error);
        return error;
    });
    while (!parked) std::this_thread::yield();
    EXPECT_TRUE(host.group().shutdown(20s));
    EXPECT_EQ(fiber.join(), operationAborted());
}

TEST(TcpStream, AResetByThePeerIsAnError) {
    SocketLoops host;
    host.inFiber([] {
        TcpPair pair;
        ASSERT_FALSE(pair.server.setOption(SocketOption::linger, 0));
        pair.server.close();  // with linger 0: RST
        std::array<char, 8> bytes;
        ErrorCode error;
        EXPECT_EQ(pair.client.read(bytes, error), 0u);
        EXPECT_EQ(error, fromErrno(ECONNRESET));
    });
}

TEST(TcpStream, AWriteToAGonePeerIsAnErrorAndNoSignal) {
    SocketLoops host;
    host.inFiber([] {
        TcpPair pair;
        pair.server.close();
        ErrorCode error;
        while (!error) pair.client.write(std::string_view("anybody there?"), error);
        EXPECT_TRUE(error == fromErrno(EPIPE) || error == fromErrno(ECONNRESET)) << error.message();
    });
}

TEST(TcpStream, ReadExactlyReportsAnEarlyEnd) {
    SocketLoops host;
    host.inFiber([] {
        TcpPair pair;
        pair.server.write(std::string_view("abc"));
        pair.server.close();
        std::array<char, 8> bytes;
        ErrorCode error;
        EXPECT_EQ(pair.client.readExactly(bytes, error), 3u);
        EXPECT_EQ(error, endOfStream());
    });
}

// A fiber that outlives its loop belongs to a server that is ending; it is not a bug of the program.
// The order of calls is the order on the wire, whichever fiber makes them.
TEST(TcpStream, TheEndOfTheOutputFollowsAWriteThatAnotherFiberHasBegun) {
    const DescriptorGuard guard;
    SocketLoops host(carrierWithLongRuns("test"));
    host.inFiber([&] {
        for (int round = 0; round < 20; ++round) {
            TcpPair pair;
            std::array<char, 1> byte;
            bool reads = false, writes = false;
            auto reader = host.carrier().spawn([&] {
                reads = true;
                return pair.server.read(byte);
            });
            while (!reads) thisFiber::yield();  // from now on the stream waits in the poller
            pair.client.write({"x"});
            EXPECT_EQ(reader.join(), 1u);
            ErrorCode writeError, endError;
            auto writer = host.carrier().spawn([&] {
                writes = true;
                pair.server.write({"hello"}, writeError);
            });
            while (!writes) thisFiber::yield();
            pair.server.shutdownOutput(endError);
            writer.join();
            EXPECT_FALSE(writeError) << writeError.message();
            EXPECT_FALSE(endError) << endError.message();
            std::array<char, 6> bytes;
            ErrorCode error;
            const std::size_t count = pair.client.readExactly(bytes, error);
            EXPECT_EQ(std::string_view(bytes.data(), count), "hello");
            EXPECT_EQ(error, endOfStream());
        }
    });
}

TEST(TcpStream, ACallAfterTheLoopHasEndedIsAborted) {
    SocketLoops host;
    host.stop();
    host.inFiber([] {
        ErrorCode error;
        TcpStream::connect(SocketAddress::loopbackV4(9), error);
        EXPECT_EQ(error, operationAborted());
        EXPECT_THROW(TcpListener::listen(anyPort), SystemError);
    });
}

}  // namespace
}  // namespace weft::test
