// tryRead() and tryWrite() make one system call each, and no other fiber runs meanwhile.
#include <weft/transports/tcp_stream.hpp>

#include <gtest/gtest.h>

#include <array>
#include <string>

#include <weft/scheduler/this_fiber.hpp>

#include "transports/counting_system_calls.hpp"
#include "transports/socket_loops.hpp"
#include "transports/tcp_pair.hpp"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

TEST(TcpStreamTry, AReadTakesWhatTheKernelHasAndNeverWaits) {
    CountingSystemCalls calls;
    SocketLoops host(1, calls);
    host.inFiber([&] {
        TcpPair pair;
        std::array<char, 4> bytes;
        ErrorCode error;
        EXPECT_EQ(pair.client.tryRead(bytes, error), 0u);
        EXPECT_EQ(error, fromErrno(EAGAIN));
        pair.server.write(std::string_view("abcdef"));
        const int before = calls.recvs;
        EXPECT_EQ(pair.client.tryRead(bytes, error), 4u);  // in the same turn: before the poller has reported it
        EXPECT_FALSE(error);
        EXPECT_EQ(pair.client.tryRead(bytes, error), 2u);
        EXPECT_EQ(calls.recvs - before, 2);
        EXPECT_EQ(pair.client.tryRead({}, error), 0u);
        EXPECT_FALSE(error);
        pair.server.close();
        EXPECT_EQ(pair.client.tryRead(bytes, error), 0u);  // the end
        EXPECT_FALSE(error);
    });
}

TEST(TcpStreamTry, AReadThatWaitsGetsTheBytesAfterAFailedTry) {
    SocketLoops host;
    host.inFiber([&] {
        TcpPair pair;
        std::array<char, 8> bytes;
        for (int i = 0; i < 3; ++i) {
            ErrorCode error;
            EXPECT_EQ(pair.client.tryRead(bytes, error), 0u);
            auto server = host.carrier().spawn([&] { pair.server.write(std::string_view("late")); });
            pair.client.setDeadline(testDeadline());
            EXPECT_EQ(pair.client.read(bytes), 4u);
            server.join();
        }
    });
}

TEST(TcpStreamTry, AWriteGivesTheKernelWhatItTakesAndNeverWaits) {
    SocketLoops host;
    host.inFiber([] {
        TcpPair pair;
        ErrorCode error;
        EXPECT_EQ(pair.client.tryWrite({"ab", "", "cd"}, error), 4u);
        EXPECT_FALSE(error);
        std::array<char, 4> bytes;
        EXPECT_EQ(pair.server.readExactly(bytes, error), 4u);
        EXPECT_EQ(std::string(bytes.data(), 4), "abcd");
        EXPECT_EQ(pair.client.tryWrite({"1", "", "2", "3", "", "4", "5"}, error), 5u);
        std::array<char, 5> more;
        EXPECT_EQ(pair.server.readExactly(more, error), 5u);
        EXPECT_EQ(std::string(more.data(), 5), "12345");
        EXPECT_EQ(pair.client.tryWrite({"", ""}, error), 0u);
        EXPECT_FALSE(error);
        const std::string block(1 << 20, 'x');
        while (!error) pair.client.tryWrite({block, block}, error);
        EXPECT_EQ(error, fromErrno(EAGAIN));
    });
}

TEST(TcpStreamTry, NoOtherFiberRunsMeanwhile) {
    SocketLoops host;
    host.inFiber([&] {
        TcpPair pair;
        int others = 0;
        auto other = host.carrier().spawn([&] { ++others; });
        ErrorCode error;
        std::array<char, 1> byte;
        for (int i = 0; i < 100'000; ++i) pair.client.tryRead(byte, error);  // far more than a run of fibers may take
        EXPECT_EQ(others, 0);
        other.join();
    });
}

TEST(TcpStreamTry, AStreamInUseOrClosedIsReported) {
    SocketLoops host;
    host.inFiber([&] {
        TcpPair pair;
        std::array<char, 1> byte;
        auto reader = host.carrier().spawn([&] {
            ErrorCode error;
            std::array<char, 1> its;
            pair.client.read(its, error);
            return error;
        });
        ErrorCode error;
        for (int i = 0; i < 1000 && error != fromErrno(EALREADY); ++i) {  // until the reader is in its call
            thisFiber::yield();
            EXPECT_EQ(pair.client.tryRead(byte, error), 0u);
        }
        EXPECT_EQ(error, fromErrno(EALREADY));
        pair.client.close();
        EXPECT_EQ(reader.join(), operationAborted());
        EXPECT_EQ(pair.client.tryRead(byte, error), 0u);
        EXPECT_EQ(error, operationAborted());
        EXPECT_EQ(pair.client.tryWrite({"x"}, error), 0u);
        EXPECT_EQ(error, operationAborted());
    });
}

}  // namespace
}  // namespace weft::test
