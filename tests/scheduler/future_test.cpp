#include <weft/scheduler/future.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <weft/scheduler/carrier_group.hpp>

#include "support/log_capture.hpp"

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

// The waiter owns the promise and may destroy it while the setter is still inside setValue().
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

// Each future's listener completes the next promise. The stack does not grow with the chain.
struct Chain {
    explicit Chain(int count) : promises(static_cast<std::size_t>(count)) {
        for (std::size_t i = 0; i + 1 < promises.size(); ++i) {
            promises[i].future().addListener([this, i](const Future<int>& done) {
                order.push_back(i);
                deepest = std::max(deepest, ++depth);
                promises[i + 1].setValue(done.get() + 1);
                --depth;
            });
        }
    }
    std::vector<Promise<int>> promises;
    std::vector<std::size_t> order;
    int depth = 0;
    int deepest = 0;
};

TEST(Future, AChainOfManyIsDeliveredBeforeTheFirstCompletionReturnsAndOnABoundedStack) {
    constexpr int count = 20'000;
    const auto complete = [] {
        Chain chain(count);
        chain.promises.front().setValue(0);
        EXPECT_EQ(chain.promises.back().future().get(), count - 1);
        EXPECT_TRUE(std::is_sorted(chain.order.begin(), chain.order.end()));
        EXPECT_EQ(chain.order.size(), static_cast<std::size_t>(count) - 1);
        EXPECT_LE(chain.deepest, 8);
    };
    complete();
    CarrierGroup group;
    group.spawn(complete).join();
}

TEST(Future, AChainOfLateListenersIsDeliveredOnABoundedStack) {
    Promise<void> promise;
    promise.setValue();
    struct Loop {
        Future<void> future;
        int left = 20'000;
        int depth = 0;
        int deepest = 0;
        void next() {
            if (--left == 0) return;
            deepest = std::max(deepest, ++depth);
            future.addListener([this](const Future<void>&) { next(); });
            --depth;
        }
    } loop{promise.future()};
    loop.next();
    EXPECT_EQ(loop.left, 0);
    EXPECT_LE(loop.deepest, 9);
}

// Each listener owns the next promise and abandons it when the listener is destroyed.
TEST(Future, AChainOfAbandonedPromisesIsDeliveredOnABoundedStack) {
    Promise<void> first;
    Future<void> last = first.future();
    for (int i = 0; i < 20'000; ++i) {
        Promise<void> next;
        const Future<void> before = std::exchange(last, next.future());
        before.addListener([owned = std::move(next)](const Future<void>&) {});
    }
    first.setValue();
    EXPECT_TRUE(last.done());
    EXPECT_THROW(last.get(), SystemError);
}

// In the eighth nested listener, several futures complete one after the other.
TEST(Future, PostponedListenersAreCalledInTheOrderOfTheCompletions) {
    std::vector<Promise<void>> levels(8);
    std::vector<Promise<void>> leaves(3);
    std::string order;
    for (std::size_t i = 0; i + 1 < levels.size(); ++i) {
        levels[i].future().addListener([&, i](const Future<void>&) { levels[i + 1].setValue(); });
    }
    for (std::size_t i = 0; i < leaves.size(); ++i) {
        leaves[i].future().addListener([&, i](const Future<void>&) { order += static_cast<char>('a' + i); });
    }
    levels.back().future().addListener([&](const Future<void>&) {
        for (auto& leaf : leaves) leaf.setValue();
        EXPECT_EQ(order, "");
    });
    levels.front().setValue();
    EXPECT_EQ(order, "abc");
}

TEST(Future, AListenerThatThrowsIsLoggedAndTheOthersAreCalled) {
    const test::LogCapture log;
    Promise<void> promise;
    bool called = false;
    promise.future().addListener([](const Future<void>&) { throw std::runtime_error("from a listener"); });
    promise.future().addListener([&](const Future<void>&) { called = true; });
    EXPECT_TRUE(promise.setValue());
    EXPECT_TRUE(called);
    EXPECT_EQ(log.count("a future's listener threw: from a listener"), 1) << log.text();
}

TEST(Future, AListenerMayNotBlockInAFiber) {
    CarrierGroup group;
    group
        .spawn([] {
            Promise<void> promise;
            Promise<void> never;
            bool refused = false;
            promise.future().addListener([&](const Future<void>&) {
                try {
                    never.future().await();
                } catch (const BlockingOperationException&) {
                    refused = true;
                }
            });
            promise.setValue();
            EXPECT_TRUE(refused);
        })
        .join();
}

}  // namespace
}  // namespace weft
