// The conformance kit accepts pollers that keep the protocol and detects each broken twin.
#include <weft/testing/poller_conformance.hpp>

#include <gmock/gmock.h>

#include "scheduler/poller_twins.hpp"
#include "support/loop_without_io.hpp"
#include "support/sample_pollers.hpp"

namespace weft::test {
namespace {

// The event loop with an I/O handler that has no I/O: its events are tasks.
class LoopWithoutIo {
  public:
    Future<void> start(Carrier& carrier) {
        carrier_ = &carrier;
        loop_ = std::make_unique<EventLoop>(carrier, std::make_unique<IdleIoHandler>());
        return loop_->start();
    }
    void stop() { loop_->stop(); }
    void inject(PollerEvent event) { post(std::move(event)); }
    void post(std::function<void()> task) {
        try {
            loop_->execute(std::move(task));
        } catch (const SystemError&) {  // it has ended meanwhile
        }
    }
    std::uint64_t looks() const { return carrier_->stats().ioCycles; }
    std::uint64_t wakeups() const {
        return static_cast<std::uint64_t>(static_cast<IdleIoHandler&>(*loop_->io()).wakeups.load());
    }

  private:
    Carrier* carrier_ = nullptr;
    std::unique_ptr<EventLoop> loop_;
};

using Sleepers = ::testing::Types<ConditionPoller, EpollPoller, TwinPoller<Defect::none>>;
INSTANTIATE_TYPED_TEST_SUITE_P(Samples, PollerConformance, Sleepers);
INSTANTIATE_TYPED_TEST_SUITE_P(Samples, SleepingPollerConformance, Sleepers);
INSTANTIATE_TYPED_TEST_SUITE_P(Samples, GapConformance, Sleepers);
INSTANTIATE_TYPED_TEST_SUITE_P(EventLoop, PollerConformance, ::testing::Types<LoopWithoutIo>);
INSTANTIATE_TYPED_TEST_SUITE_P(EventLoop, SleepingPollerConformance, ::testing::Types<LoopWithoutIo>);
INSTANTIATE_TYPED_TEST_SUITE_P(EventLoop, TaskConformance, ::testing::Types<LoopWithoutIo>);
INSTANTIATE_TYPED_TEST_SUITE_P(Spinning, PollerConformance, ::testing::Types<SpinningPoller>);

// Settings for the twins. The timeout only bounds how long each takes, because what it waits for never happens.
PollerSettings shortTimeout(int milliseconds = 200) {
    PollerSettings settings;
    settings.timeout = std::chrono::milliseconds(milliseconds);
    return settings;
}
// For checks that must complete a first step before they reach the defect.
PollerSettings longerTimeout() {
    return shortTimeout(600);
}

// A check that races with going to sleep detects a twin in most runs, not in each.
template <class Check>
Verdict firstComplaint(Check check) {
    Verdict verdict = check(shortTimeout());
    for (int i = 0; i < 100 && verdict.empty(); ++i) verdict = check(shortTimeout());
    return verdict;
}

struct PollerTwin : LeakGuard {};

TEST_F(PollerTwin, ThatIgnoresItsWakeupIsFound) {
    EXPECT_THAT(firstComplaint(everySpawnIsSeen<TwinPoller<Defect::ignoresItsWakeup>>),
                ::testing::StartsWith("a fiber that another thread spawned did not run"));
    EXPECT_THAT(firstComplaint(everyWakeOfAFiberIsSeen<TwinPoller<Defect::ignoresItsWakeup>>),
                ::testing::StartsWith("a fiber that another thread woke did not run"));
}

TEST_F(PollerTwin, WhoseWakeupIsNotStickyIsFound) {
    EXPECT_THAT(firstComplaint(everySpawnIsSeen<TwinPoller<Defect::wakeupIsNotSticky>>),
                ::testing::StartsWith("a fiber that another thread spawned did not run"));
}

TEST_F(PollerTwin, ThatBlocksWithoutParkingIsFound) {
    EXPECT_THAT(firstComplaint(everySpawnIsSeen<TwinPoller<Defect::blocksWithoutParking>>),
                ::testing::StartsWith("a fiber that another thread spawned did not run"));
}

TEST_F(PollerTwin, ThatBlocksAgainstTheAnswerOfTryParkPollerIsFound) {
    EXPECT_THAT(runnableFibersKeepItAwake<TwinPoller<Defect::blocksAgainstTheAnswer>>(shortTimeout()),
                "it blocked although fibers were runnable");
}

TEST_F(PollerTwin, ThatRemembersTheAnswerOfCanParkPollerIsFound) {
    EXPECT_THAT(aPollerDescheduledInItsGapLosesNothing<TwinPoller<Defect::remembersItsAnswer>>(longerTimeout()),
                "it blocked on an answer of canParkPoller() from before it was descheduled");
}

TEST_F(PollerTwin, ThatIgnoresParkDeadlineIsFound) {
    EXPECT_THAT(deadlinesAreHonoured<TwinPoller<Defect::ignoresTheDeadline>>(shortTimeout()),
                "it slept past parkDeadline()");
}

TEST_F(PollerTwin, ThatNeverYieldsIsFound) {
    EXPECT_THAT(busyIoDoesNotStarveFibers<TwinPoller<Defect::neverYields>>(longerTimeout()),
                "a fiber did not run while the poller was busy");
    EXPECT_THAT(firstComplaint(everySpawnIsSeen<TwinPoller<Defect::neverYields>>),
                ::testing::StartsWith("a fiber that another thread spawned did not run"));
}

TEST_F(PollerTwin, ThatYieldsAsLongAsThereAreFibersIsFound) {
    EXPECT_THAT(busyFibersDoNotStarveThePoller<TwinPoller<Defect::yieldsWithoutEnd>>(shortTimeout()),
                "an I/O event was not reported while fibers were busy");
}

TEST_F(PollerTwin, ThatDispatchesWithoutEndIsFound) {
    EXPECT_THAT(busyIoDoesNotStarveFibers<TwinPoller<Defect::dispatchesWithoutEnd>>(longerTimeout()),
                "a fiber did not run while the poller was busy");
}

TEST_F(PollerTwin, ThatForgetsUnparkIsFound) {
    EXPECT_THAT(aDispatchingPollerIsNotWoken<TwinPoller<Defect::forgetsUnpark>>(longerTimeout()),
                "its wakeup was called while it dispatched: no unpark() before that");
}

TEST_F(PollerTwin, ThatCountsOnlyOnEventsDuringItsWaitIsFound) {
    EXPECT_THAT(eventsThatArriveWhileFibersRunAreSeen<TwinPoller<Defect::forgetsEarlierEvents>>(shortTimeout()),
                ::testing::StartsWith("an I/O event that arrived while fibers ran was not reported"));
}

TEST_F(PollerTwin, ThatSpinsInsteadOfSleepingIsFound) {
    EXPECT_THAT(anIdlePollerSleeps<TwinPoller<Defect::spins>>(longerTimeout()),
                "it does not sleep although there is nothing to do");
}

TEST_F(PollerTwin, ThatIgnoresTheShutdownOfItsCarrierIsFound) {
    EXPECT_THAT(theShutdownOfItsCarrierEndsIt<TwinPoller<Defect::ignoresTheShutdown>>(longerTimeout()),
                "the shutdown of its carrier does not end it");
}

TEST_F(PollerTwin, ThatEndsSilentlyWhenAnEventThrowsIsFound) {
    EXPECT_THAT(anEventThatThrowsLeavesTheCarrierUsable<TwinPoller<Defect::endsSilently>>(longerTimeout()),
                "its body threw, but its future has no error");
}

}  // namespace
}  // namespace weft::test
