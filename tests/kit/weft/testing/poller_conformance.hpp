// The conformance kit for pollers checks that yours keeps the protocol of PinnedPoller. Write an adapter
// (PollerUnderTest in poller_bench.hpp: start, stop, inject, looks, wakeups) and instantiate, in any GoogleTest
// program:
//
//   using Mine = ::testing::Types<MyPollerAdapter>;
//   INSTANTIATE_TYPED_TEST_SUITE_P(Mine, PollerConformance, Mine);          every poller
//   INSTANTIATE_TYPED_TEST_SUITE_P(Mine, SleepingPollerConformance, Mine);  it blocks when there is nothing to do
//   INSTANTIATE_TYPED_TEST_SUITE_P(Mine, GapConformance, Mine);             onGap(): it asks canParkPoller() itself
//   INSTANTIATE_TYPED_TEST_SUITE_P(Mine, TaskConformance, Mine);            post(): it hosts tasks
//   INSTANTIATE_TYPED_TEST_SUITE_P(Mine, OwnWorkConformance, Mine);         makeWork(): work that no event tells of
//
// in namespace weft::test. The checks are functions (poller_checks.hpp) that return what is wrong.
// docs/guide/pollers.md explains each failure.
#pragma once

#include <gtest/gtest.h>

#include <weft/testing/leak_guard.hpp>
#include <weft/testing/poller_checks.hpp>

namespace weft::test {

template <class P>
class PollerConformance : public LeakGuard {};
TYPED_TEST_SUITE_P(PollerConformance);

TYPED_TEST_P(PollerConformance, EverySpawnIsSeen) {
    EXPECT_EQ(everySpawnIsSeen<TypeParam>(), "");
}
TYPED_TEST_P(PollerConformance, EveryWakeOfAFiberIsSeen) {
    EXPECT_EQ(everyWakeOfAFiberIsSeen<TypeParam>(), "");
}
TYPED_TEST_P(PollerConformance, EveryEventIsSeen) {
    EXPECT_EQ(everyEventIsSeen<TypeParam>(), "");
}
TYPED_TEST_P(PollerConformance, EverythingAtOnceIsSeen) {
    EXPECT_EQ(everythingAtOnceIsSeen<TypeParam>(), "");
}
TYPED_TEST_P(PollerConformance, EventsThatArriveWhileFibersRunAreSeen) {
    EXPECT_EQ(eventsThatArriveWhileFibersRunAreSeen<TypeParam>(), "");
}
TYPED_TEST_P(PollerConformance, DeadlinesAreHonoured) {
    EXPECT_EQ(deadlinesAreHonoured<TypeParam>(), "");
}
TYPED_TEST_P(PollerConformance, RunnableFibersKeepItAwake) {
    EXPECT_EQ(runnableFibersKeepItAwake<TypeParam>(), "");
}
TYPED_TEST_P(PollerConformance, BusyFibersDoNotStarveThePoller) {
    EXPECT_EQ(busyFibersDoNotStarveThePoller<TypeParam>(), "");
}
TYPED_TEST_P(PollerConformance, BusyIoDoesNotStarveFibers) {
    EXPECT_EQ(busyIoDoesNotStarveFibers<TypeParam>(), "");
}
TYPED_TEST_P(PollerConformance, PollersComeAndGoWhileOthersWake) {
    EXPECT_EQ(pollersComeAndGoWhileOthersWake<TypeParam>(), "");
}
TYPED_TEST_P(PollerConformance, AnEventThatThrowsLeavesTheCarrierUsable) {
    EXPECT_EQ(anEventThatThrowsLeavesTheCarrierUsable<TypeParam>(), "");
}
TYPED_TEST_P(PollerConformance, TheShutdownOfItsCarrierEndsIt) {
    EXPECT_EQ(theShutdownOfItsCarrierEndsIt<TypeParam>(), "");
}
REGISTER_TYPED_TEST_SUITE_P(PollerConformance, EverySpawnIsSeen, EveryWakeOfAFiberIsSeen, EveryEventIsSeen,
                            EverythingAtOnceIsSeen, EventsThatArriveWhileFibersRunAreSeen, DeadlinesAreHonoured,
                            RunnableFibersKeepItAwake, BusyFibersDoNotStarveThePoller, BusyIoDoesNotStarveFibers,
                            PollersComeAndGoWhileOthersWake, AnEventThatThrowsLeavesTheCarrierUsable,
                            TheShutdownOfItsCarrierEndsIt);

template <class P>
class SleepingPollerConformance : public LeakGuard {};
TYPED_TEST_SUITE_P(SleepingPollerConformance);
TYPED_TEST_P(SleepingPollerConformance, AnIdlePollerSleeps) {
    EXPECT_EQ(anIdlePollerSleeps<TypeParam>(), "");
}
TYPED_TEST_P(SleepingPollerConformance, ADispatchingPollerIsNotWoken) {
    EXPECT_EQ(aDispatchingPollerIsNotWoken<TypeParam>(), "");
}
REGISTER_TYPED_TEST_SUITE_P(SleepingPollerConformance, AnIdlePollerSleeps, ADispatchingPollerIsNotWoken);

template <class P>
class GapConformance : public LeakGuard {};
TYPED_TEST_SUITE_P(GapConformance);
TYPED_TEST_P(GapConformance, APollerDescheduledInItsGapLosesNothing) {
    EXPECT_EQ(aPollerDescheduledInItsGapLosesNothing<TypeParam>(), "");
}
REGISTER_TYPED_TEST_SUITE_P(GapConformance, APollerDescheduledInItsGapLosesNothing);

template <class P>
class TaskConformance : public LeakGuard {};
TYPED_TEST_SUITE_P(TaskConformance);
TYPED_TEST_P(TaskConformance, EveryTaskIsSeen) {
    EXPECT_EQ(everyTaskIsSeen<TypeParam>(), "");
}
REGISTER_TYPED_TEST_SUITE_P(TaskConformance, EveryTaskIsSeen);

template <class P>
class OwnWorkConformance : public LeakGuard {};
TYPED_TEST_SUITE_P(OwnWorkConformance);
TYPED_TEST_P(OwnWorkConformance, EveryWorkOfItsOwnIsDone) {
    EXPECT_EQ(everyWorkOfItsOwnIsDone<TypeParam>(), "");
}
REGISTER_TYPED_TEST_SUITE_P(OwnWorkConformance, EveryWorkOfItsOwnIsDone);

// A program instantiates the suites that fit its pollers.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OwnWorkConformance);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(PollerConformance);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SleepingPollerConformance);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(GapConformance);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(TaskConformance);

}  // namespace weft::test
