#include <weft/pipeline/channel_future.hpp>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_promise.hpp>
#include <weft/pipeline/detail/fallback_listener.hpp>
#include <weft/pipeline/embedded_channel.hpp>
#include <weft/scheduler/non_suspending_scope.hpp>

#include "support/log_capture.hpp"
#include "support/loop_without_io.hpp"

namespace weft {
namespace {

std::exception_ptr failure(const char* text) {
    return std::make_exception_ptr(std::runtime_error(text));
}

TEST(ChannelPromise, F1_APendingPromiseSucceedsOnce) {
    EmbeddedChannel channel;
    const ChannelPromise promise = channel.channel().newPromise();
    EXPECT_EQ(promise.future().status(), PromiseStatus::pending);
    EXPECT_TRUE(promise.trySuccess());
    EXPECT_EQ(promise.future().status(), PromiseStatus::success);
    EXPECT_FALSE(promise.trySuccess());
    EXPECT_FALSE(promise.tryFailure(failure("late")));
    EXPECT_FALSE(promise.future().cancel());
    EXPECT_THROW(promise.setSuccess(), std::logic_error);
    EXPECT_THROW(promise.setFailure(failure("late")), std::logic_error);
}

TEST(ChannelPromise, F1_AFailureKeepsItsCause) {
    EmbeddedChannel channel;
    const ChannelPromise promise = channel.channel().newPromise();
    promise.setFailure(timedOut());
    EXPECT_EQ(promise.future().error(), timedOut());
    EXPECT_THROW(promise.future().sync(), SystemError);
}

TEST(ChannelPromise, F1_APendingPromiseCanBeCancelledAndAnUncancellableOneCannot) {
    EmbeddedChannel channel;
    const ChannelPromise cancelled = channel.channel().newPromise();
    EXPECT_TRUE(cancelled.future().cancel());
    EXPECT_TRUE(cancelled.future().cancelled());
    EXPECT_FALSE(cancelled.setUncancellable());
    EXPECT_EQ(cancelled.future().error(), operationAborted());

    const ChannelPromise firm = channel.channel().newPromise();
    EXPECT_TRUE(firm.setUncancellable());
    EXPECT_FALSE(firm.future().cancel());
    EXPECT_TRUE(firm.trySuccess());
}

TEST(ChannelPromise, TheVoidPromiseHasNoFutureAndAcceptsEveryResult) {
    const ChannelPromise promise;
    EXPECT_TRUE(promise.isVoid());
    EXPECT_TRUE(promise.trySuccess());
    EXPECT_TRUE(promise.tryFailure(failure("unheard")));
    EXPECT_FALSE(promise.future().valid());
}

TEST(ChannelFuture, F2_ListenersRunInOrderOfRegistrationAndOnce) {
    EmbeddedChannel channel;
    const ChannelPromise promise = channel.channel().newPromise();
    std::string order;
    promise.addListener([&](const ChannelFuture&) { order += 'a'; });
    promise.addListener([&](const ChannelFuture&) { order += 'b'; });
    promise.addListener([&](const ChannelFuture& future) { order += future.success() ? 'c' : '?'; });
    promise.trySuccess();
    EXPECT_EQ(order, "abc");
    promise.trySuccess();
    channel.runPendingTasks();
    EXPECT_EQ(order, "abc");
}

TEST(ChannelFuture, F2_AListenerAddedInTheLoopAfterCompletionIsCalledAtOnce) {
    EmbeddedChannel channel;
    const ChannelPromise promise = channel.channel().newPromise();
    promise.trySuccess();
    bool called = false;
    promise.future().addListener([&](const ChannelFuture&) { called = true; });
    EXPECT_TRUE(called);
}

TEST(ChannelFuture, F2_AListenerAddedByAListenerRunsAfterTheOthers) {
    EmbeddedChannel channel;
    const ChannelPromise promise = channel.channel().newPromise();
    std::string order;
    promise.addListener([&](const ChannelFuture& future) {
        order += 'a';
        future.addListener([&](const ChannelFuture&) { order += 'c'; });
    });
    promise.addListener([&](const ChannelFuture&) { order += 'b'; });
    promise.trySuccess();
    EXPECT_EQ(order, "abc");
}

TEST(ChannelFuture, F2_NotificationsNestedDeeperThanEightBecomeTasks) {
    EmbeddedChannel channel;
    std::vector<ChannelPromise> chain;
    for (int i = 0; i < 20; ++i) chain.push_back(channel.channel().newPromise());
    int notified = 0;
    for (std::size_t i = 0; i < chain.size(); ++i) {
        chain[i].addListener([&, i](const ChannelFuture&) {
            ++notified;
            if (i + 1 < chain.size()) chain[i + 1].trySuccess();
        });
    }
    chain[0].trySuccess();
    EXPECT_EQ(notified, 8);
    channel.runPendingTasks();
    EXPECT_EQ(notified, 20);
}

TEST(ChannelFuture, F2_AListenerOfAnotherThreadsCompletionRunsInTheLoop) {
    test::LoopWithoutIo host;
    ChannelRef channel = Channel::create(host.loop);
    const ChannelPromise promise = channel->newPromise();
    std::atomic<bool> inLoop{false};
    std::atomic<bool> mayBlock{true};
    Promise<void> called;
    Future<void> done = called.future();
    promise.addListener([&](const ChannelFuture&) {
        inLoop = host.loop.inEventLoop();
        mayBlock = !NonSuspendingScope::active();
        called.setValue();
    });
    promise.trySuccess();
    done.await();
    EXPECT_TRUE(inLoop);
    EXPECT_FALSE(mayBlock);
}

TEST(ChannelFuture, E4_AThrowingListenerIsLoggedAndTheOthersRun) {
    EmbeddedChannel channel;
    const ChannelPromise promise = channel.channel().newPromise();
    bool second = false;
    promise.addListener([](const ChannelFuture&) { throw std::runtime_error("listener"); });
    promise.addListener([&](const ChannelFuture&) { second = true; });
    EXPECT_TRUE(promise.trySuccess());
    EXPECT_TRUE(second);
}

TEST(ChannelFuture, F3_AwaitOnTheEmbeddedLoopsOwnThreadThrowsUnlessDone) {
    EmbeddedChannel channel;
    const ChannelPromise promise = channel.channel().newPromise();
    EXPECT_THROW(promise.future().await(), BlockingOperationException);
    promise.trySuccess();
    EXPECT_NO_THROW(promise.future().await());
}

TEST(ChannelFuture, F3_AwaitInDispatchThrowsUnlessDone) {
    test::LoopWithoutIo host;
    ChannelRef channel = Channel::create(host.loop);
    const ChannelPromise promise = channel->newPromise();
    std::string outcome;
    host.inDispatch([&] {
        try {
            promise.future().await();
        } catch (const BlockingOperationException&) {
            outcome = "threw";
        }
        promise.trySuccess();
        promise.future().await();
        outcome += ", then returned";
    });
    EXPECT_EQ(outcome, "threw, then returned");
}

TEST(ChannelFuture, F3_SyncRethrowsTheFailure) {
    EmbeddedChannel channel;
    const ChannelPromise promise = channel.channel().newPromise();
    promise.setFailure(failure("refused"));
    EXPECT_THROW(promise.future().sync(), std::runtime_error);
}

TEST(ChannelFuture, F4_AwaitParksAnOrdinaryFiberAndItsCarrierGoesOn) {
    test::LoopWithoutIo host;
    ChannelRef channel = Channel::create(host.loop);
    const ChannelPromise promise = channel->newPromise();
    std::string order;
    auto waiter = host.group.carrier(0).spawn([&] {
        order += "waits ";
        promise.future().await();
        order += "done";
    });
    host.inFiber([&] {
        order += "completes ";
        promise.trySuccess();
    });
    waiter.join();
    EXPECT_EQ(order, "waits completes done");
}

TEST(ChannelFuture, F4_AwaitBlocksAForeignThread) {
    test::LoopWithoutIo host;
    ChannelRef channel = Channel::create(host.loop);
    const ChannelPromise promise = channel->newPromise();
    host.loop.schedule([promise] { promise.trySuccess(); }, std::chrono::milliseconds(2));
    promise.future().await();
    EXPECT_TRUE(promise.future().success());
}

TEST(ChannelFuture, F4_AwaitInAPipelineEntryOfAFiberThrows) {
    test::LoopWithoutIo host;
    ChannelRef channel = Channel::create(host.loop);
    const ChannelPromise promise = channel->newPromise();
    bool scoped = false;
    bool threw = false;
    const ChannelPromise done = channel->newPromise();
    done.trySuccess();
    host.inFiber([&] {
        done.future().addListener([&](const ChannelFuture&) {
            scoped = NonSuspendingScope::active();
            if (!scoped) return;  // await() would park this fiber for ever
            try {
                promise.future().await();
            } catch (const BlockingOperationException&) {
                threw = true;
            }
        });
    });
    EXPECT_TRUE(scoped);
    EXPECT_TRUE(threw);
}

TEST(ChannelFuture, AwaitUntilGivesUpAtItsDeadline) {
    test::LoopWithoutIo host;
    ChannelRef channel = Channel::create(host.loop);
    EXPECT_FALSE(channel->newPromise().future().awaitFor(std::chrono::milliseconds(1)));
}

TEST(ChannelFuture, F1_ManyThreadsRacingToCompleteHaveOneWinner) {
    EmbeddedChannel channel;
    for (int round = 0; round < 100; ++round) {
        const ChannelPromise promise = channel.channel().newPromise();
        std::atomic<int> winners{0};
        std::thread one([&] { winners += promise.trySuccess(); });
        std::thread two([&] { winners += promise.tryFailure(timedOut()); });
        winners += promise.future().cancel();
        one.join();
        two.join();
        EXPECT_EQ(winners, 1);
    }
}

// For operations that are built on others: they must not wait for a call that never comes.
TEST(ChannelFuture, F2_AListenerThatAnEndedLoopCannotCallIsDestroyed) {
    auto host = std::make_unique<test::LoopWithoutIo>();
    const ChannelRef channel = Channel::create(host->loop);
    const ChannelPromise early = channel->newPromise();
    const ChannelPromise late = channel->newPromise();
    std::string calls;
    const auto answered = [&](const char* name) {
        return detail::FallbackListener([&, name](const ChannelFuture&) { calls += std::string(name) + ":called "; },
                                        [&, name] { calls += std::string(name) + ":dropped "; });
    };
    early.addListener(answered("1"));
    host->inDispatch([&] { early.trySuccess(); });
    EXPECT_EQ(calls, "1:called ");
    host->loop.stop();
    host->ended.await();

    const test::LogCapture log;
    late.addListener(answered("2"));
    EXPECT_EQ(calls, "1:called ");
    late.trySuccess();
    late.addListener(answered("3"));
    EXPECT_EQ(calls, "1:called 2:dropped 3:dropped ");
    EXPECT_EQ(log.countAt(LogLevel::error), 0);
    const auto life = std::make_shared<int>(0);
    late.addListener([life](const ChannelFuture&) {});
    EXPECT_EQ(life.use_count(), 1);
    EXPECT_EQ(log.countAt(LogLevel::error), 1) << "a listener without a substitute";
}

}  // namespace
}  // namespace weft
