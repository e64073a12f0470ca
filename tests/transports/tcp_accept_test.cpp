// Several fibers that accept from one listener: every edge is used up or passed on, also by one whose accept fails.
#include <weft/transports/tcp_listener.hpp>

#include <gtest/gtest.h>

#include <vector>

#include <weft/scheduler/this_fiber.hpp>

#include "transports/counting_system_calls.hpp"
#include "transports/hosted_loop.hpp"
#include "transports/tcp_pair.hpp"

namespace weft::test {
namespace {

// A bounded number of turns, then the listener is closed: an acceptor that sleeps beside a connection is told so.
bool endWithin(int turns, JoinHandle<ErrorCode>& acceptor, TcpListener& listener) {
    for (int i = 0; i < turns && !acceptor.done(); ++i) thisFiber::yield();
    if (!acceptor.done()) listener.close();
    return !acceptor.join();
}

TEST(TcpListener, AnAcceptThatFailsForWantOfDescriptorsPassesTheEdgeToTheNextWaiter) {
    CountingSystemCalls calls;
    HostedLoop host(1, calls);
    host.inFiber([&] {
        TcpListener listener = TcpListener::listen(anyPort);
        auto first = host.carrier().spawn([&] {
            ErrorCode error;
            listener.accept(error);
            calls.acceptError = 0;  // the shortage is over, and this fiber does not come back
            return error;
        });
        auto second = host.carrier().spawn([&] {
            ErrorCode error;
            listener.accept(error);
            return error;
        });
        for (int i = 0; i < 100; ++i) thisFiber::yield();  // both wait
        calls.acceptError = EMFILE;
        TcpStream client = TcpStream::connect(listener.localAddress(), patience());
        EXPECT_EQ(first.join(), fromErrno(EMFILE));
        EXPECT_TRUE(endWithin(100'000, second, listener)) << "sleeps beside a full backlog";
    });
}

TEST(TcpListener, AShortageThatLastsIsReportedToEveryWaiterOnce) {
    CountingSystemCalls calls;
    HostedLoop host(1, calls);
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
        TcpStream client = TcpStream::connect(listener.localAddress(), patience());
        for (auto& acceptor : acceptors) {
            for (int i = 0; i < 100'000 && !acceptor.done(); ++i) thisFiber::yield();
        }
        listener.close();
        for (auto& acceptor : acceptors) EXPECT_EQ(acceptor.join(), fromErrno(ENFILE));
    });
}

}  // namespace
}  // namespace weft::test
