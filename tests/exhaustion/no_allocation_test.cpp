// Operations that allocate nothing on any thread: posts of tasks that bring their own memory, returns of stacks, and
// the primitives of weft::sync, also when they wait.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/event_loop.hpp>
#include <weft/scheduler/stack_pool.hpp>
#include <weft/scheduler/sync/barrier.hpp>
#include <weft/scheduler/sync/bounded_queue.hpp>
#include <weft/scheduler/sync/condition.hpp>
#include <weft/scheduler/sync/mutex.hpp>
#include <weft/scheduler/sync/notify.hpp>
#include <weft/scheduler/sync/once_cell.hpp>
#include <weft/scheduler/sync/rw_lock.hpp>
#include <weft/scheduler/sync/select.hpp>
#include <weft/scheduler/sync/semaphore.hpp>
#include <weft/scheduler/sync/wait_group.hpp>
#include <weft/scheduler/this_fiber.hpp>

#include "exhaustion/exhaustion_test.hpp"
#include "support/loop_without_io.hpp"

namespace weft::exhaustion {
namespace {

class NoAllocation : public ExhaustionTest {};

struct CountingTask final : LoopTask {
    void run() noexcept override { ran.fetch_add(1, std::memory_order_release); }
    void abandon() noexcept override {}
    std::atomic<int> ran{0};
};

// Posts from the calling thread, outside the loop, each after the previous task has run: the loop sleeps in between.
void postInTurn(EventLoop& loop, CountingTask& task, int posts) {
    for (const int before = task.ran; posts > 0; --posts) {
        const int ran = task.ran;
        EXPECT_TRUE(loop.execute(task));
        while (task.ran.load(std::memory_order_acquire) == ran) std::this_thread::yield();
        EXPECT_GT(task.ran, before);
    }
}

// Posts all at once: the loop runs them in batches.
template <std::size_t count>
void postTogether(EventLoop& loop, std::array<CountingTask, count>& tasks) {
    const int before = tasks.back().ran;
    for (CountingTask& task : tasks) EXPECT_TRUE(loop.execute(task));
    while (tasks.back().ran.load(std::memory_order_acquire) == before) std::this_thread::yield();
}

TEST_F(NoAllocation, PostingAThousandLoopTasksFromAnotherThread) {
    constexpr int posts = 1000;
    test::LoopWithoutIo host;
    CountingTask task;
    std::array<CountingTask, posts> tasks;
    postInTurn(host.loop, task, 10);
    postTogether(host.loop, tasks);
    {
        const CountedAllocations counted;
        postInTurn(host.loop, task, posts);
        postTogether(host.loop, tasks);
        EXPECT_EQ(counted.soFar(), 0u) << "of all threads";
    }
    EXPECT_EQ(task.ran, posts + 10);
    const CountedAllocations counted;
    host.loop.execute([] {});
    for (int i = 0; i < posts; ++i) host.loop.execute([&task] { ++task.ran; });
    host.inDispatch([] {});
    EXPECT_GT(counted.soFar(), 0u) << "closures in such a number do, so the counter counts";
}

// Takes more stacks than a slab has, in two sizes, so that the lists of free stacks have had to grow.
std::vector<Stack> takeMany(StackPool& pool) {
    std::vector<Stack> taken;
    taken.reserve(2000);
    for (int i = 0; i < 1000; ++i) {
        taken.push_back(pool.take(StackPool::minimumSize));
        taken.push_back(pool.take(2 * StackPool::minimumSize));
    }
    return taken;
}

using Give = void (StackPool::*)(Stack) noexcept;

TEST_F(NoAllocation, ReturningStacksToThePool) {
    for (const Give give : {&StackPool::give, &StackPool::giveCold, &StackPool::giveFromOutside}) {
        const StackPool::Owner pool = StackPool::create(StackGuard::canary);
        const std::vector<Stack> taken = takeMany(*pool);
        const FailingAllocation failing(1);
        for (const Stack& stack : taken) (*pool.*give)(stack);
        while (pool->coolDown()) {
        }
        EXPECT_FALSE(failing.hasFailed());
    }
}

TEST_F(NoAllocation, ReturningStacksThroughACache) {
    const StackPool::Owner pool = StackPool::create(StackGuard::canary);
    const std::vector<Stack> taken = takeMany(*pool);
    StackCache cache(*pool, StackPool::minimumSize, 16);
    const FailingAllocation failing(1);
    for (const Stack& stack : taken) cache.give(stack);
    while (cache.trim()) {
    }
    EXPECT_FALSE(failing.hasFailed());
}

// Two fibers of one carrier that make each other wait.
template <class First, class Second>
void runBoth(CarrierGroup& group, First first, Second second) {
    const auto rounds = [](auto& once) {
        for (int i = 0; i < 100; ++i) once();
    };
    auto other = group.spawn([&] { rounds(second); });
    group.spawn([&] { rounds(first); }).join();
    other.join();
}
template <class Once>
void runBoth(CarrierGroup& group, Once once) {
    runBoth(group, once, once);
}

TEST_F(NoAllocation, LocksAndOtherPrimitivesOfFibers) {
    CarrierOptions options;
    options.carriers = 1;
    CarrierGroup group(options);
    sync::Mutex mutex;
    sync::FairMutex fair;
    sync::RwLock readers;
    sync::Semaphore semaphore(1);
    sync::Condition changed;
    sync::Notify notify;
    sync::Barrier barrier(2);
    sync::BoundedQueue<int> queue(1);
    int turn = 0;
    const auto locked = [](auto& lockable) {
        return [&lockable] {
            std::lock_guard held(lockable);
            thisFiber::yield();
        };
    };
    const auto takeTurns = [&](int mine) {
        return [&, mine] {
            std::unique_lock held(mutex);
            changed.wait(held, [&] { return turn == mine; });
            turn = 1 - mine;
            changed.notifyAll();
        };
    };
    const auto all = [&] {
        runBoth(group, locked(mutex));
        runBoth(group, locked(fair));
        runBoth(group, locked(readers));
        runBoth(group, [&] {
            const auto permit = semaphore.acquirePermit();
            thisFiber::yield();
        });
        runBoth(group, takeTurns(0), takeTurns(1));
        runBoth(
            group, [&] { notify.wait(); },
            [&] {
                while (notify.waiters() == 0) thisFiber::yield();
                notify.notifyOne();
            });
        runBoth(group, [&] { barrier.wait(); });
        runBoth(
            group, [&] { queue.send(1); }, [&] { static_cast<void>(queue.receive()); });
        runBoth(
            group, [&] { queue.send(1); },
            [&] { sync::select(sync::onReceive(queue, [](std::optional<int>) {}), sync::onNotify(notify, [] {})); });
        runBoth(group, [] {
            sync::WaitGroup work;
            sync::OnceCell<int> cell;
            cell.getOrInit([] { return 1; });
            work.add();
            work.done();
            work.wait();
        });
    };
    all();
    const CountedAllocations counted;
    all();
    EXPECT_EQ(counted.soFar(), 0u) << "of all threads";
}

}  // namespace
}  // namespace weft::exhaustion
