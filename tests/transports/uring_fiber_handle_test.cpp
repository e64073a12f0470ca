// Calls of fibers on io_uring: which of them start an operation.
#include <array>
#include <string>

#include <gtest/gtest.h>

#include <weft/scheduler/cancellation_shield.hpp>
#include <weft/scheduler/deadline_scope.hpp>
#include <weft/scheduler/this_fiber.hpp>
#include <weft/transports/tcp_stream.hpp>

#include "transports/tcp_pair.hpp"
#include "transports/uring_host.hpp"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

class UringFiberHandle : public UringTransport {
  protected:
    // A wait registers the descriptor, so that later calls use the ring.
    static void watch(TcpStream& stream) {
        ErrorCode error;
        std::array<char, 1> byte;
        stream.setDeadline(Clock::steady().now());
        EXPECT_EQ(stream.read(byte, error), 0u);
        EXPECT_EQ(error, timedOut());
        stream.setDeadline(testDeadline());
    }
    // Returns how many entries of the ring the calls took.
    static std::uint64_t expectRefusedCalls(UringHost& host, TcpPair& pair) {
        const std::uint64_t before = host.poller().counters().entries;
        ErrorCode error;
        TcpStream::connect(pair.listener.localAddress(), testDeadline(), error);
        EXPECT_EQ(error, operationAborted());
        pair.listener.accept(testDeadline(), error);
        EXPECT_EQ(error, operationAborted());
        pair.client.write(std::string(64 << 20, 'x'), error);
        EXPECT_EQ(error, operationAborted());
        return host.poller().counters().entries - before;
    }
};

TEST_F(UringFiberHandle, ACancelledFiberStartsNoOperation) {
    UringHost host;
    host.carrier()
        .spawn([&] {
            TcpPair pair;
            watch(pair.client);
            auto cancelled = host.carrier().spawn([&] { EXPECT_EQ(expectRefusedCalls(host, pair), 0u); });
            cancelled.cancel();
            cancelled.join();
            const DeadlineScope expired(-1s);
            EXPECT_EQ(expectRefusedCalls(host, pair), 0u);
        })
        .join();
}

TEST_F(UringFiberHandle, ACancelledFiberWritesWhatTheKernelTakesAtOnce) {
    UringHost host;
    host.carrier()
        .spawn([&] {
            TcpPair pair;
            watch(pair.client);
            const DeadlineScope expired(-1s);
            ErrorCode error;
            EXPECT_EQ(pair.client.write(std::string_view("farewell"), error), 8u) << error.message();
        })
        .join();
}

TEST_F(UringFiberHandle, AShieldLetsTheOperationsOfACancelledFiberRun) {
    UringHost host;
    host.carrier()
        .spawn([&] {
            TcpPair pair;
            watch(pair.client);
            const DeadlineScope expired(-1s);
            const CancellationShield shield;
            ErrorCode error;
            EXPECT_TRUE(TcpStream::connect(pair.listener.localAddress(), testDeadline(), error).isOpen());
            EXPECT_TRUE(pair.listener.accept(testDeadline(), error).isOpen()) << error.message();
            pair.server.write(std::string_view("bytes"));
            EXPECT_EQ(pair.client.read(64, error).view(), "bytes") << error.message();
        })
        .join();
}

}  // namespace
}  // namespace weft::test
