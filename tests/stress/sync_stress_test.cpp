// The primitives of weft::sync under fibers of several carriers and threads that give up, are cancelled and end:
// nothing is lost, doubled or used by two at a time.
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include <weft/scheduler/sync/bounded_queue.hpp>
#include <weft/scheduler/sync/condition.hpp>
#include <weft/scheduler/sync/mutex.hpp>
#include <weft/scheduler/sync/notify.hpp>
#include <weft/scheduler/sync/select.hpp>
#include <weft/scheduler/sync/semaphore.hpp>
#include <weft/scheduler/sync/wait_group.hpp>
#include <weft/scheduler/this_fiber.hpp>

#include <weft/testing/leak_guard.hpp>
#include "stress/stress.hpp"

namespace weft::stress {
namespace {

class SyncStress : public test::LeakGuard {};

constexpr unsigned fibers = 8;

// A deadline that is often too short.
Deadline hasty(Noise& noise) {
    return deadlineAfter(Duration(noise.next() % 20'000));
}

// Runs `work(noise)` in fibers on two carriers and in a thread, all at a time.
template <class Work>
void runAll(CarrierGroup& group, Work work) {
    const std::uint32_t first = seed();
    std::vector<JoinHandle<void>> handles;
    for (unsigned i = 0; i < fibers; ++i) {
        handles.push_back(group.carrier(i % 2).spawn([&work, i, first] {
            Noise noise(first + i);
            work(noise);
        }));
    }
    std::thread thread([&work, first] {
        Noise noise(first + fibers);
        work(noise);
    });
    for (auto& handle : handles) handle.join();
    thread.join();
}

template <class M>
void excludeUnderStress(double share) {
    CarrierGroup group(carriers(2));
    Watchdog watchdog(group);
    const std::uint64_t total = rounds(share) / fibers;
    M mutex;
    std::uint64_t guarded = 0;
    std::atomic<std::uint64_t> taken{0};
    runAll(group, [&](Noise& noise) {
        for (std::uint64_t i = 0; i < total; ++i) {
            if (noise.next() % 4 == 0) {
                if (!mutex.try_lock_until(hasty(noise))) continue;
            } else {
                mutex.lock();
            }
            ++guarded;
            noise();
            if (noise.next() % 8 == 0) thisFiber::yield();
            mutex.unlock();
            taken.fetch_add(1, std::memory_order_relaxed);
            watchdog.advance();
        }
    });
    EXPECT_EQ(guarded, taken);
    EXPECT_FALSE(mutex.isLocked());
}

TEST_F(SyncStress, AMutexExcludesAndNoWaiterIsForgotten) {
    excludeUnderStress<sync::Mutex>(0.5);
}
TEST_F(SyncStress, AFairMutexExcludesAndNoWaiterIsForgotten) {
    excludeUnderStress<sync::FairMutex>(0.2);
}

TEST_F(SyncStress, ASemaphoreKeepsItsPermits) {
    CarrierGroup group(carriers(2));
    Watchdog watchdog(group);
    const std::uint64_t total = rounds(0.3) / fibers;
    sync::Semaphore semaphore(4);
    std::atomic<int> inside{0};
    runAll(group, [&](Noise& noise) {
        for (std::uint64_t i = 0; i < total; ++i) {
            const std::uint32_t count = 1 + noise.next() % 4;
            if (noise.next() % 4 == 0) {
                if (!semaphore.acquireUntil(hasty(noise), count)) continue;
            } else {
                semaphore.acquire(count);
            }
            EXPECT_LE(inside += static_cast<int>(count), 4);
            noise();
            if (noise.next() % 8 == 0) thisFiber::yield();
            inside -= static_cast<int>(count);
            semaphore.release(count);
            watchdog.advance();
        }
    });
    EXPECT_EQ(semaphore.permits(), 4u);
}

// The waiter that gets the last item of a round destroys everything, while the others may be on their way out.
TEST_F(SyncStress, WhatAWaiterDestroysIsNotUsedAnyMore) {
    CarrierGroup group(carriers(2));
    Watchdog watchdog(group);
    const std::uint64_t total = rounds(0.1);
    Noise noise(seed());
    for (std::uint64_t i = 0; i < total; ++i) {
        struct Meeting {
            sync::Notify notify;
            sync::WaitGroup group;
            sync::Semaphore permit{0};
        };
        auto* const meeting = new Meeting;
        meeting->group.add(1);
        auto waiter = group.carrier(0).spawn([meeting, limit = noise.next() % 10'000] {
            while (!meeting->notify.waitUntil(deadlineAfter(Duration(limit)))) {
            }
            while (!meeting->group.waitUntil(deadlineAfter(Duration(limit)))) {
            }
            while (!meeting->permit.acquireUntil(deadlineAfter(Duration(limit)))) {
            }
            delete meeting;
        });
        noise();
        meeting->notify.notifyOne();
        noise();
        meeting->group.done();
        noise();
        meeting->permit.release();
        waiter.join();
        watchdog.advance();
    }
}

TEST_F(SyncStress, ACancellationLosesNoNotification) {
    CarrierGroup group(carriers(2));
    Watchdog watchdog(group);
    const std::uint64_t total = rounds(0.1);
    Noise noise(seed());
    for (std::uint64_t i = 0; i < total; ++i) {
        sync::Notify notify;
        auto cancelled = group.carrier(0).spawn([&notify] {
            try {
                notify.wait();
            } catch (const SystemError&) {
                return;
            }
            notify.notifyOne();  // passes on what it got
        });
        auto waiting = group.carrier(1).spawn([&notify] { notify.wait(); });
        noise();
        auto canceller = group.carrier(1).spawn([&cancelled] { cancelled.cancel(); });
        notify.notifyOne();
        canceller.join();
        waiting.join();
        cancelled.join();
        watchdog.advance();
    }
}

TEST_F(SyncStress, AConditionHandsOverEveryItem) {
    CarrierGroup group(carriers(2));
    Watchdog watchdog(group);
    const std::uint64_t total = rounds(0.2);
    sync::Mutex mutex;
    sync::Condition changed;
    std::uint64_t made = 0;
    std::uint64_t taken = 0;
    const auto take = [&] {
        for (;;) {
            std::unique_lock held(mutex);
            changed.wait(held, [&] { return taken < made || made == total; });
            if (taken == made) return;
            ++taken;
            watchdog.advance();
        }
    };
    auto first = group.carrier(0).spawn(take);
    auto second = group.carrier(1).spawn(take);
    Noise noise(seed());
    for (std::uint64_t i = 0; i < total; ++i) {
        noise();
        std::lock_guard held(mutex);
        ++made;
        if (made == total) {
            changed.notifyAll();
        } else {
            changed.notifyOne();
        }
    }
    first.join();
    second.join();
    EXPECT_EQ(taken, total);
}

// Senders and receivers that wait for two queues at once, with deadlines that are often too short.
TEST_F(SyncStress, QueuesAndSelectsNeitherLoseNorDoubleValues) {
    CarrierGroup group(carriers(2));
    Watchdog watchdog(group);
    const std::uint64_t total = rounds(0.3) / fibers;
    sync::BoundedQueue<std::uint64_t> left(1);
    sync::BoundedQueue<std::uint64_t> right(3);
    std::atomic<std::uint64_t> sent{0};
    std::atomic<std::uint64_t> received{0};
    const auto take = [&](std::optional<std::uint64_t> value) {
        if (value) received.fetch_add(*value, std::memory_order_relaxed);
    };
    runAll(group, [&](Noise& noise) {
        for (std::uint64_t i = 1; i <= total; ++i) {
            std::uint64_t value = i;
            const auto note = [&](bool done) {
                if (done) sent.fetch_add(i, std::memory_order_relaxed);
            };
            noise();
            switch (noise.next() % 4) {
                case 0:
                    sync::select(sync::onSend(left, value, note), sync::onSend(right, value, note),
                                 sync::onDeadline(hasty(noise), [] {}));
                    break;
                case 1:
                    sync::select(sync::onReceive(left, take), sync::onReceive(right, take),
                                 sync::onDeadline(hasty(noise), [] {}));
                    break;
                case 2: note(left.sendUntil(hasty(noise), std::move(value))); break;
                default: {
                    ErrorCode error;
                    take(right.receiveUntil(hasty(noise), error));
                }
            }
            watchdog.advance();
        }
    });
    while (const auto value = left.tryReceive()) take(value);
    while (const auto value = right.tryReceive()) take(value);
    EXPECT_EQ(sent, received);
    EXPECT_GT(sent, 0u);
}

}  // namespace
}  // namespace weft::stress
