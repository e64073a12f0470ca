// External faults of the transport (docs/reference/faults.md): signals, failing system calls, peers that stall.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <weft/transports/tcp_socket.hpp>

#include "transports/blocking_peer.hpp"
#include "transports/counting_system_calls.hpp"
#include "transports/loopback_server.hpp"
#include "transports/scripted_bench.hpp"
#include "transports/socket_loops.hpp"

namespace weft::test {
namespace {

using testing::ElementsAre;

constexpr int fd = 500;
constexpr int otherFd = 501;

// ---- EINTR ----

// During its lifetime, SIGUSR1 interrupts calls and is counted.
class CountedSignals {
  public:
    CountedSignals() {
        count = 0;
        struct sigaction action {};
        action.sa_handler = [](int) { ++count; };  // without SA_RESTART
        ::sigaction(SIGUSR1, &action, &before_);
    }
    ~CountedSignals() { ::sigaction(SIGUSR1, &before_, nullptr); }
    CountedSignals(const CountedSignals&) = delete;
    CountedSignals& operator=(const CountedSignals&) = delete;
    static inline std::atomic<int> count{0};

  private:
    struct sigaction before_ {};
};

// Calls `blocking` on a new thread, interrupts it a hundred times, and then lets `end` end it.
ssize_t interruptedResult(const std::function<ssize_t()>& blocking, const std::function<void()>& end) {
    const CountedSignals signals;
    std::atomic<bool> begun{false};
    std::atomic<bool> ended{false};
    ssize_t result = 0;
    std::thread caller([&] {
        begun = true;
        result = blocking();
        ended = true;
    });
    while (!begun) std::this_thread::yield();
    // Repeatedly: the thread sanitizer delays a signal that arrives before the call until the call has ended.
    while (CountedSignals::count < 100 && !ended) {
        ::pthread_kill(caller.native_handle(), SIGUSR1);
        std::this_thread::yield();
    }
    end();
    caller.join();
    return result;
}

struct SocketPair {
    SocketPair() { ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends); }
    ~SocketPair() {
        ::close(ends[0]);
        ::close(ends[1]);
    }
    int ends[2];
};

TEST(Faults, AStormOfSignalsDoesNotEndAReceive) {
    const SocketPair pair;
    char bytes[8];
    EXPECT_EQ(interruptedResult([&] { return SystemCalls::kernel().recv(pair.ends[0], bytes, sizeof bytes); },
                                [&] { ASSERT_EQ(::send(pair.ends[1], "four", 4, 0), 4); }),
              4);
}

TEST(Faults, AStormOfSignalsDoesNotEndASend) {
    const SocketPair pair;
    const std::string filling(1 << 20, 'x');
    while (::send(pair.ends[0], filling.data(), filling.size(), MSG_DONTWAIT) > 0) {
    }
    const auto drain = [&] {
        std::string bytes(1 << 20, '\0');
        while (::recv(pair.ends[1], bytes.data(), bytes.size(), MSG_DONTWAIT) > 0) {
        }
    };
    EXPECT_EQ(interruptedResult([&] { return SystemCalls::kernel().send(pair.ends[0], "four", 4); }, drain), 4);
    while (::send(pair.ends[0], filling.data(), filling.size(), MSG_DONTWAIT) > 0) {
    }
    char four[] = "four";
    const iovec part{four, 4};
    EXPECT_EQ(interruptedResult([&] { return SystemCalls::kernel().sendv(pair.ends[0], &part, 1); }, drain), 4);
}

TEST(Faults, AStormOfSignalsDoesNotEndAnAccept) {
    const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ASSERT_EQ(::listen(listener, 1), 0);  // on a port chosen by the kernel
    const SocketAddress address =
        SocketAddress::loopbackV4(detail::localAddressOf(SystemCalls::kernel(), listener).port());
    std::unique_ptr<BlockingPeer> peer;
    const ssize_t accepted =
        interruptedResult([&] { return SystemCalls::kernel().accept4(listener, nullptr, nullptr, SOCK_CLOEXEC); },
                          [&] { peer = std::make_unique<BlockingPeer>(address); });
    EXPECT_GE(accepted, 0);
    ::close(static_cast<int>(accepted));
    ::close(listener);
}

TEST(Faults, InterruptedWaitsLoseNothing) {
    for (const bool old : {false, true}) {
        CountingSystemCalls calls;
        calls.interruptedWaits = true;
        calls.withoutPwait2 = old;
        SocketLoops host(1, calls);
        Server server(host, echo);
        BlockingPeer peer(server.address);
        for (int i = 0; i < 200; ++i) {
            const std::string message = "message " + std::to_string(i);
            peer.send(message);
            ASSERT_EQ(peer.receiveExactly(message.size()), message);
        }
    }
}

TEST(Faults, AnInterruptedPollReportsNothingAndTheNextOneReportsEverything) {
    Log log;
    ScriptedBench bench;
    bench.stream(fd, log);
    bench.calls.nextWaitFails(EINTR);
    bench.calls.nextRecv(fd, {data("kept")});
    EXPECT_EQ(bench.turn({{fd, EPOLLIN}}).events, 0u);
    bench.turn();
    EXPECT_THAT(log, ElementsAre("active", "read kept", "complete"));
}

// ---- failing starts ----

std::string refusalToOpen(ScriptedSystemCalls& calls) {
    EpollIoHandler poller(calls);
    try {
        poller.openWithWakeFd(7);
    } catch (const SystemError& error) {
        return error.what();
    }
    return "(opened)";
}

TEST(Faults, APollerWithoutAnEpollDescriptorSaysWhichCallFailed) {
    for (const int error : {EMFILE, ENFILE, ENOMEM}) {
        ScriptedSystemCalls calls;
        calls.nextEpollCreate(-error);
        EXPECT_EQ(refusalToOpen(calls), SystemError(fromErrno(error), "epoll_create1").what());
        EXPECT_EQ(calls.count("close"), 0);
    }
}

TEST(Faults, APollerWithoutItsWakeUpGivesItsEpollDescriptorBack) {
    ScriptedSystemCalls calls;
    calls.nextEpollCreate(900);
    calls.nextEpollCtl(-ENOMEM);
    const std::string refusal = refusalToOpen(calls);
    EXPECT_NE(refusal.find("epoll_ctl"), std::string::npos) << refusal;
    EXPECT_TRUE(calls.closed(900));
    EXPECT_FALSE(calls.closed(7)) << "the wake-up descriptor is the carrier's";
}

// ---- peers ----

TEST(Faults, InputInSingleBytesBetweenEmptyEdgesArrivesWhole) {
    Log log;
    ScriptedBench bench;
    bench.stream(fd, log);
    for (const char* byte : {"w", "e", "f", "t"}) {
        bench.calls.nextRecv(fd, {data(byte), failsWith(EAGAIN)});
        bench.turn({{fd, EPOLLIN}});
        bench.turn({{fd, EPOLLIN}});
    }
    EXPECT_THAT(log, ElementsAre("active", "read w", "complete", "read e", "complete", "read f", "complete", "read t",
                                 "complete"));
}

// "EAGAIN, then 3 bytes, then a reset" in both directions, while a neighbour goes on.
TEST(Faults, AResetInTheMiddleOfAWriteFailsItOnceAndLeavesTheNeighbourAlone) {
    Log log;
    Log otherLog;
    ScriptedBench bench;
    ChannelRef channel = bench.stream(fd, log);
    ChannelRef other = bench.stream(otherFd, otherLog);
    bench.calls.nextSend(fd, {-EAGAIN, 3, -ECONNRESET});
    int outcomes = 0;
    ChannelPromise promise = channel->newPromise();
    promise.addListener([&](const ChannelFuture&) { ++outcomes; });
    channel->writeAndFlush(Buffer::copyOf("0123456789"), promise);
    other->writeAndFlush(Buffer::copyOf("untouched"));
    bench.loop.runTasks();
    bench.turn({{fd, EPOLLOUT}});
    EXPECT_EQ(bench.calls.sent(fd), "012");
    bench.turn({{fd, EPOLLIN | EPOLLRDHUP | EPOLLERR | EPOLLHUP}});
    bench.turn();
    EXPECT_EQ(outcomes, 1);
    EXPECT_FALSE(promise.future().success());
    EXPECT_TRUE(bench.calls.closed(fd));
    EXPECT_THAT(log, ElementsAre("active", "inactive")) << "the writer hears of it by its promise";
    EXPECT_EQ(bench.calls.sent(otherFd), "untouched");
    EXPECT_FALSE(other->closed());
}

// A peer that stalls holds up only its own bytes: the loop does not retry before the kernel reports an edge.
TEST(Faults, AStalledPeerCausesNoFurtherSystemCalls) {
    Log log;
    ScriptedBench bench;
    ChannelRef channel = bench.stream(fd, log);
    bench.calls.nextSend(fd, {-EAGAIN});
    for (int i = 0; i < 100; ++i) channel->writeAndFlush(Buffer::copyOf(std::string(1000, 'x')));
    bench.loop.runTasks();
    EXPECT_FALSE(channel->isWritable()) << "its writer is told to stop";
    for (int i = 0; i < 100; ++i) EXPECT_FALSE(bench.turn().more);
    EXPECT_EQ(bench.calls.sends(fd), 1);
    bench.turn({{fd, EPOLLOUT}});
    EXPECT_EQ(bench.calls.sent(fd).size(), 100'000u);
    EXPECT_TRUE(channel->isWritable());
}

// ---- closing a descriptor in use ----

TEST(Faults, ACloseFromAnotherThreadEndsAConnectionThatWaits) {
    SocketLoops host;
    ChannelRef child;
    Promise<void> told;
    Future<void> inactive = told.future();
    struct Tells final : ChannelInboundHandler {
        explicit Tells(Promise<void>& told) : told_(told) {}
        void channelInactive(ChannelHandlerContext&) override { told_.setValue(); }
        Promise<void>& told_;
    };
    Promise<void> arrived;
    Future<void> accepted = arrived.future();
    Server server(host, [&](Channel& channel) {
        channel.pipeline().addLast<Tells>(told);
        child = ChannelRef(channel);
        arrived.setValue();
    });
    BlockingPeer peer(server.address);
    ASSERT_TRUE(accepted.awaitUntil(testDeadline()));
    child->close();
    EXPECT_EQ(peer.receive(), "");
    EXPECT_TRUE(inactive.awaitUntil(testDeadline()));
    child = nullptr;
}

}  // namespace
}  // namespace weft::test
