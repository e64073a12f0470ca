#include <weft/framework/event_loop_group.hpp>

#include <cstdlib>
#include <optional>
#include <set>
#include <string>

#include <sys/resource.h>

#include <weft/scheduler/blocking_pool.hpp>
#include <weft/scheduler/io_handler_decorator.hpp>

#include "framework/bench.hpp"
#include "support/sanitized.hpp"

namespace weft::test {
namespace {

class TransportVariable {
  public:
    explicit TransportVariable(const char* value) {
        if (const char* const before = std::getenv(name)) before_ = before;
        ::setenv(name, value, 1);
    }
    ~TransportVariable() { before_ ? ::setenv(name, before_->c_str(), 1) : ::unsetenv(name); }

  private:
    static constexpr const char* name = "WEFT_TRANSPORT";
    std::optional<std::string> before_;
};

TEST(EventLoopGroupTest, HasALoopWithSocketsOnEveryCarrier) {
    DescriptorGuard descriptors;
    EventLoopGroup group(groupOptions(3));
    ASSERT_EQ(group.size(), 3u);
    for (std::size_t i = 0; i < group.size(); ++i) {
        EXPECT_EQ(group.loop(i).carrier(), &group.carriers().carrier(i));
        EXPECT_NE(SocketIoHandler::of(group.loop(i)), nullptr);
    }
    EXPECT_THROW(group.loop(3), std::out_of_range);
}

TEST(EventLoopGroupTest, NextIsRoundRobinOutsideAndTheOwnLoopOnACarrier) {
    EventLoopGroup group(groupOptions(2));
    const std::set<EventLoop*> taken{&group.next(), &group.next()};
    EXPECT_EQ(taken.size(), 2u);
    for (unsigned i = 0; i < 2; ++i) {
        EXPECT_EQ(group.carriers().carrier(i).spawn([&] { return &group.next(); }).join(), &group.loop(i));
    }
}

TEST(EventLoopGroupTest, ABadTransportVariableIsNamedWithItsValueAndWhatIsAccepted) {
    const TransportVariable variable("carrier-pigeon");
    try {
        EventLoopGroup group(groupOptions(1));
        FAIL() << "no exception";
    } catch (const ConfigurationError& error) {
        const std::string text = error.what();
        EXPECT_NE(text.find("WEFT_TRANSPORT"), std::string::npos) << text;
        EXPECT_NE(text.find("carrier-pigeon"), std::string::npos) << text;
        EXPECT_NE(text.find("auto, epoll"), std::string::npos) << text;
    }
}

TEST(EventLoopGroupTest, AnOptionGoesBeforeTheVariableAndAnEmptyVariableIsUnset) {
    EventLoopGroupOptions options = groupOptions(1);
    options.transport = Transport::Kind::epoll;
    const TransportVariable bad("carrier-pigeon");
    EXPECT_NO_THROW(EventLoopGroup{options});
    const TransportVariable empty("");
    EXPECT_NO_THROW(EventLoopGroup{groupOptions(1)});
}

TEST(EventLoopGroupTest, TheLoopsGetTheirOptions) {
    const auto refusal = [](auto make) {
        try {
            make();
            return std::string("none");
        } catch (const std::invalid_argument& error) {
            return std::string(error.what());
        }
    };
    const std::string expected = "EventLoop::Options: ioEvents is 0; accepted: 1 or more";
    EventLoopGroupOptions options = groupOptions(1);
    options.loop.ioEvents = 0;
    EXPECT_EQ(refusal([&] { EventLoopGroup group(options); }), expected);

    CarrierGroup carriers(groupOptions(1));
    EXPECT_EQ(refusal([&] { EventLoopGroup group(carriers, {}, {.ioEvents = 0}); }), expected);
    EventLoopGroup group(carriers, {}, {.ioEvents = 1});  // the refused group has left nothing behind
    EXPECT_EQ(group.loop(0).options().ioEvents, 1u);
}

TEST(EventLoopGroupTest, TheNumberOfCarriersIsOneOfTheGroupsOwnOptions) {
    EventLoopGroupOptions options;
    options.carriers = 3;
    options.name = "own";
    EventLoopGroup group(options);
    EXPECT_EQ(group.size(), 3u);
    EXPECT_EQ(group.carriers().carrier(2).name(), "own2");
}

TEST(EventLoopGroupTest, ALoopUsesItsCarriersIdleSpinUnlessItHasItsOwn) {
    EventLoopGroupOptions options = groupOptions(1);
    options.idleSpin = std::chrono::microseconds(7);
    EXPECT_EQ(EventLoopGroup(options).loop(0).options().idleSpin, std::chrono::microseconds(7));
    options.loop.idleSpin = Duration::zero();
    EXPECT_EQ(EventLoopGroup(options).loop(0).options().idleSpin, Duration::zero());
}

TEST(EventLoopGroupTest, TwoGroupsOnOneCarrierGroupShareItsLoops) {
    DescriptorGuard descriptors;
    CarrierGroup carriers(carrierOptions("test", 2));
    EventLoopGroup first(carriers);
    {
        EventLoopGroup second(carriers);
        EXPECT_EQ(&first.loop(0), &second.loop(0));
        EXPECT_EQ(&first.loop(1), &second.loop(1));
        EXPECT_TRUE(second.shutdown(20s));
    }
    Server server = serveEcho(first);  // the loops have outlived the second group
    BlockingPeer peer(server.localAddress());
    EXPECT_EQ(echoed(peer, "still here"), "still here");
}

TEST(EventLoopGroupTest, LoopsThatHaveEndedMayBeStartedAgainOnTheSameCarriers) {
    CarrierGroup carriers(carrierOptions("test", 1));
    for (int round = 0; round < 3; ++round) {
        EventLoopGroup group(carriers);
        Server server = serveEcho(group);
        BlockingPeer peer(server.localAddress());
        EXPECT_EQ(echoed(peer, "round"), "round");
    }
}

TEST(EventLoopGroupTest, ACarrierThatHostsAnotherPollerIsRefusedAndNothingIsLeftBehind) {
    DescriptorGuard descriptors;
    CarrierGroup carriers(carrierOptions("test", 2));
    std::atomic<bool> stop{false};
    const auto foreign = carriers.carrier(1).registerPinnedPoller([] {},
                                                                  [&](PinnedPoller& poller) {
                                                                      while (!stop && !poller.stopRequested())
                                                                          poller.maybeYield(false);
                                                                  });
    EXPECT_THROW(EventLoopGroup{carriers}, std::logic_error);
    stop = true;
    foreign.get();
    EventLoopGroup group(carriers);  // carrier 0 is free again, too
    EXPECT_EQ(group.size(), 2u);
}

TEST(EventLoopGroupTest, APollerThatCannotBeOpenedIsReportedWithItsCarrier) {
#ifdef WEFT_SANITIZED_ADDRESS
    GTEST_SKIP() << "the undefined behaviour sanitizer, which comes with this one, needs descriptors of its own";
#endif
    DescriptorGuard descriptors;
    CarrierGroup carriers(carrierOptions("test", 2));
    rlimit limit{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
    rlimit none = limit;
    none.rlim_cur = 0;
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    std::string text;
    ErrorCode code;
    try {
        EventLoopGroup group(carriers);
    } catch (const SystemError& error) {
        text = error.what();
        code = error.code();
    }
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
    EXPECT_EQ(code, fromErrno(EMFILE)) << text;
    EXPECT_NE(text.find("carrier test0"), std::string::npos) << text;
    EventLoopGroup group(carriers);
    EXPECT_EQ(group.size(), 2u);
}

TEST(EventLoopGroupTest, ShutdownClosesConnectionsAndMayBeRepeated) {
    DescriptorGuard descriptors;
    EventLoopGroup group(groupOptions(2));
    Server server = serveEcho(group);
    BlockingPeer peer(server.localAddress());
    EXPECT_EQ(echoed(peer, "x"), "x");
    EXPECT_TRUE(group.shutdown(20s));
    EXPECT_EQ(peer.receive(), "");
    EXPECT_TRUE(group.shutdown(20s));
    EXPECT_EQ(server.drain(20s), 0u);  // nothing left to drain or to wait for
}

TEST(EventLoopGroupTest, ShutdownSaysWhenAFiberOutlastsItsTime) {
    EventLoopGroup group(groupOptions(1));
    std::atomic<bool> go{false};
    Promise<void> begun;
    Future<void> running = begun.future();
    group.carriers().carrier(0).spawnDetached([&] {
        begun.setValue();
        while (!go) thisFiber::yield();
    });
    running.await();
    EXPECT_FALSE(group.shutdown(1ms));
    go = true;
    EXPECT_TRUE(group.shutdown(20s));
}

// Holds the loop in a task until it is destroyed.
class BusyLoop {
  public:
    explicit BusyLoop(EventLoop& loop) {
        Promise<void> begun;
        const Future<void> running = begun.future();
        loop.execute([&begun, go = go_] {
            begun.setValue();
            while (!*go) std::this_thread::yield();
        });
        running.await();
    }
    ~BusyLoop() { end(); }
    void end() { *go_ = true; }

  private:
    const std::shared_ptr<std::atomic<bool>> go_ = std::make_shared<std::atomic<bool>>(false);
};

TEST(EventLoopGroupTest, WhileOneThreadShutsItDownOthersWaitToo) {
    EventLoopGroup group(groupOptions(1));
    BusyLoop busy(group.loop(0));
    std::thread first([&] { EXPECT_TRUE(group.shutdown(20s)); });
    ASSERT_TRUE(eventually([&] { return group.loop(0).stopping(); }));
    EXPECT_FALSE(group.shutdown(0ms)) << "the loop still runs";
    const Future<void> graceful = group.shutdownGracefully(0ms, 0ms);
    EXPECT_FALSE(graceful.done());
    std::thread second([&] { EXPECT_TRUE(group.shutdown(20s)); });
    busy.end();
    first.join();
    second.join();
    EXPECT_TRUE(graceful.awaitUntil(testDeadline()));
}

TEST(EventLoopGroupTest, AGroupMadeWhileTheLastOneEndsOnTheSameCarriersWaitsForThat) {
    CarrierGroup carriers(carrierOptions("test", 1));
    CarrierGroup others(carrierOptions("other", 1));
    auto last = std::make_unique<EventLoopGroup>(carriers);
    BusyLoop busy(last->loop(0));
    std::thread ending([&] { last->shutdown(20s); });
    ASSERT_TRUE(eventually([&] { return last->loop(0).stopping(); }));
    JoinHandle<std::size_t> making = others.carrier(0).spawn([&] { return EventLoopGroup(carriers).size(); });
    others.carrier(0).spawn([] {}).join();  // runs after the other fiber has begun to wait
    busy.end();
    EXPECT_EQ(making.join(), 1u);
    ending.join();
}

TEST(EventLoopGroupTest, ItsLoopsLiveUntilTheFunctionsOfItsBlockingPoolHaveReturned) {
    struct Last final : IoHandlerDecorator {
        Last(std::unique_ptr<IoHandler> wrapped, std::atomic<bool>& ended, std::atomic<bool>& returned)
            : IoHandlerDecorator(std::move(wrapped)), ended_(ended), returned_(returned) {}
        ~Last() override { EXPECT_TRUE(returned_) << "the function may still use the loop"; }
        void close() override {
            IoHandlerDecorator::close();
            ended_ = true;
        }
        std::atomic<bool>& ended_;
        std::atomic<bool>& returned_;
    };
    std::atomic<bool> ended{false};
    std::atomic<bool> returned{false};
    EventLoopGroupOptions options = groupOptions(1);
    options.ioHandler = [&](auto builtIn) { return std::make_unique<Last>(std::move(builtIn), ended, returned); };
    EventLoopGroup group(options);
    group.carriers().blockingPool().post([&] {
        while (!ended) std::this_thread::yield();
        for (int i = 0; i < 10'000; ++i) std::this_thread::yield();  // the destructor goes on
        returned = true;
    });
}

// ---- shutdownGracefully(), L-3: these tests wait for time to pass only where they must ----

constexpr Duration aLongTime = 1h;

TEST(EventLoopGroupTest, L3_AQuietTimeOfZeroEndsTheLoopsAfterTheQueuedTasks) {
    EventLoopGroup group(groupOptions(2));
    Server server = serveEcho(group);
    BlockingPeer peer(server.localAddress());
    EXPECT_EQ(echoed(peer, "x"), "x");
    std::atomic<int> ran{0};
    for (std::size_t i = 0; i < group.size(); ++i) group.loop(i).execute([&] { ++ran; });
    const Future<void> ended = group.shutdownGracefully(0ms, aLongTime);
    for (std::size_t i = 0; i < group.size(); ++i) {
        try {
            group.loop(i).execute([&] { ++ran; });
        } catch (const SystemError&) {  // the loop has already ended
        }
    }
    ended.get();
    EXPECT_GE(ran, 2);
    EXPECT_EQ(peer.receive(), "");
    EXPECT_THROW(group.loop(0).execute([] {}), SystemError);
}

TEST(EventLoopGroupTest, L3_WhileItIsNotQuietChannelsAreClosedNewOnesRefusedAndTasksRun) {
    EventLoopGroup group(groupOptions(1));
    Server server = serveEcho(group);
    BlockingPeer peer(server.localAddress());
    EXPECT_EQ(echoed(peer, "x"), "x");
    ScheduledTask timed = group.loop(0).schedule([] {}, aLongTime);
    const Future<void> ended = group.shutdownGracefully(aLongTime, aLongTime);
    EXPECT_EQ(peer.receive(), "");
    EXPECT_TRUE(eventually([&] { return timed.done(); }));
    Promise<void> promise;
    const Future<void> ran = promise.future();
    group.loop(0).execute([&] { promise.setValue(); });
    ran.get();
    ServerBootstrap late(group);
    late.childHandler([](Channel&) {});
    EXPECT_THROW(late.bind(anyPort).sync(), SystemError);
    EXPECT_FALSE(ended.done());
    EXPECT_TRUE(group.shutdown(20s));  // a caller that does not want to wait any longer
    ended.get();
}

TEST(EventLoopGroupTest, L3_TasksThatNeverEndDelayItUntilTheTimeout) {
    EventLoopGroup group(groupOptions(1));
    struct Again {
        EventLoop& loop;
        void operator()() const { loop.execute(*this); }
    };
    group.loop(0).execute(Again{group.loop(0)});
    group.shutdownGracefully(10ms, 20ms).get();
    EXPECT_THROW(group.loop(0).execute([] {}), SystemError);
}

TEST(EventLoopGroupTest, L3_AQuietLoopEndsBeforeTheTimeoutAndFibersOfOwnCarriersAreAborted) {
    EventLoopGroup group(groupOptions(1));
    auto fiber = group.carriers().carrier(0).spawn([] {
        ErrorCode error;
        thisFiber::sleepFor(aLongTime, error);
        return error;
    });
    group.shutdownGracefully(1ms, aLongTime).get();
    EXPECT_EQ(fiber.join(), operationAborted());
}

TEST(EventLoopGroupTest, L3_TheFirstCallDecidesAndLaterOnesReturnItsFuture) {
    EventLoopGroup group(groupOptions(1));
    const Future<void> first = group.shutdownGracefully(0ms, aLongTime);
    const Future<void> second = group.shutdownGracefully(aLongTime, aLongTime);
    first.get();
    EXPECT_TRUE(second.done());
}

TEST(EventLoopGroupTest, L3_TimesThatDoNotFitAreRefusedWithWhatIsAccepted) {
    EventLoopGroup group(groupOptions(1));
    EXPECT_THROW(group.shutdownGracefully(-1ms, 1s), std::invalid_argument);
    try {
        group.shutdownGracefully(2s, 1s);
        FAIL() << "no exception";
    } catch (const std::invalid_argument& error) {
        EXPECT_NE(std::string(error.what()).find("0 <= quiet <= timeout"), std::string::npos) << error.what();
    }
}

TEST(EventLoopGroupTest, L3_LoopsThatAnotherGroupSharesGoOn) {
    CarrierGroup carriers(carrierOptions("test", 1));
    EventLoopGroup first(carriers);
    {
        EventLoopGroup second(carriers);
        second.shutdownGracefully(0ms, 0ms).get();
    }
    Server server = serveEcho(first);
    BlockingPeer peer(server.localAddress());
    EXPECT_EQ(echoed(peer, "still here"), "still here");
}

}  // namespace
}  // namespace weft::test
