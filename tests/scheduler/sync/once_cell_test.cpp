#include <weft/scheduler/sync/once_cell.hpp>

#include <any>
#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <weft/scheduler/non_suspending_scope.hpp>

#include "scheduler/sync/fibers.hpp"

namespace weft::sync {
namespace {

TEST(OnceCell, OneCallerInitializesAndTheOthersGetItsValue) {
    CarrierGroup group(carriers(2));
    OnceCell<std::string> cell;
    std::atomic<int> calls{0};
    EXPECT_EQ(cell.get(), nullptr);
    std::vector<JoinHandle<std::string*>> fibers;
    for (std::size_t i = 0; i < 8; ++i) {
        fibers.push_back(group.carrier(i % 2).spawn([&] {
            return &cell.getOrInit([&] {
                ++calls;
                awaitWaiters(cell, 7);
                return "value";
            });
        }));
    }
    for (auto& fiber : fibers) {
        const std::string* const value = fiber.join();
        EXPECT_EQ(value, cell.get());
    }
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(*cell.get(), "value");
    EXPECT_TRUE(cell.isInitialized());
}

TEST(OnceCell, AfterAFailureTheNextCallerInitializes) {
    CarrierGroup group(carriers(1));
    OnceCell<int> cell;
    std::atomic<bool> begun{false};
    auto failing = group.spawn([&] {
        cell.getOrInit([&]() -> int {
            begun = true;
            awaitWaiters(cell, 2);
            throw std::runtime_error("first");
        });
    });
    while (!begun) thisFiber::yield();
    auto next = group.spawn([&] { return cell.getOrInit([] { return 2; }); });
    awaitWaiters(cell, 1);
    auto last = group.spawn([&] { return cell.getOrInit([] { return 3; }); });
    EXPECT_THROW(failing.join(), std::runtime_error);
    EXPECT_EQ(next.join(), 2);
    EXPECT_EQ(last.join(), 2);
}

TEST(OnceCell, AfterACancellationTheNextCallerInitializes) {
    CarrierGroup group(carriers(1));
    OnceCell<int> cell;
    std::atomic<bool> begun{false};
    auto initializing = group.spawn([&] {
        cell.getOrInit([&] {
            begun = true;
            thisFiber::sleepFor(std::chrono::hours(1));
            return 1;
        });
    });
    while (!begun) thisFiber::yield();
    auto waiting = group.spawn([&] { cell.getOrInit([] { return 2; }); });
    awaitWaiters(cell, 1);
    auto next = group.spawn([&] { return cell.getOrInit([] { return 3; }); });
    awaitWaiters(cell, 2);
    waiting.cancel();
    EXPECT_EQ(outcome([&] { waiting.join(); }), operationAborted());
    EXPECT_EQ(cell.waiters(), 1u);
    initializing.cancel();
    EXPECT_EQ(outcome([&] { initializing.join(); }), operationAborted());
    EXPECT_EQ(next.join(), 3);
}

TEST(OnceCell, TryEmplaceStoresOnceAndNotDuringAnInitialization) {
    CarrierGroup group(carriers(1));
    OnceCell<std::unique_ptr<int>> cell;
    auto value = std::make_unique<int>(1);
    group
        .spawn([&] {
            cell.getOrInit([&] {
                EXPECT_FALSE(cell.tryEmplace(std::move(value)));
                EXPECT_NE(value, nullptr) << "a value that is not stored stays with the caller";
                return std::make_unique<int>(2);
            });
        })
        .join();
    EXPECT_FALSE(cell.tryEmplace(std::move(value)));
    EXPECT_EQ(**cell.get(), 2);
    OnceCell<std::any> other;
    EXPECT_TRUE(other.tryEmplace(5));
    EXPECT_EQ(std::any_cast<int>(*other.get()), 5);
}

struct Unmovable {
    explicit Unmovable(int value) : value(value) {}
    Unmovable(Unmovable&&) = delete;
    int value;
};

TEST(OnceCell, TheValueIsConstructedInPlaceAndDestroyedWithTheCell) {
    OnceCell<Unmovable> cell;
    EXPECT_EQ(cell.getOrInit([] { return Unmovable(4); }).value, 4);
    const auto counted = std::make_shared<int>(0);
    {
        OnceCell<std::shared_ptr<int>> holds;
        holds.tryEmplace(counted);
        EXPECT_EQ(counted.use_count(), 2);
        OnceCell<std::shared_ptr<int>> empty;
    }
    EXPECT_EQ(counted.use_count(), 1);
}

TEST(OnceCell, WhereNothingMayBlockOnlyAnotherCallersInitializationIsAnError) {
    CarrierGroup group(carriers(1));
    OnceCell<int> cell;
    std::atomic<bool> begun{false};
    std::atomic<bool> refused{false};
    auto initializing = group.spawn([&] {
        cell.getOrInit([&] {
            begun = true;
            while (!refused) thisFiber::yield();
            return 1;
        });
    });
    while (!begun) thisFiber::yield();
    const auto getWhereNothingMayBlock = [&] {
        const NonSuspendingScope scope;
        return cell.getOrInit([] { return 2; });
    };
    EXPECT_THROW(group.spawn(getWhereNothingMayBlock).join(), BlockingOperationException);
    refused = true;
    initializing.join();
    EXPECT_EQ(group.spawn(getWhereNothingMayBlock).join(), 1);
}

TEST(OnceCell, ACallerMayGiveUpWaitingForAnother) {
    CarrierGroup group(carriers(1));
    OnceCell<int> cell;
    std::atomic<bool> release{false};
    auto initializing = group.spawn([&] {
        cell.getOrInit([&] {
            while (!release) thisFiber::yield();
            return 1;
        });
    });
    auto waiting = group.spawn([&] {
        const auto init = [] { return 2; };
        ErrorCode error;
        EXPECT_EQ(cell.getOrInitUntil(soon(), error, init), nullptr);
        EXPECT_EQ(error, timedOut());
        release = true;
        int* const found = cell.getOrInit(error, init);
        EXPECT_FALSE(error);
        EXPECT_EQ(*found, 1);
        EXPECT_EQ(cell.getOrInitUntil(soon(), error, init), found);
    });
    waiting.join();
    initializing.join();
}

}  // namespace
}  // namespace weft::sync
