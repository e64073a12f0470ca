// Several fibers accept from one listener: each uses up an edge or passes it on, even when its accept fails. And what
// clients see of a listener that closes.
#include <weft/transports/tcp_listener.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <optional>
#include <utility>
#include <vector>

#include <weft/scheduler/this_fiber.hpp>

#include "transports/blocking_peer.hpp"
#include "transports/counting_system_calls.hpp"
#include "transports/loopback_server.hpp"
#include "transports/socket_loops.hpp"
#include "transports/tcp_pair.hpp"

namespace weft::test {
namespace {

TEST(TcpListener, AnAcceptThatFailsForWantOfDescriptorsPassesTheEdgeToTheNextWaiter) {
    CountingSystemCalls calls;
    SocketLoops host(1, calls);
    host.inFiber([&] {
        TcpListener listener = TcpListener::listen(anyPort);
        const auto accept = [&] {
            ErrorCode error;
            listener.accept(error);
            if (error) calls.acceptError = 0;  // the shortage is over, and this fiber does not accept again
            return error;
        };
        std::array<JoinHandle<ErrorCode>, 2> acceptors{host.carrier().spawn(accept), host.carrier().spawn(accept)};
        for (int i = 0; i < 100; ++i) thisFiber::yield();  // both wait
        calls.acceptError = EMFILE;
        TcpStream client = TcpStream::connect(listener.localAddress(), testDeadline());
        for (int i = 0; i < 100'000 && !(acceptors[0].done() && acceptors[1].done()); ++i) thisFiber::yield();
        listener.close();
        std::array results{acceptors[0].join(), acceptors[1].join()};
        if (!results[0]) std::swap(results[0], results[1]);  // fibers may run in a random order
        EXPECT_EQ(results[0], fromErrno(EMFILE));
        EXPECT_FALSE(results[1]) << "sleeps beside a full backlog";
    });
}

TEST(TcpListener, AShortageThatLastsIsReportedToEveryWaiterOnce) {
    CountingSystemCalls calls;
    SocketLoops host(1, calls);
    host.inFiber([&] {
        TcpListener listener = TcpListener::listen(anyPort);
        std::vector<JoinHandle<ErrorCode>> acceptors;
        for (int i = 0; i < 5; ++i) {
            acceptors.push_back(host.carrier().spawn([&] {
                ErrorCode error;
                listener.accept(error);
                return error;
            }));
        }
        for (int i = 0; i < 100; ++i) thisFiber::yield();
        calls.acceptError = ENFILE;
        TcpStream client = TcpStream::connect(listener.localAddress(), testDeadline());
        for (auto& acceptor : acceptors) {
            for (int i = 0; i < 100'000 && !acceptor.done(); ++i) thisFiber::yield();
        }
        listener.close();
        for (auto& acceptor : acceptors) EXPECT_EQ(acceptor.join(), fromErrno(ENFILE));
    });
}

// In the task that closes the listener, as a drain does.
TEST(TcpChannel, AClientConnectsBeforeAListenerHasClosedAndIsServedOrLaterAndIsRefused) {
    const DescriptorGuard guard;
    SocketLoops host;
    for (int round = 0; round < 10; ++round) {
        Server server(host, [](Channel& channel) { echo(channel); });
        BlockingPeer accepted(server.address);
        accepted.send("a");
        EXPECT_EQ(accepted.receive(), "a");
        std::optional<BlockingPeer> early;
        int lateError = 0;
        host.inLoop([&] {
            early.emplace(server.address);
            server.channel->sink()->acceptWaiting();
            server.channel->close();
            const Fd late(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
            lateError = ::connect(late.get(), server.address.data(), server.address.size()) == 0 ? 0 : errno;
        });
        EXPECT_EQ(lateError, ECONNREFUSED) << "0: connected to a listener that serves nobody";
        early->send("b");
        EXPECT_EQ(early->receive(), "b");
        server.channel->closeFuture().sync();
    }
}

}  // namespace
}  // namespace weft::test
