// The queues of weft::sync (docs/explanation/protocol.md section 20): a value is received once or stays with its
// sender, no waiter is forgotten, and nothing touches a queue that its contract allows to be destroyed. And the lock
// inside. A wait for several queues: select_model_test.cpp.
#include <weft/scheduler/detail/spin_lock.hpp>

#include <array>
#include <cstddef>
#include <vector>

#include "queue_scenarios.hpp"

namespace weft::model {
namespace {

using namespace sync;
using sync::Value;  // not that of the memory

constexpr const char* protocol = "queue";

// The receiver of the last value destroys the queue of one place, in which its sender may have waited.
void destroyedAfterAWait(ModelRun& run) {
    using Scenarios = QueueScenarios<One>;
    struct State {
        One queue;
    };
    auto& state = run.make<State>();
    auto& tasks = run.make<std::array<ThreadTask, 2>>();
    run.thread("sends", [&state, &tasks] {
        ThreadWait::use(tasks[0]);
        for (const int value : {1, 2}) assertThat(!Scenarios::send(state.queue, value), "it is sent");
    });
    run.thread("receives", [&state, &tasks] {
        ThreadWait::use(tasks[1]);
        for (const int value : {1, 2}) assertThat(Scenarios::receive(state.queue) == value, "each value in turn");
        destroy(state);
    });
}
struct TwoPlaces : Two {
    TwoPlaces() : Two(std::size_t{2}) {}
};

TEST(QueueModel, TheReceiverOfTheLastValueMayDestroyTheQueue) {
    const std::vector<Case> all{makeCase("destroyed after a wait", destroyedAfterAWait)};
    exploreAll(protocol, all, {.preemptions = 3, .executions = 100'000});
    expectOrdersNeeded(protocol, all, {}, {.files = {"basic_queue"}});
}

template <class Q = One>
std::vector<Case> queueCases() {
    using Built = QueueScenarios<Q>;
    return {makeCase("passes", Built::passes),
            makeCase("closes", Built::closes),
            makeCase("destroyed", Built::destroyed(false)),
            makeCase("destroyed, gives up first", Built::destroyed(true)),
            makeCase("two send", Built::twoSend(false)),
            makeCase("two send, one gives up", Built::twoSend(true)),
            makeCase("one receiver gives up", Built::oneReceiverGivesUp)};
}

TEST(QueueModel, EachValueIsReceivedOnceOrStaysWithItsSender) {
    exploreAll(protocol, queueCases(), {.preemptions = 3, .executions = 100'000});
    exploreAll("queue of two", queueCases<TwoPlaces>(), {.preemptions = 2, .executions = 50'000});
}
TEST(QueueModel, EachValueIsReceivedOnceOrStaysWithItsSenderAtRandom) {
    exploreAll(protocol, queueCases(), {.search = Search::random, .executions = 10'000});
    exploreAll(protocol, queueCases(), {.search = Search::pct, .executions = 10'000});
}

// The last value and the close in two steps: the receiver may have destroyed the queue in between.
struct ClosesLate : One {
    QueueStatus trySendLast(Value& value) {
        const QueueStatus status = trySend(value);
        close();
        return status;
    }
};
TEST(QueueModel, AQueueIsNotClosedAfterItsLastValueHasBeenReceived) {
    expectKilled("closes late", only("destroyed", queueCases<ClosesLate>()));
}

// The lock inside. A thread that waits for it lets the owner take a step.
struct LetOthersStep {
    void operator()() const { yield(); }
};
using Lock = detail::BasicSpinLock<Atomics, LetOthersStep>;

void threadsExcludeEachOther(ModelRun& run) {
    struct State {
        Lock lock;
        Plain<int> owners{2};
    };
    auto& state = run.make<State>();
    run.name({"lock"});
    for (const char* name : {"thread1", "thread2"}) {
        run.thread(name, [&state] {
            state.lock.lock();
            state.owners = state.owners - 1;
            const bool last = state.owners == 0;
            state.lock.unlock();
            if (last) destroy(state);
        });
    }
}

TEST(QueueModel, ASpinLockExcludesAndMayBeDestroyedByItsLastOwner) {
    const std::vector<Case> all{makeCase("spin lock", threadsExcludeEachOther)};
    exploreAll("spin lock", all, {.preemptions = 3, .executions = 100'000});
    expectOrdersNeeded("spin lock", all, {}, {.files = {"spin_lock"}});
}

}  // namespace
}  // namespace weft::model
