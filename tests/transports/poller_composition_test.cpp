// The event loop on epoll and on io_uring follows the poller's protocol, by itself and with its handler nested under
// another poller through pollFd(): the whole conformance kit over all four, and defects that only nesting can have.
#include <weft/testing/poller_conformance.hpp>

#include <array>

#include <gmock/gmock.h>

#include <weft/scheduler/non_suspending_scope.hpp>
#include <weft/scheduler/this_fiber.hpp>

#include "transports/composition_handlers.hpp"
#include "transports/socket_loops.hpp"

namespace weft::test {
namespace {

using Loops = ::testing::Types<ChannelPoller<CountingIoHandler>, ChannelPoller<NestingIoHandler>>;
INSTANTIATE_TYPED_TEST_SUITE_P(EpollLoop, PollerConformance, Loops);
INSTANTIATE_TYPED_TEST_SUITE_P(EpollLoop, SleepingPollerConformance, Loops);
INSTANTIATE_TYPED_TEST_SUITE_P(EpollLoop, TaskConformance, Loops);
INSTANTIATE_TYPED_TEST_SUITE_P(EpollLoop, OwnWorkConformance, Loops);

using UringLoops = ::testing::Types<ChannelPoller<BasicCountingIoHandler<UringIoHandler>>,
                                    ChannelPoller<BasicNestingIoHandler<true, UringIoHandler>>>;
INSTANTIATE_TYPED_TEST_SUITE_P(UringLoop, PollerConformance, UringLoops);
INSTANTIATE_TYPED_TEST_SUITE_P(UringLoop, SleepingPollerConformance, UringLoops);
INSTANTIATE_TYPED_TEST_SUITE_P(UringLoop, TaskConformance, UringLoops);
INSTANTIATE_TYPED_TEST_SUITE_P(UringLoop, OwnWorkConformance, UringLoops);

using PollerComposition = LeakGuard;

class Counter final : public ChannelInboundHandler {
  public:
    explicit Counter(Tally& bytes) : bytes_(bytes) {}
    void channelRead(ChannelHandlerContext&, Message&& message) override {
        for (std::size_t left = message.get<Buffer>().view().size(); left > 0; --left) bytes_.add();
    }

  private:
    Tally& bytes_;
};

// Work known only to the handler: bytes wait in the socket, their edge is long past, and a task or a fiber switches
// reading on again. The outer poller sees only pollFd().
TEST_F(PollerComposition, ANestedHandlerTellsOfWorkThatItsUserMadeBetweenTwoPolls) {
    CarrierGroup group(carrierOptions("test", 1));
    Carrier& carrier = group.carrier(0);
    EventLoop loop(carrier, std::make_unique<NestingIoHandler>());
    auto ended = loop.start();
    SocketPair sockets;
    Tally bytes;
    ChannelRef channel;
    Promise<void> registered;
    auto ready = registered.future();
    loop.execute([&] {  // its handler is open by then
        channel = Channel::create(loop);
        channel->attach(static_cast<NestingIoHandler&>(*loop.io()).stream(std::move(sockets.theirs), *channel));
        channel->setActive(true);  // a connected socket
        channel->pipeline().addLast<Counter>(bytes);
        channel->setOption(ChannelOption::AUTO_READ, false);
        channel->registerWithLoop();
        registered.setValue();
    });
    ready.await();
    for (std::uint64_t round = 1; round <= 20; ++round) {
        sockets.send("!");
        awaitAsleep(carrier);
        EXPECT_EQ(bytes.count(), round - 1) << "reading is off";
        carrier.spawnDetached([&] {
            thisFiber::sleepFor(std::chrono::milliseconds(1));  // resumed by a deadline, not by a wake-up
            channel->setOption(ChannelOption::AUTO_READ, true);
        });
        if (!bytes.awaitAtLeast(round, std::chrono::seconds(20))) {
            ADD_FAILURE() << "round " << round;
            break;
        }
        carrier.spawn([&] { channel->setOption(ChannelOption::AUTO_READ, false); }).join();
    }
    loop.stop();
    ended.get();
}

TEST_F(PollerComposition, TheKitDetectsANestingThatIgnoresHasWork) {
    PollerSettings impatient;  // it waits for an event that never comes
    impatient.timeout = std::chrono::milliseconds(300);
    EXPECT_THAT(everyWorkOfItsOwnIsDone<ChannelPoller<BasicNestingIoHandler<false>>>(impatient),
                testing::HasSubstr("work that a fiber made for the poller was not done"));
}

// A user's own outer poller, without an event loop: it knows the handler only through the IoHandler interface.
template <class Inner>
class UsersPoller {
  public:
    Future<void> start(Carrier& carrier) {
        return carrier.registerPinnedPoller([this] { inner.wakeup(); }, [this](PinnedPoller& poller) { run(poller); });
    }
    Inner inner;
    std::atomic<bool> opened{false};

  private:
    void run(PinnedPoller& poller) {
        inner.open(poller.carrier());
        EpollSet set;
        set.add(inner.pollFd(), EPOLLIN);
        opened = true;
        bool idle = false;
        while (!poller.stopRequested()) {
            bool ready = false;
            if (idle && poller.tryParkPoller()) {
                if (poller.canParkPoller() && !inner.hasWork()) ready = set.wait(poller.parkDeadline()) > 0;
                poller.unpark();
            }
            const PollResult result = ready || inner.hasWork() || set.look() > 0 ? pollInner() : PollResult();
            idle = !poller.maybeYield(result.events > 0) && result.events == 0 && !inner.hasWork();
        }
        inner.prepareToClose();
        do pollInner();
        while (poller.maybeYield(true) || !inner.closable());
        inner.close();
    }
    PollResult pollInner() {
        const NonSuspendingScope dispatching;  // handlers must not block the carrier here
        return inner.poll(nullptr, never, {std::chrono::microseconds(50)});
    }
};

// Bytes and spawns race with the outer poller's sleep, thousands of times; fibers on the carrier read from the nested
// handler with plain blocking calls.
template <class Inner>
void readThroughANestedHandler() {
    CarrierGroup group(carrierOptions("test", 1));
    Carrier& carrier = group.carrier(0);
    UsersPoller<Inner> poller;
    auto ended = poller.start(carrier);
    while (!poller.opened) std::this_thread::yield();
    SocketPair sockets;
    Tally bytes;
    Tally spawned;
    auto reader = carrier.spawn([&] {
        auto stream = poller.inner.fiberStream(std::move(sockets.theirs));
        std::array<char, 16> into;
        for (;;) {
            ErrorCode error;
            const std::size_t count = stream->readSome(into, never, error);
            if (error || count == 0) return error;
            for (std::size_t i = 0; i < count; ++i) bytes.add();
        }
    });
    std::atomic<bool> failed{false};
    const auto rounds = [&](Tally& tally, unsigned seed, const char* lost, auto act) {
        Jitter jitter(seed);
        for (std::uint64_t i = 1; i <= 3000 && !failed; ++i, jitter.pause()) {
            act();
            if (tally.awaitAtLeast(i, std::chrono::seconds(20))) continue;
            ADD_FAILURE() << lost << " (round " << i << ")";
            failed = true;
        }
    };
    std::thread spawner(
        [&] { rounds(spawned, 1, "a spawn was lost", [&] { carrier.spawnDetached([&] { spawned.add(); }); }); });
    rounds(bytes, 2, "a byte was lost", [&] { sockets.send("!"); });
    spawner.join();
    sockets.ours.close();
    EXPECT_EQ(reader.join(), ErrorCode());
    EXPECT_TRUE(group.shutdown(std::chrono::seconds(20)));
    ended.get();
}

TEST_F(PollerComposition, FibersReadThroughAHandlerThatIsNestedUnderAUsersOwnPoller) {
    readThroughANestedHandler<EpollIoHandler>();
}
TEST_F(PollerComposition, FibersReadThroughAnIoUringThatIsNestedUnderAUsersOwnPoller) {
    readThroughANestedHandler<UringIoHandler>();
}

}  // namespace
}  // namespace weft::test
