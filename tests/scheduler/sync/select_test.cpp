#include <weft/scheduler/sync/select.hpp>

#include <array>
#include <cerrno>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <weft/scheduler/non_suspending_scope.hpp>
#include <weft/scheduler/sync/bounded_queue.hpp>
#include <weft/scheduler/sync/oneshot.hpp>
#include <weft/scheduler/sync/unbounded_queue.hpp>

#include "scheduler/sync/fibers.hpp"

namespace weft::sync {
namespace {

void failIfCalled() {
    ADD_FAILURE() << "another branch was ready";
}

TEST(Select, TakesTheBranchThatIsReadyAndLeavesTheOthers) {
    BoundedQueue<int> empty(1);
    BoundedQueue<int> filled(1);
    BoundedQueue<std::unique_ptr<int>> full(1);
    filled.send(7);
    full.send(nullptr);
    auto value = std::make_unique<int>(1);
    Promise<int> promise;
    Notify notify;
    int received = 0;
    const std::size_t chosen = select(onReceive(empty, [](std::optional<int>) { failIfCalled(); }),
                                      onSend(full, value, [](bool) { failIfCalled(); }),
                                      onDone(promise.future(), [](auto&) { failIfCalled(); }),
                                      onNotify(notify, failIfCalled), onDeadline(late(), failIfCalled),
                                      onReceive(filled, [&](std::optional<int> got) { received = got.value_or(0); }));
    EXPECT_EQ(chosen, 5u);
    EXPECT_EQ(received, 7);
    EXPECT_NE(value, nullptr);
    EXPECT_EQ(empty.waiters() + full.waiters() + notify.waiters(), 0u);
}

// Each kind of branch ends the wait of a fiber.
TEST(Select, WaitsForWhicheverComesFirst) {
    CarrierGroup group(carriers(1));
    for (std::size_t which = 0; which < 5; ++which) {
        BoundedQueue<int> in(1);
        BoundedQueue<int> out(1);
        Oneshot<int> cell;
        Notify notify;
        Promise<int> promise;
        out.send(0);
        int value = 9;
        std::string ran;
        auto selecting = group.spawn([&] {
            return select(
                onReceive(in, [&](std::optional<int> got) { ran = "in" + std::to_string(got.value_or(0)); }),
                onSend(out, value, [&](bool sent) { ran = sent ? "out" : "closed"; }),
                onReceive(cell, [&](std::optional<int> got) { ran = "cell" + std::to_string(got.value_or(0)); }),
                onNotify(notify, [&] { ran = "notify"; }),
                onDone(promise.future(), [&](const Future<int>& done) { ran = std::to_string(done.get()); }));
        });
        awaitWaiters(notify, 1);
        switch (which) {
            case 0: in.send(1); break;
            case 1: EXPECT_EQ(out.receive(), 0); break;
            case 2: cell.send(2); break;
            case 3: notify.notifyOne(); break;
            default: promise.setValue(4);
        }
        EXPECT_EQ(selecting.join(), which);
        EXPECT_EQ(ran, (std::array<const char*, 5>{"in1", "out", "cell2", "notify", "4"}[which]));
        EXPECT_EQ(in.waiters() + out.waiters() + cell.waiters() + notify.waiters(), 0u);
        EXPECT_EQ(out.tryReceive(), which == 1 ? std::optional(9) : std::optional(0));
    }
}

TEST(Select, ADeadlineEndsTheWaitAndAnElseBranchPreventsIt) {
    BoundedQueue<int> queue(1);
    const auto fails = [](std::optional<int>) { failIfCalled(); };
    bool passed = false;
    EXPECT_EQ(select(onReceive(queue, fails), onDeadline(soon(), [&] { passed = true; })), 1u);
    EXPECT_TRUE(passed);
    EXPECT_EQ(select(onDeadline(TimePoint::min(), [] {}), onReceive(queue, fails)), 0u);
    bool otherwiseRan = false;
    EXPECT_EQ(
        select(otherwise([&] { otherwiseRan = true; }), onReceive(queue, fails), onDeadline(late(), failIfCalled)), 0u);
    EXPECT_TRUE(otherwiseRan);
    queue.send(1);
    EXPECT_EQ(select(onReceive(queue, [](auto) {}), otherwise(failIfCalled)), 0u);
    EXPECT_EQ(queue.waiters(), 0u);
}

TEST(Select, AClosedQueueIsReadyForBoth) {
    CarrierGroup group(carriers(1));
    BoundedQueue<int> queue(1);
    Notify never;
    auto receiving = group.spawn([&] {
        bool closed = false;
        select(onReceive(queue, [&](std::optional<int> value) { closed = !value; }), onNotify(never, failIfCalled));
        return closed;
    });
    awaitWaiters(queue, 1);
    queue.close();
    EXPECT_TRUE(receiving.join());
    int value = 1;
    bool sent = true;
    EXPECT_EQ(select(onSend(queue, value, [&](bool done) { sent = done; })), 0u);
    EXPECT_FALSE(sent);
}

// The chance that one of two is not taken in a thousand rounds is 2^-999.
TEST(Select, OfSeveralThatAreReadyEachHasItsTurn) {
    constexpr int rounds = 1'000;
    std::array<UnboundedQueue<int>, 4> queues;
    std::array<int, 4> taken{};
    for (auto& queue : queues) {
        for (int i = 0; i < rounds; ++i) queue.send(i);
    }
    const auto selectOf = [&](std::size_t first) {
        select(onReceive(queues[first], [&](auto) { ++taken[first]; }),
               onReceive(queues[first + 1], [&](auto) { ++taken[first + 1]; }));
    };
    for (int i = 0; i < rounds; ++i) {  // two that alternate
        selectOf(0);
        selectOf(2);
    }
    for (const int count : taken) EXPECT_GT(count, 0);
    EXPECT_EQ(taken[0] + taken[1], rounds);
    while (!queues[0].isEmpty()) {
        EXPECT_EQ(selectInOrder(onReceive(queues[0], [](auto) {}), onReceive(queues[1], [](auto) { failIfCalled(); })),
                  0u);
    }
}

TEST(Select, OfTwoFibersThatAlternateNoneStarvesABranch) {
    constexpr int rounds = 1'000;
    CarrierGroup group(carriers(1));
    std::array<UnboundedQueue<int>, 2> queues;
    std::array<std::array<int, 2>, 2> taken{};
    for (auto& queue : queues) {
        for (int i = 0; i < 2 * rounds; ++i) queue.send(i);
    }
    const auto selectFromBoth = [&](std::array<int, 2>& mine) {
        for (int i = 0; i < rounds; ++i) {
            select(onReceive(queues[0], [&](auto) { ++mine[0]; }), onReceive(queues[1], [&](auto) { ++mine[1]; }));
            thisFiber::yield();
        }
    };
    group
        .spawn([&] {  // which spawns both before either runs, so that they alternate from the first round on
            auto first = spawn([&] { selectFromBoth(taken[0]); });
            auto second = spawn([&] { selectFromBoth(taken[1]); });
            first.join();
            second.join();
        })
        .join();
    for (const auto& mine : taken) {
        EXPECT_GT(mine[0], 0);
        EXPECT_GT(mine[1], 0);
    }
}

TEST(Select, ABranchThatIsDisabledIsLeftOut) {
    BoundedQueue<int> closed(1);
    BoundedQueue<int> open(1);
    closed.close();
    bool isOpen = false;
    const auto fails = [](std::optional<int>) { failIfCalled(); };
    EXPECT_EQ(select(when(isOpen, onReceive(closed, fails)), onDeadline(soon(), [] {})), 1u);
    EXPECT_EQ(selectInOrder(when(isOpen, onReceive(closed, fails)), onReceive(open, fails), otherwise([] {})), 2u);
    open.send(7);
    int got = 0;
    EXPECT_EQ(selectInOrder(when(isOpen, onReceive(closed, fails)),
                            when(true, onReceive(open, [&](std::optional<int> value) { got = value.value_or(0); })),
                            when(false, otherwise(failIfCalled))),
              1u);
    EXPECT_EQ(got, 7);
    EXPECT_EQ(open.waiters() + closed.waiters(), 0u);
    EXPECT_DEATH(select(when(isOpen, onReceive(closed, fails))), "disabled every branch");
}

TEST(Select, ACancellationOrAShutdownEndsTheWaitAndCallsNothing) {
    BoundedQueue<int> queue(1);
    ErrorCode atShutdown;
    {
        CarrierGroup group(carriers(1));
        const auto fails = [](std::optional<int>) { failIfCalled(); };
        auto cancelled = group.spawn([&] { select(onReceive(queue, fails), onDeadline(late(), failIfCalled)); });
        awaitWaiters(queue, 1);
        group
            .spawn([&] {
                cancelled.cancel();
                queue.send(1);  // before it has run: the value stays in the queue
            })
            .join();
        EXPECT_EQ(outcome([&] { cancelled.join(); }), operationAborted());
        EXPECT_EQ(queue.tryReceive(), 1);
        group.spawn([&, fails] { select(atShutdown, onReceive(queue, fails)); }).detach();
        awaitWaiters(queue, 1);
    }
    EXPECT_EQ(atShutdown, operationAborted());
    EXPECT_EQ(queue.waiters(), 0u);
}

TEST(Select, AnExceptionOfTheFunctionReachesTheCallerAndTheValueIsTaken) {
    BoundedQueue<int> queue(1);
    queue.send(1);
    EXPECT_THROW(select(onReceive(queue, [](auto) { throw std::runtime_error("handler"); })), std::runtime_error);
    EXPECT_TRUE(queue.isEmpty());
}

TEST(Select, TheSameQueueMayBeInSeveralBranches) {
    CarrierGroup group(carriers(2));
    BoundedQueue<int> queue(1);
    // Two fibers that each either send to or receive from the other.
    std::array<int, 2> sent{};
    std::array<int, 2> received{};
    std::vector<JoinHandle<void>> fibers;
    for (std::size_t i = 0; i < 2; ++i) {
        fibers.push_back(group.carrier(i).spawn([&, i] {
            for (int round = 0; round < 300; ++round) {
                int value = 1;
                select(onReceive(queue, [&](std::optional<int>) { ++received[i]; }),
                       onSend(queue, value, [&](bool) { ++sent[i]; }));
            }
        }));
    }
    for (auto& fiber : fibers) fiber.join();
    const int left = queue.isEmpty() ? 0 : 1;
    EXPECT_EQ(sent[0] + sent[1], received[0] + received[1] + left);
    EXPECT_EQ(queue.waiters(), 0u);
}

TEST(Select, BetweenManySelectsNothingIsLostOrDoubled) {
    CarrierGroup group(carriers(2));
    BoundedQueue<int> left(1);
    BoundedQueue<int> right(2);
    constexpr int each = 300;
    std::vector<JoinHandle<void>> senders;
    std::vector<JoinHandle<long>> receivers;
    for (std::size_t i = 0; i < 3; ++i) {
        senders.push_back(group.carrier(i % 2).spawn([&] {
            for (int value = 1; value <= each; ++value) {
                int sent = value;
                select(onSend(left, sent, [](bool) {}), onSend(right, sent, [](bool) {}));
            }
        }));
        receivers.push_back(group.carrier(i % 2).spawn([&] {
            long sum = 0;
            bool open = true;
            const auto take = [&](std::optional<int> value) {
                open = value.has_value();
                sum += value.value_or(0);
            };
            while (open) select(onReceive(left, take), onReceive(right, take));
            while (const auto value = left.tryReceive()) sum += *value;
            while (const auto value = right.tryReceive()) sum += *value;
            return sum;
        }));
    }
    for (auto& sender : senders) sender.join();
    left.close();
    right.close();
    long sum = 0;
    for (auto& receiver : receivers) sum += receiver.join();
    EXPECT_EQ(sum, 3L * each * (each + 1) / 2);
}

TEST(Select, WhereNothingMayBlockOnlyABranchThatIsReadyIsTaken) {
    CarrierGroup group(carriers(1));
    group
        .spawn([&] {
            BoundedQueue<int> queue(1);
            const NonSuspendingScope scope;
            EXPECT_THROW(select(onReceive(queue, [](auto) { failIfCalled(); })), BlockingOperationException);
            EXPECT_EQ(select(onReceive(queue, [](auto) { failIfCalled(); }), otherwise([] {})), 1u);
            queue.send(1);
            EXPECT_EQ(select(onReceive(queue, [](auto) {})), 0u);
            EXPECT_EQ(queue.waiters(), 0u);
        })
        .join();
}

}  // namespace
}  // namespace weft::sync
