// The primitives of weft::sync (docs/explanation/protocol.md section 19): no wake-up is lost, no permit is lost or
// doubled, what is guarded is never used by two threads, and nothing touches an object that its contract allows to be
// destroyed.
#include "lock_scenarios.hpp"
#include "signal_scenarios.hpp"

namespace weft::model {
namespace {

using namespace sync;

std::vector<Case> allCases() {
    std::vector<Case> all = mutexCases();
    for (const auto& more : {conditionCases(), semaphoreCases(), notifyCases(), waitGroupCases(), otherCases()}) {
        all.insert(all.end(), more.begin(), more.end());
    }
    return all;
}

TEST(SyncModel, MutexesExcludeAndNoWaiterIsForgotten) {
    exploreAll("mutex", mutexCases(), {.preemptions = 2, .executions = 100'000});
}
TEST(SyncModel, ConditionsNotifyWithoutALoss) {
    exploreAll("condition", conditionCases(), {.preemptions = 2, .executions = 100'000});
}
TEST(SyncModel, SemaphoresNeitherLoseNorDoublePermits) {
    exploreAll("semaphore", semaphoreCases(), {.preemptions = 3, .executions = 100'000});
}
TEST(SyncModel, NotificationsAndGroupsWakeEveryWaiter) {
    exploreAll("notify", notifyCases(), {.preemptions = 3, .executions = 100'000});
    exploreAll("wait group", waitGroupCases(), {.preemptions = 3, .executions = 100'000});
    exploreAll("barrier and once", otherCases(), {.preemptions = 3, .executions = 100'000});
}
TEST(SyncModel, NothingIsLostAtRandom) {
    exploreAll("sync", allCases(), {.search = Search::random, .executions = 5'000});
    exploreAll("sync", allCases(), {.search = Search::pct, .executions = 5'000});
}

// How hard the twins of one primitive are hunted, in its own scenarios.
Hunt huntIn(std::vector<std::string_view> files) {
    return {.random = 5'000, .pct = 5'000, .depthFirst = 20'000, .files = std::move(files)};
}

TEST(SyncModel, EveryOrderOfAMutexIsNeeded) {
    expectOrdersNeeded("mutex", mutexCases(), {}, huntIn({"basic_mutex"}));
}
TEST(SyncModel, EveryOrderOfASemaphoreIsNeeded) {
    expectOrdersNeeded("semaphore", semaphoreCases(), {}, huntIn({"basic_semaphore"}));
}
TEST(SyncModel, EveryOrderOfANotifyIsNeeded) {
    expectOrdersNeeded("notify", notifyCases(), {}, huntIn({"basic_notify"}));
}
TEST(SyncModel, EveryOrderOfAWaitGroupIsNeeded) {
    static constexpr Survivor survivors[] = {
        {"basic_wait_group settledOrQueue compare_exchange.success acquire->relaxed",
         "only a failure reads a count of zero; but GCC warns of a success that is weaker than the failure"},
    };
    expectOrdersNeeded("wait group", waitGroupCases(), survivors, huntIn({"basic_wait_group"}));
}
TEST(SyncModel, EveryOrderOfAOnceIsNeeded) {
    expectOrdersNeeded("once", otherCases(), {}, huntIn({"basic_once"}));
}

// A waiter that takes a group without a count for one that it may destroy, whoever has given up waiting before.
struct EndsEveryWait : detail::BasicWaitGroup<Sync> {
    ErrorCode wait(Timeout until, const char* call) {
        static_cast<void>(BasicWaitGroup::wait(until, call));
        return {};
    }
};
TEST(SyncModel, AGroupThatIsUsedAgainEndsNoWaitBeforeItsCountIsZero) {
    expectKilled("ends every wait", only("reused", waitGroupCases<EndsEveryWait>()));
}

// A waiter that takes its ticket after its check.
struct TakesItsTicketLate : detail::BasicNotify<Sync> {
    ErrorCode wait(Generation, Timeout until, const char* call) { return BasicNotify::wait(generation(), until, call); }
};
TEST(SyncModel, ATicketTakenAfterTheCheckMissesANotification) {
    expectKilled("takes its ticket late", only("ticket", notifyCases<TakesItsTicketLate>()));
}

// A condition that unlocks the mutex before the waiter is in the queue.
struct UnlocksFirst : detail::BasicCondition<Sync> {
    template <class M>
    struct Unlocked {
        M& mutex;
        void unlock() {}
        void lockUninterruptibly() { mutex.lockUninterruptibly(); }
    };
    template <class M>
    ErrorCode wait(M& mutex, Timeout until, const char* call) {
        mutex.unlock();
        Unlocked<M> unlocked{mutex};
        return BasicCondition::wait(unlocked, until, call);
    }
};
TEST(SyncModel, AConditionThatUnlocksBeforeTheWaiterQueuesLosesANotification) {
    expectKilled("unlocks first", only("one item", conditionCases<UnlocksFirst>()));
}

}  // namespace
}  // namespace weft::model
