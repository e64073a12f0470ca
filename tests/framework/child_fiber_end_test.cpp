// The end of a server of fibers: drains, time limits, and the end of its loops.
#include <weft/framework/server_bootstrap.hpp>

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "framework/child_fiber_bench.hpp"

namespace weft::test {
namespace {

using ChildFiberEnd = ChildFiberTest;

TEST_P(ChildFiberEnd, ADrainEndsReadsThatWaitAndLetsOtherWorkFinish) {
    Promise<void> asked, open;
    Server server = serve(group(), [&](TcpStream stream) {
        for (Buffer bytes = stream.read(4096); !bytes.empty(); bytes = stream.read(4096)) {
            if (bytes.view() == "wait") {
                asked.setValue();
                open.future().await();
            }
            stream.write(bytes.view());
        }
    });
    BlockingPeer idle(server.localAddress());
    EXPECT_EQ(echoed(idle, "1"), "1");
    BlockingPeer busy(server.localAddress());
    busy.send("wait");
    asked.future().get();
    std::thread drainer([&] { EXPECT_EQ(server.drain(20s), 0u); });
    EXPECT_EQ(idle.receive(), "");  // the drain has begun
    open.setValue();
    EXPECT_EQ(busy.receiveExactly(4), "wait");
    EXPECT_EQ(busy.receive(), "");
    drainer.join();
    EXPECT_EQ(server.liveChildren(), 0u);
}

TEST_P(ChildFiberEnd, AConnectionThatComesInADrainIsTold) {
    ErrorCode error;
    Server server = serve(group(), [&](TcpStream stream) { stream.read(1, error); });
    std::atomic<bool> release{false};
    group_->loop(0).execute([&] {
        while (!release) std::this_thread::yield();
    });
    BlockingPeer peer(server.localAddress());
    std::thread drainer([&] { EXPECT_EQ(server.drain(20s), 0u); });
    release = true;
    drainer.join();
    EXPECT_EQ(peer.receive(), "");
}

TEST_P(ChildFiberEnd, AReadInADrainGetsWhatHasArrivedAndThenTheAbort) {
    Promise<void> begun, drained;
    std::string seen;
    ErrorCode first, second;
    Server server = serve(group(), [&](TcpStream stream) {
        if (begun.future().done()) return echo(std::move(stream));
        begun.setValue();
        drained.future().await();
        seen = stream.read(4096, first).view();
        stream.read(4096, second);
    });
    BlockingPeer peer(server.localAddress());
    begun.future().get();
    BlockingPeer idle(server.localAddress());
    EXPECT_EQ(echoed(idle, "1"), "1");
    peer.send("before");
    std::thread drainer([&] { EXPECT_EQ(server.drain(20s), 0u); });
    EXPECT_EQ(idle.receive(), "");  // the drain has reached both
    drained.setValue();
    drainer.join();
    EXPECT_EQ(seen, "before");
    EXPECT_FALSE(first);
    EXPECT_EQ(second, operationAborted());
}

TEST_P(ChildFiberEnd, AtTheTimeLimitOfADrainTheFiberIsCancelledAndNamed) {
    LogCapture log;
    Promise<void> begun;
    std::atomic<bool> cancelled{false};
    Server server = serve(group(),
                          [&](TcpStream) {
                              begun.setValue();
                              ErrorCode error;
                              thisFiber::sleepFor(std::chrono::hours(1), error);
                              cancelled = error == operationAborted();
                          },
                          {.name = "sleeper"});
    BlockingPeer peer(server.localAddress());
    begun.future().get();
    EXPECT_EQ(server.drain(1ms), 1u);
    EXPECT_EQ(peer.receive(), "");
    EXPECT_TRUE(isEmptied(server));
    EXPECT_TRUE(cancelled);
    EXPECT_GT(log.countAt(LogLevel::warning, "fiber 'sleeper'"), 0) << log.text();
}

TEST_P(ChildFiberEnd, TheEndOfTheGroupEndsItsCalls) {
    Promise<void> begun;
    std::atomic<bool> aborted{false};
    Server server = serve(group(), [&](TcpStream stream) {
        begun.setValue();
        ErrorCode error;
        stream.read(1, error);
        aborted = error == operationAborted();
    });
    BlockingPeer peer(server.localAddress());
    begun.future().get();
    group_.reset();
    EXPECT_EQ(peer.receive(), "");
    EXPECT_TRUE(aborted);
}

TEST_P(ChildFiberEnd, TheEndOfAGroupOnBorrowedCarriersEndsEachWait) {
    CarrierGroup carriers(groupOptions(1));
    std::optional<EventLoopGroup> borrowing(std::in_place, carriers, GetParam());
    Promise<void> begun, ended;
    ErrorCode error;
    Server server = serve(*borrowing, [&](TcpStream) {
        begun.setValue();
        thisFiber::sleepFor(std::chrono::hours(1), error);
        ended.setValue();
    });
    BlockingPeer peer(server.localAddress());
    begun.future().get();
    EXPECT_TRUE(borrowing->shutdown(20s));
    EXPECT_EQ(peer.receive(), "");
    ended.future().get();
    EXPECT_EQ(error, operationAborted());
    EXPECT_TRUE(isEmptied(server));
}

TEST_P(ChildFiberEnd, AnEndThatThePeerHasMadeIsNoAbort) {
    Promise<void> begun, drained;
    std::string seen;
    ErrorCode error;
    Server server = serve(group(), [&](TcpStream stream) {
        if (begun.future().done()) return echo(std::move(stream));
        begun.setValue();
        drained.future().await();
        for (Buffer bytes = stream.read(4096, error); !bytes.empty(); bytes = stream.read(4096, error))
            seen += bytes.view();
    });
    BlockingPeer peer(server.localAddress());
    begun.future().get();
    BlockingPeer idle(server.localAddress());
    EXPECT_EQ(echoed(idle, "1"), "1");
    peer.send("all of it");
    peer.endOutput();
    std::thread drainer([&] { EXPECT_EQ(server.drain(20s), 0u); });
    EXPECT_EQ(idle.receive(), "");
    drained.setValue();
    drainer.join();
    EXPECT_EQ(seen, "all of it");
    EXPECT_FALSE(error) << error.message();
}

TEST_P(ChildFiberEnd, AStreamMayLingerInADrain) {
    Promise<void> begun, drained;
    ErrorCode error;
    Server server = serve(group(), [&](TcpStream stream) {
        begun.setValue();
        drained.future().await();
        stream.write("bye");
        stream.shutdownOutput();
        stream.read(4096, error);
    });
    BlockingPeer peer(server.localAddress());
    begun.future().get();
    std::thread drainer([&] { EXPECT_EQ(server.drain(20s), 0u); });
    server.listeners()[0]->closeFuture().await();
    peer.send("more");
    drained.setValue();
    EXPECT_EQ(peer.receiveExactly(3), "bye");
    EXPECT_EQ(peer.receive(), "");
    drainer.join();
    EXPECT_FALSE(error) << error.message();
}

INSTANTIATE_TEST_SUITE_P(EachTransport, ChildFiberEnd, ::testing::ValuesIn(transports()), nameOfTransport);

}  // namespace
}  // namespace weft::test
