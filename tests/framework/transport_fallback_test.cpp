// The transport `auto` when the probe has succeeded but the ring of one loop cannot be opened.
#include <cerrno>
#include <chrono>
#include <memory>
#include <stdexcept>

#include <weft/framework/event_loop_group.hpp>
#include <weft/scheduler/io_handler_decorator.hpp>
#include <weft/transports/uring/uring_io_handler.hpp>

#include "framework/bench.hpp"
#include "support/log_capture.hpp"

namespace weft::test {
namespace {

// Refuses to open the `which`-th handler on io_uring.
class Refusing final : public IoHandlerDecorator {
  public:
    Refusing(std::unique_ptr<IoHandler> wrapped, int& left) : IoHandlerDecorator(std::move(wrapped)), left_(left) {}
    void open(Carrier& carrier) override {
        if (dynamic_cast<UringIoHandler*>(&wrapped()) != nullptr && --left_ == 0) {
            throw SystemError(fromErrno(ENOMEM), "io_uring_setup");
        }
        IoHandlerDecorator::open(carrier);
    }

  private:
    int& left_;
};

struct TransportFallback : testing::Test {
    void SetUp() override {
        if (Transport::best() != Transport::Kind::ioUring) GTEST_SKIP() << "io_uring is not permitted here";
    }
    static EventLoopGroupOptions refusingThe(int which, int& left) {
        EventLoopGroupOptions options = groupOptions(3);
        options.transport = Transport::Kind::automatic;
        left = which;
        options.ioHandler = [&left](std::unique_ptr<SocketIoHandler> builtIn) {
            return std::make_unique<Refusing>(std::move(builtIn), left);
        };
        return options;
    }
};

TEST_F(TransportFallback, OneRingThatCannotBeOpenedPutsAllLoopsOnEpollAndIsNamedOnce) {
    for (const int which : {1, 2, 3}) {
        const LogCapture log;
        const DescriptorGuard descriptors;
        int left = 0;
        EventLoopGroup group(refusingThe(which, left));
        EXPECT_EQ(group.transport(), Transport::Kind::epoll);
        EXPECT_EQ(log.countAt(LogLevel::warning, "event loops use epoll instead of io_uring: the event loop of carrier",
                              "io_uring_setup: Cannot allocate memory"),
                  1)
            << log.text();
        EXPECT_EQ(log.count("io_uring"), 1) << log.text();
        Server server = serveEcho(group, AcceptMode::perLoop);
        for (int i = 0; i < 8; ++i) {
            BlockingPeer peer(server.localAddress());
            EXPECT_EQ(echoed(peer, "hello"), "hello");
        }
    }
}

TEST_F(TransportFallback, IoUringThatWasAskedForFailsInstead) {
    const DescriptorGuard descriptors;
    int left = 0;
    EventLoopGroupOptions options = refusingThe(2, left);
    options.transport = Transport::Kind::ioUring;
    EXPECT_THROW(EventLoopGroup{options}, SystemError);
}

TEST_F(TransportFallback, CarriersThatEndCauseNoFallback) {
    const LogCapture log;
    CarrierGroup carriers(groupOptions(2));
    EXPECT_TRUE(carriers.shutdown(std::chrono::seconds(20)));
    try {
        EventLoopGroup group(carriers, Transport::Kind::automatic);
        ADD_FAILURE() << "no exception";
    } catch (const SystemError& error) {
        EXPECT_EQ(error.code(), operationAborted()) << error.what();
    }
    EXPECT_EQ(log.count("epoll"), 0) << log.text();
}

TEST_F(TransportFallback, AnExceptionOfTheApplicationCausesNoFallback) {
    const DescriptorGuard descriptors;
    EventLoopGroupOptions options = groupOptions(2);
    options.transport = Transport::Kind::automatic;
    int made = 0;
    options.ioHandler = [&made](std::unique_ptr<SocketIoHandler> builtIn) -> std::unique_ptr<IoHandler> {
        if (++made == 2) throw std::runtime_error("on purpose");
        return builtIn;
    };
    EXPECT_THROW(EventLoopGroup{options}, std::runtime_error);
    EXPECT_EQ(made, 2);
}

TEST_F(TransportFallback, TheGroupSaysWhichTransportItHas) {
    EventLoopGroupOptions options = groupOptions(1);
    for (const auto kind : {Transport::Kind::epoll, Transport::Kind::ioUring}) {
        options.transport = kind;
        EventLoopGroup group(options);
        EXPECT_EQ(group.transport(), kind);
    }
    options.transport = Transport::Kind::automatic;
    EXPECT_EQ(EventLoopGroup(options).transport(), Transport::best());
    CarrierGroup carriers(groupOptions(1));
    const EventLoopGroup first(carriers, Transport::Kind::epoll), second(carriers, Transport::Kind::ioUring);
    EXPECT_EQ(second.transport(), Transport::Kind::epoll) << "these loops are the first group's";
}

}  // namespace
}  // namespace weft::test
