#include <weft/scheduler/sync/notify.hpp>

#include <vector>

#include <gtest/gtest.h>

#include <weft/scheduler/non_suspending_scope.hpp>

#include "scheduler/sync/fibers.hpp"

namespace weft::sync {
namespace {

TEST(Notify, ANotificationBeforeTheWaitIsStoredOnce) {
    Notify notify;
    notify.notifyOne();
    notify.notifyOne();
    notify.wait();
    EXPECT_FALSE(notify.tryWait());
    EXPECT_FALSE(notify.waitUntil(soon()));
    EXPECT_EQ(notify.waiters(), 0u);
}

TEST(Notify, NotifyOneEndsTheFirstWaitOnly) {
    CarrierGroup group(carriers(1));
    Notify notify;
    std::vector<JoinHandle<void>> waiting;
    for (std::size_t i = 0; i < 3; ++i) {
        waiting.push_back(group.spawn([&] { notify.wait(); }));
        awaitWaiters(notify, i + 1);
    }
    for (std::size_t i = 0; i < 3; ++i) {
        notify.notifyOne();
        waiting[i].join();
        EXPECT_EQ(notify.waiters(), 2 - i);
    }
    EXPECT_FALSE(notify.tryWait()) << "what a waiter got is not stored";
}

TEST(Notify, NotifyAllEndsAllWaitsAndIsNotStored) {
    CarrierGroup group(carriers(2));
    Notify notify;
    std::vector<JoinHandle<void>> waiting;
    for (std::size_t i = 0; i < 4; ++i) waiting.push_back(group.carrier(i % 2).spawn([&] { notify.wait(); }));
    awaitWaiters(notify, 4);
    notify.notifyAll();
    for (auto& fiber : waiting) fiber.join();
    EXPECT_FALSE(notify.tryWait());
    notify.notifyAll();
    EXPECT_FALSE(notify.waitUntil(soon()));
}

TEST(Notify, AWaitWithATicketSeesNotifyAllThatCameBefore) {
    Notify notify;
    const Notify::Ticket before = notify.ticket();
    notify.notifyAll();
    notify.wait(before);
    EXPECT_TRUE(notify.waitUntil(late(), before));
    EXPECT_FALSE(notify.waitUntil(soon(), notify.ticket()));
}

TEST(Notify, ANotificationIsNotLostToAWaiterThatIsCancelled) {
    CarrierGroup group(carriers(1));
    Notify notify;
    auto first = group.spawn([&] { notify.wait(); });
    awaitWaiters(notify, 1);
    auto second = group.spawn([&] { notify.wait(); });
    awaitWaiters(notify, 2);
    group
        .spawn([&] {
            first.cancel();
            notify.notifyOne();  // before the first has run
        })
        .join();
    second.join();
    EXPECT_EQ(outcome([&] { first.join(); }), operationAborted());

    auto alone = group.spawn([&] { notify.wait(); });
    awaitWaiters(notify, 1);
    group
        .spawn([&] {
            alone.cancel();
            notify.notifyOne();
        })
        .join();
    EXPECT_EQ(outcome([&] { alone.join(); }), operationAborted());
    EXPECT_TRUE(notify.tryWait()) << "stored for the next wait";
}

// Each side waits for the other; the last to be woken destroys the object while its waker may still be inside it.
TEST(Notify, AWokenWaiterMayDestroyIt) {
    CarrierGroup group(carriers(2));
    for (int round = 0; round < 500; ++round) {
        auto* const notify = new Notify;
        auto waiter = group.carrier(0).spawn([notify] {
            notify->wait();
            delete notify;
        });
        auto waker = group.carrier(1).spawn([notify] { notify->notifyOne(); });
        waiter.join();
        waker.join();
    }
}

TEST(Notify, WhereNothingMayBlockOnlyAStoredNotificationEndsTheWait) {
    CarrierGroup group(carriers(1));
    group
        .spawn([&] {
            Notify notify;
            const NonSuspendingScope scope;
            notify.notifyOne();
            notify.wait();
            EXPECT_THROW(notify.wait(), BlockingOperationException);
            ErrorCode error;
            EXPECT_THROW(notify.wait(error), BlockingOperationException);
            EXPECT_EQ(notify.waiters(), 0u);
        })
        .join();
}

}  // namespace
}  // namespace weft::sync
