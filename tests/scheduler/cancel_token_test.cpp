// CancelSource, CancelToken, CancelCallback, StopBridge: what a cancellation calls, and from where.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <vector>

#include <weft/scheduler/cancel_scope.hpp>
#include <weft/scheduler/cancellation_shield.hpp>
#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/deadline_scope.hpp>
#include <weft/scheduler/sync/semaphore.hpp>
#include <weft/scheduler/task_scope.hpp>

#include "scheduler/sync/fibers.hpp"
#include "support/log_capture.hpp"

namespace weft {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using sync::carriers;
using sync::outcome;
using sync::soon;

std::vector<CancelSource> nestedSources(int depth) {
    std::vector<CancelSource> all(1);
    for (int i = 1; i < depth; ++i) all.emplace_back(all.back().token());
    return all;
}

// On the smallest stacks: neither a cancellation nor the release of a tree takes stack for each level.
TEST(CancelSource, ATreeOfAnyDepthIsCancelledAndReleasedOnASmallStack) {
    CarrierGroup group(carriers(1));
    group
        .spawn(
            [] {
                constexpr int depth = 100'000;
                std::vector<CancelSource> cancelled = nestedSources(depth);
                int calls = 0;
                const auto count = [&calls] { ++calls; };
                const CancelCallback first(cancelled.front().token(), count);
                const CancelCallback middle(cancelled[depth / 2].token(), count);
                const CancelCallback last(cancelled.back().token(), count);
                EXPECT_TRUE(cancelled.front().cancel());
                EXPECT_TRUE(cancelled.back().cancelled());
                EXPECT_EQ(calls, 3);
                std::vector<CancelSource> released = nestedSources(depth);
                const CancelToken kept = released.back().token();  // keeps all of them
                released.clear();
                EXPECT_FALSE(kept.cancelled());
            },
            {.stackSize = 64 * 1024})
        .join();
}

TEST(CancelSource, CancelsItsTokensAndItsChildrenButNotItsParent) {
    CancelSource parent;
    CancelSource child(parent.token());
    CancelSource grandchild(child.token());
    CancelSource sibling(parent.token());
    EXPECT_TRUE(child.cancel());
    EXPECT_FALSE(child.cancel());
    EXPECT_TRUE(child.token().cancelled());
    EXPECT_TRUE(grandchild.cancelled());
    EXPECT_FALSE(parent.cancelled());
    EXPECT_FALSE(sibling.cancelled());
    EXPECT_TRUE(parent.cancel());
    EXPECT_TRUE(sibling.cancelled());
    EXPECT_TRUE(CancelSource(parent.token()).cancelled());
    EXPECT_FALSE(CancelToken().cancelled());
    EXPECT_FALSE(CancelSource(CancelToken()).cancelled());
}

TEST(CancelSource, IsNotCancelledByItsEnd) {
    CancelToken token;
    {
        CancelSource parent;
        CancelSource source(parent.token());
        token = source.token();
    }
    EXPECT_FALSE(token.cancelled());
}

TEST(CancelSource, IsStillOneAfterAMove) {
    CancelSource moved;
    CancelSource source(std::move(moved));
    EXPECT_TRUE(moved.cancel());
    EXPECT_TRUE(source.cancelled());
}

TEST(CancelSource, CancelsAGrandchildWhoseParentIsHeldByNothingElse) {
    CancelSource root;
    std::optional<CancelSource> middle(root.token());
    CancelSource leaf(middle->token());
    middle.reset();
    root.cancel();
    EXPECT_TRUE(leaf.cancelled());
}

TEST(CancelSource, CancelsAHundredNestedChildrenOnAFibersStack) {
    CarrierGroup group(carriers(1));
    group
        .spawn([] {
            CancelSource root;
            std::vector<CancelSource> chain{root};
            for (int i = 0; i < 100; ++i) chain.emplace_back(chain.back().token());
            root.cancel();
            EXPECT_TRUE(chain.back().cancelled());
        })
        .join();
}

TEST(CancelCallback, IsCalledOnceOnTheCancellingThread) {
    CancelSource source;
    int calls = 0;
    const auto count = [&, caller = std::this_thread::get_id()] {
        EXPECT_EQ(std::this_thread::get_id(), caller);
        ++calls;
    };
    CancelCallback first(source.token(), count);
    { CancelCallback gone(source.token(), count); }
    CancelCallback never(CancelToken(), count);
    source.cancel();
    source.cancel();
    EXPECT_EQ(calls, 1);
    CancelCallback late(source.token(), count);
    EXPECT_EQ(calls, 2);
}

TEST(CancelCallback, MayDestroyItselfAndTheSource) {
    auto source = std::make_unique<CancelSource>();
    std::optional<CancelCallback<std::function<void()>>> callback;
    bool called = false;
    callback.emplace(source->token(), [&] {
        called = true;
        source->cancel();
        source.reset();
        callback.reset();
    });
    source->cancel();
    EXPECT_TRUE(called);
    EXPECT_FALSE(callback.has_value());
}

TEST(CancelCallback, MayReleaseTheLastChildThatIsBeingCancelled) {
    CancelSource parent;
    std::unique_ptr<CancelCallback<std::function<void()>>> callback;
    auto child = std::make_unique<CancelSource>(parent.token());
    callback = std::make_unique<CancelCallback<std::function<void()>>>(child->token(), [&] {
        child.reset();
        callback.reset();  // has the last reference
    });
    parent.cancel();
    EXPECT_EQ(child, nullptr);
    EXPECT_EQ(callback, nullptr);
}

TEST(CancelCallback, MayDestroyAnotherOneThatIsThenNotCalled) {
    CancelSource source;
    int calls = 0;
    std::optional<CancelCallback<std::function<void()>>> first;
    std::optional<CancelCallback<std::function<void()>>> second;
    first.emplace(source.token(), [&] { ++calls, second.reset(); });
    second.emplace(source.token(), [&] { ++calls, first.reset(); });
    source.cancel();
    EXPECT_EQ(calls, 1);
}

TEST(CancelCallback, DestroyedElsewhereWaitsForTheCall) {
    CancelSource source;
    std::atomic<bool> inside{false};
    std::atomic<bool> leave{false};
    std::atomic<bool> returned{false};
    std::optional<CancelCallback<std::function<void()>>> callback;
    callback.emplace(source.token(), [&] {
        inside = true;
        while (!leave) std::this_thread::yield();
        returned = true;
    });
    std::thread canceller([&] { source.cancel(); });
    while (!inside) std::this_thread::yield();
    std::thread helper([&] { leave = true; });
    callback.reset();
    EXPECT_TRUE(returned);
    canceller.join();
    helper.join();
}

TEST(CancelCallback, ThatThrowsIsLoggedAndTheOthersAreCalled) {
    test::LogCapture captured;
    CancelSource source;
    bool called = false;
    CancelCallback second(source.token(), [&] { called = true; });
    CancelCallback first(source.token(), [] { throw std::runtime_error("bad callback"); });
    source.cancel();
    EXPECT_TRUE(called);
    EXPECT_EQ(captured.count("bad callback"), 1);
}

TEST(CancelCallback, MayNotSuspendOnACarrier) {
    CarrierGroup group(carriers(1));
    group
        .spawn([] {
            CancelSource source;
            bool refused = false;
            CancelCallback callback(source.token(), [&] {
                try {
                    thisFiber::yield();
                } catch (const BlockingOperationException&) {
                    refused = true;
                }
            });
            source.cancel();
            EXPECT_TRUE(refused);
        })
        .join();
}

TEST(StopBridge, CarriesACancellationInBothDirections) {
    std::stop_source stop;
    const CancelToken token(stop.get_token());
    EXPECT_FALSE(token.cancelled());
    StopBridge back(token);
    EXPECT_FALSE(back.token().stop_requested());
    stop.request_stop();
    EXPECT_TRUE(token.cancelled());
    EXPECT_TRUE(back.token().stop_requested());
    EXPECT_TRUE(CancelToken(stop.get_token()).cancelled());
}

TEST(StopBridge, MayReleaseTheTokenInTheCallOfTheStop) {
    std::stop_source stop;
    std::optional<CancelToken> token(stop.get_token());
    std::optional<CancelCallback<std::function<void()>>> callback;
    callback.emplace(*token, [&] { token.reset(), callback.reset(); });
    stop.request_stop();
    EXPECT_FALSE(callback.has_value());
}

}  // namespace
}  // namespace weft
