#include <weft/scheduler/future.hpp>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include <weft/scheduler/carrier_group.hpp>

namespace weft {
namespace {

TEST(Future, ListenersAreCalledOnceInOrderAndALateOneAtOnce) {
    Promise<int> promise;
    const Future<int> future = promise.future();
    std::string order;
    for (const char name : {'a', 'b', 'c'}) {
        future.addListener([&order, name](const Future<int>& done) { order += done.get() == 7 ? name : '?'; });
    }
    EXPECT_EQ(order, "");
    EXPECT_TRUE(promise.setValue(7));
    EXPECT_EQ(order, "abc");
    future.addListener([&order](const Future<int>&) { order += 'd'; });
    EXPECT_EQ(order, "abcd");
    EXPECT_FALSE(promise.setValue(8));
    EXPECT_EQ(order, "abcd");
    EXPECT_EQ(future.get(), 7);
}

TEST(Future, AListenerThatAddsAnotherSeesItCalledAtOnce) {
    Promise<void> promise;
    std::string order;
    promise.future().addListener([&order](const Future<void>& done) {
        order += 'a';
        done.addListener([&order](const Future<void>&) { order += 'b'; });
        order += 'c';
    });
    promise.future().addListener([&order](const Future<void>&) { order += 'd'; });
    promise.setValue();
    EXPECT_EQ(order, "abcd");
}

TEST(Future, TheFirstOutcomeStays) {
    Promise<std::unique_ptr<int>> promise;
    const auto future = promise.future();
    EXPECT_FALSE(future.done());
    EXPECT_TRUE(promise.setError(std::make_exception_ptr(std::runtime_error("first"))));
    EXPECT_FALSE(promise.setValue(std::make_unique<int>(1)));
    EXPECT_TRUE(future.done());
    EXPECT_THROW(future.get(), std::runtime_error);
}

TEST(Future, AnAbandonedPromiseEndsItsFutureAndCallsItsListeners) {
    std::optional<Promise<int>> promise(std::in_place);
    const Future<int> future = promise->future();
    bool called = false;
    future.addListener([&called](const Future<int>& done) { called = done.error() != nullptr; });
    promise.reset();
    EXPECT_TRUE(called);
    EXPECT_THROW(future.get(), SystemError);
}

TEST(Future, AnAwaitGivesUpAtItsDeadlineAndMayBeRepeated) {
    Promise<int> promise;
    const Future<int> future = promise.future();
    EXPECT_FALSE(future.awaitFor(std::chrono::microseconds(1)));
    promise.setValue(1);
    EXPECT_TRUE(future.awaitFor(std::chrono::microseconds(1)));
}

// The promise is the waiter's: it goes while the setter may still be inside setValue().
TEST(Future, AWaiterMayDestroyThePromiseThatHasJustBeenSet) {
    CarrierOptions options;
    options.carriers = 2;
    CarrierGroup group(options);
    for (int round = 0; round < 2000; ++round) {
        std::optional<Promise<int>> promise(std::in_place);
        std::optional<Future<int>> future(promise->future());
        int heard = 0;
        if (round % 2 == 0) future->addListener([&heard](const Future<int>& done) { heard = done.get(); });
        auto setter = group.carrier(0).spawn([&promise, round] { promise->setValue(round + 1); });
        auto waiter = group.carrier(1).spawn([&promise, &future] {
            future->await();
            const int value = future->get();
            future.reset();
            promise.reset();
            return value;
        });
        ASSERT_EQ(waiter.join(), round + 1);
        setter.join();
        ASSERT_EQ(heard, round % 2 == 0 ? round + 1 : 0);
    }
}

}  // namespace
}  // namespace weft
