// An event loop ends in the same way whatever the cause: accepted tasks run, later ones are refused and stay their
// owners', timed tasks are released, the handler is closed on the carrier, and nothing refers to the loop any more.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <weft/scheduler/event_loop.hpp>

#include "support/log_capture.hpp"
#include "support/loop_without_io.hpp"

namespace weft {
namespace {

// Records what it does and on which thread; throws where the test says.
class FailingIoHandler final : public IoHandler {
  public:
    enum class Call : unsigned char { none, open, poll, prepareToClose, close };

    struct Seen {
        std::atomic<bool> throwNow{false};
        std::function<void()> beforeThrow = [] {};
        std::atomic<int> prepared{0};
        std::atomic<int> closed{0};
        std::atomic<int> pollsAfterThrow{0};
        Carrier* closedOn = nullptr;
        EventLoop* hostedAtClose = nullptr;
    };

    FailingIoHandler(Call call, std::shared_ptr<Seen> seen) : call_(call), seen_(std::move(seen)) {}

    void open(Carrier& carrier) override {
        carrier_ = &carrier;
        throwIn(Call::open);
    }
    PollResult poll(PollGuard* guard, Deadline deadline, Budget budget) override {
        if (thrown_) ++seen_->pollsAfterThrow;
        if (seen_->throwNow) throwIn(Call::poll);
        return idle_.poll(guard, deadline, budget);
    }
    void wakeup() noexcept override { idle_.wakeup(); }
    void prepareToClose() override {
        ++seen_->prepared;
        throwIn(Call::prepareToClose);
    }
    void close() override {
        ++seen_->closed;
        seen_->closedOn = Carrier::current();
        seen_->hostedAtClose = EventLoop::of(*carrier_);
        throwIn(Call::close);
    }
    const void* family() const noexcept override { return nullptr; }

  private:
    void throwIn(Call call) {
        if (call != call_ || thrown_) return;
        thrown_ = true;
        seen_->beforeThrow();
        throw std::runtime_error("the handler gives up");
    }

    const Call call_;
    const std::shared_ptr<Seen> seen_;
    Carrier* carrier_ = nullptr;
    test::IdleIoHandler idle_;
    bool thrown_ = false;
};

using Call = FailingIoHandler::Call;

// A task that counts its runs and its abandonments.
struct CountedTask final : LoopTask {
    void run() noexcept override { ++runs; }
    void abandon() noexcept override { ++abandoned; }
    std::atomic<int> runs{0};
    std::atomic<int> abandoned{0};
};

struct LoopEnd : testing::Test {
    void SetUp() override {
        setLogSink([](LogLevel, std::string_view) noexcept {});
    }
    void TearDown() override { setLogSink(nullptr); }
};

struct LoopEndBy : LoopEnd, testing::WithParamInterface<Call> {};

std::string textOf(const Future<void>& ended) {
    try {
        ended.get();
    } catch (const std::exception& error) {
        return error.what();
    }
    return "";
}

TEST_P(LoopEndBy, IsTheSameHoweverTheLoopEnds) {
    const auto seen = std::make_shared<FailingIoHandler::Seen>();
    const auto held = std::make_shared<int>();  // held by tasks and timers
    CountedTask accepted, refused;
    std::atomic<bool> closureRan{false};
    {
        CarrierGroup group(test::oneCarrier());
        Carrier& carrier = group.carrier(0);
        EventLoop loop(carrier, std::make_unique<FailingIoHandler>(GetParam(), seen));
        auto ended = loop.start();
        auto timer = loop.schedule([held] {}, std::chrono::hours(1));
        auto periodic = loop.scheduleAtFixedRate([held] {}, std::chrono::hours(1), std::chrono::hours(1));
        const auto queueTasks = [&] {
            EXPECT_TRUE(loop.execute(accepted));
            loop.execute([&, held] { closureRan = true; });
        };
        loop.execute([&, queueTasks] {
            if (GetParam() == Call::poll) {
                seen->beforeThrow = queueTasks;  // no later turn will run these
                seen->throwNow = true;
            } else {
                queueTasks();
                loop.stop();
            }
        });
        EXPECT_EQ(textOf(ended),
                  GetParam() == Call::poll || GetParam() == Call::prepareToClose ? "the handler gives up" : "");

        EXPECT_EQ(EventLoop::of(carrier), nullptr);
        EXPECT_EQ(seen->prepared, 1);
        seen->beforeThrow = nullptr;
        EXPECT_EQ(seen->closed, 1);
        EXPECT_EQ(seen->closedOn, &carrier);
        EXPECT_EQ(seen->hostedAtClose, &loop) << "it still is the carrier's loop then";
        EXPECT_EQ(seen->pollsAfterThrow, 0);
        EXPECT_EQ(accepted.runs, 1);
        EXPECT_TRUE(closureRan);
        EXPECT_TRUE(timer.done());
        EXPECT_TRUE(periodic.done());
        EXPECT_EQ(held.use_count(), 1) << "nothing of the loop holds on to it";
        EXPECT_EQ(carrier.spawn([&] { return carrier.timers().size(); }).join(), 0u);

        EXPECT_FALSE(loop.execute(refused));
        EXPECT_FALSE(loop.executeLazily(refused));
        EXPECT_THROW(loop.execute([] {}), SystemError);
        EXPECT_THROW(loop.schedule([] {}, Duration::zero()), SystemError);

        EventLoop next(carrier, std::make_unique<test::IdleIoHandler>());  // the slot is free
        auto nextEnded = next.start();
        next.execute([&] { next.stop(); });
        nextEnded.get();
    }
    EXPECT_EQ(refused.runs + refused.abandoned, 0);
    EXPECT_EQ(accepted.abandoned, 0);
}
INSTANTIATE_TEST_SUITE_P(Ways, LoopEndBy, testing::Values(Call::none, Call::poll, Call::prepareToClose, Call::close));

TEST_F(LoopEnd, AHandlerThatCannotBeOpenedLeavesTheTasksToTheirOwners) {
    const auto seen = std::make_shared<FailingIoHandler::Seen>();
    const auto held = std::make_shared<int>();
    CountedTask task;
    CarrierGroup group(test::oneCarrier());
    Carrier& carrier = group.carrier(0);
    EventLoop loop(carrier, std::make_unique<FailingIoHandler>(Call::open, seen));
    EXPECT_TRUE(loop.execute(task));
    loop.execute([held] {});
    auto timer = loop.schedule([held] {}, Duration::zero());
    EXPECT_EQ(textOf(loop.start()), "the handler gives up");
    EXPECT_EQ(EventLoop::of(carrier), nullptr);
    EXPECT_EQ(task.runs, 0);
    EXPECT_EQ(task.abandoned, 1);
    EXPECT_TRUE(timer.done());
    EXPECT_EQ(held.use_count(), 1);
    EXPECT_FALSE(loop.execute(task));
    EXPECT_EQ(seen->closed, 0) << "what was not opened is not closed";
}

TEST_F(LoopEnd, ALoopThatIsNeverStartedAbandonsItsTasks) {
    const auto held = std::make_shared<int>();
    CountedTask task;
    {
        CarrierGroup group(test::oneCarrier());
        EventLoop loop(group.carrier(0), std::make_unique<test::IdleIoHandler>());
        EXPECT_TRUE(loop.execute(task));
        loop.execute([held] {});
        loop.schedule([held] {}, std::chrono::hours(1));
    }
    EXPECT_EQ(task.abandoned, 1);
    EXPECT_EQ(held.use_count(), 1);
}

// A task that submits tasks for ever must end, whatever ended the loop.
TEST_F(LoopEnd, TasksThatMakeTasksEndWithALoopWhoseHandlerThrew) {
    const auto seen = std::make_shared<FailingIoHandler::Seen>();
    CarrierGroup group(test::oneCarrier());
    EventLoop loop(group.carrier(0), std::make_unique<FailingIoHandler>(Call::poll, seen));
    struct Again final : LoopTask {
        explicit Again(EventLoop& loop) : loop(loop) {}
        void run() noexcept override { refused = !loop.execute(*this); }
        void abandon() noexcept override {}
        EventLoop& loop;
        bool refused = false;
    } again(loop);
    auto ended = loop.start();
    EXPECT_TRUE(loop.execute(again));
    loop.execute([&] { seen->throwNow = true; });
    EXPECT_EQ(textOf(ended), "the handler gives up");
    EXPECT_TRUE(again.refused);
}

// Posts race with the end: each runs or is refused, never both or neither.
TEST_F(LoopEnd, EveryPostThatRacesWithItRunsOrIsRefused) {
    for (int round = 0; round < 200; ++round) {
        const auto seen = std::make_shared<FailingIoHandler::Seen>();
        CarrierGroup group(test::oneCarrier());
        EventLoop loop(group.carrier(0), std::make_unique<FailingIoHandler>(Call::poll, seen));
        auto ended = loop.start();
        std::vector<CountedTask> tasks(200);
        std::size_t acceptedTasks = 0;
        std::thread poster([&] {
            while (acceptedTasks < tasks.size() && loop.execute(tasks[acceptedTasks])) ++acceptedTasks;
        });
        seen->throwNow = true;
        poster.join();
        if (acceptedTasks == tasks.size()) loop.stop();
        ended.await();
        for (std::size_t i = 0; i < tasks.size(); ++i) ASSERT_EQ(tasks[i].runs, i < acceptedTasks ? 1 : 0) << i;
    }
}

// ---- the loop's lifetime ----

TEST_F(LoopEnd, ALoopThatHasEndedMayOutliveItsGroup) {
    auto group = std::make_unique<CarrierGroup>(test::oneCarrier());
    auto loop = std::make_unique<EventLoop>(group->carrier(0), std::make_unique<test::IdleIoHandler>());
    auto ended = loop->start();
    ScheduledTask timer = loop->schedule([] {}, std::chrono::hours(1));
    group.reset();
    EXPECT_TRUE(ended.done());
    CountedTask task;
    EXPECT_FALSE(loop->execute(task));
    EXPECT_FALSE(loop->executeLazily(task));
    EXPECT_THROW(loop->execute([] {}), SystemError);
    EXPECT_THROW(loop->schedule([] {}, Duration::zero()), SystemError);
    EXPECT_FALSE(timer.cancel());
    loop->stop();
    loop->shutdownGracefully(Duration::zero(), Duration::zero());
    loop.reset();
}

TEST_F(LoopEnd, ALoopIsStartedOnce) {
    test::LoopWithoutIo hosted;
    EXPECT_THROW(hosted.loop.start(), std::logic_error);
}

using LoopEndDeathTest = LoopEnd;
TEST_F(LoopEndDeathTest, DestroyingARunningLoopIsReported) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(
        {
            CarrierGroup group(test::oneCarrier());
            auto loop = std::make_unique<EventLoop>(group.carrier(0), std::make_unique<test::IdleIoHandler>());
            auto ended = loop->start();
            loop.reset();
        },
        "an EventLoop is destroyed while it runs: call stop\\(\\) and wait for the future of start\\(\\) first");
}

}  // namespace
}  // namespace weft
