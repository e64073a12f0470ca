// Unusual results from the kernel on io_uring: accepts that fail (E-7), short and refused sends, receives that end
// early.
#include <cerrno>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <liburing.h>

#include <weft/pipeline/buffer_pool.hpp>

#include "transports/blocking_peer.hpp"
#include "transports/loopback_server.hpp"
#include "transports/scripted_uring_calls.hpp"
#include "transports/uring_host.hpp"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

class UringFaults : public UringTransport {
  protected:
    void SetUp() override {
        UringTransport::SetUp();
        if (IsSkipped()) return;
        Acceptor::lastError = 0;
    }
    void expectEcho(const SocketAddress& address) {
        BlockingPeer peer(address);
        peer.send("x");
        EXPECT_EQ(peer.receive(), "x");
    }
    ScriptedUringCalls calls;
};

TEST_F(UringFaults, AShortagePausesAcceptingAndIsReportedOnce) {
    for (const int error : {EMFILE, ENFILE, ENOMEM, ENOBUFS}) {
        const DescriptorGuard guard;
        Acceptor::lastError = 0;
        calls.complete(IORING_OP_ACCEPT, -error);
        UringHost host({}, calls);
        const auto begin = std::chrono::steady_clock::now();
        Server server(host, echo);
        expectEcho(server.address);
        EXPECT_GE(std::chrono::steady_clock::now() - begin, 500ms) << "accepting did not pause";
        EXPECT_EQ(Acceptor::lastError, error);
        expectEcho(server.address);
        EXPECT_EQ(calls.left(), 0u);
    }
}

TEST_F(UringFaults, AConnectionThatIsLostBeforeItIsAcceptedIsSkipped) {
    for (const int error : {ECONNABORTED, EPROTO, EPERM, EINTR, EAGAIN}) {
        const DescriptorGuard guard;
        calls.complete(IORING_OP_ACCEPT, -error, 3);
        UringHost host({}, calls);
        Server server(host, echo);
        expectEcho(server.address);
        EXPECT_EQ(Acceptor::lastError, 0) << error;
        EXPECT_EQ(calls.left(), 0u);
    }
}

TEST_F(UringFaults, ShortSendsLoseNoByte) {
    const DescriptorGuard guard;
    calls.limit(IORING_OP_SEND, 77, 1000);
    UringHost host({}, calls);
    Server server(host, echo);
    BlockingPeer peer(server.address);
    const std::string sent = pattern(1500);
    while (calls.left() > 0) {
        peer.send(sent);
        ASSERT_TRUE(peer.receiveExactly(sent.size()) == sent);
    }
}

TEST_F(UringFaults, InterruptedOperationsAreRetried) {
    for (const int error : {EAGAIN, EINTR, ECANCELED}) {
        const DescriptorGuard guard;
        UringHost host({}, calls);
        Server server(host, echo);
        BlockingPeer peer(server.address);
        for (int i = 0; i < 20; ++i) {
            calls.complete(IORING_OP_SEND, -error, 2);
            peer.send("x");
            ASSERT_EQ(peer.receive(), "x") << error;
        }
        calls.complete(IORING_OP_RECV, -error, 5);
        BlockingPeer second(server.address);
        second.send("y");
        EXPECT_EQ(second.receive(), "y") << error;
        EXPECT_EQ(calls.left(), 0u);
    }
}

TEST_F(UringFaults, ASendThatFailsEndsItsConnectionOnlyAndReleasesEverything) {
    const std::size_t blocks = BufferPool::liveBlocks();
    for (const int error : {EPIPE, ECONNRESET, ENOBUFS, ETIMEDOUT}) {
        const DescriptorGuard guard;
        UringHost host({}, calls);
        Server server(host, echo);
        BlockingPeer peer(server.address), other(server.address);
        other.send("x");
        ASSERT_EQ(other.receive(), "x");
        calls.complete(IORING_OP_SEND, -error);
        peer.send("y");
        EXPECT_EQ(peer.receive(), "") << error;
        other.send("z");
        EXPECT_EQ(other.receive(), "z") << error;
    }
    EXPECT_EQ(BufferPool::liveBlocks(), blocks);
}

TEST_F(UringFaults, AReceiveThatFailsEndsItsConnectionOnly) {
    for (const int error : {ECONNRESET, ETIMEDOUT, EHOSTUNREACH}) {
        const DescriptorGuard guard;
        UringHost host({}, calls);
        Server server(host, echo);
        calls.complete(IORING_OP_RECV, -error);
        BlockingPeer peer(server.address);
        EXPECT_EQ(peer.receive(), "") << error;
        expectEcho(server.address);
    }
}

}  // namespace
}  // namespace weft::test
