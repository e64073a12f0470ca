#include <weft/scheduler/sync/watch.hpp>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <weft/scheduler/non_suspending_scope.hpp>
#include <weft/scheduler/sync/select.hpp>

#include "scheduler/sync/fibers.hpp"

namespace weft::sync {
namespace {

TEST(Watch, AReaderSeesTheLatestValueOnce) {
    Watch<int> watch(1);
    WatchReader reader(watch);
    EXPECT_EQ(watch.get(), 1);
    EXPECT_FALSE(reader.hasChanged());
    EXPECT_TRUE(watch.send(2));
    EXPECT_TRUE(watch.send(3));
    EXPECT_TRUE(reader.hasChanged());
    EXPECT_EQ(reader.next(), 3) << "values in between may be missed";
    ErrorCode error;
    EXPECT_EQ(reader.nextUntil(soon(), error), std::nullopt);
    EXPECT_EQ(error, timedOut());
    reader.markUnseen();
    EXPECT_EQ(reader.next(error), 3);
    EXPECT_FALSE(error);
    watch.send(4);
    EXPECT_EQ(reader.get(), 4);
    EXPECT_FALSE(reader.hasChanged());
}

TEST(Watch, EveryReaderThatWaitsIsWoken) {
    CarrierGroup group(carriers(2));
    Watch<std::shared_ptr<const std::string>> watch(nullptr);
    std::vector<JoinHandle<std::string>> readers;
    for (std::size_t i = 0; i < 4; ++i) {
        readers.push_back(group.carrier(i % 2).spawn([&] {
            WatchReader reader(watch);
            return **reader.next();
        }));
    }
    awaitWaiters(watch, 4);
    watch.send(std::make_shared<const std::string>("new"));
    for (auto& reader : readers) EXPECT_EQ(reader.join(), "new");
    EXPECT_EQ(watch.waiters(), 0u);
}

TEST(Watch, AModificationThatFailsOrChangesNothingWakesNoReader) {
    Watch<int> watch(1);
    WatchReader reader(watch);
    EXPECT_TRUE(watch.modifyIf([](int& value) {
        ++value;
        return false;
    }));
    EXPECT_THROW(watch.modify([](int&) { throw std::runtime_error("change"); }), std::runtime_error);
    EXPECT_FALSE(reader.hasChanged());
    EXPECT_TRUE(watch.modify([](int& value) { value += 5; }));
    EXPECT_EQ(reader.next(), 7);
}

TEST(Watch, AfterCloseAReaderGetsTheValueItHasNotSeenAndThenNone) {
    CarrierGroup group(carriers(1));
    Watch<int> watch(1);
    WatchReader late(watch);
    watch.send(2);
    auto waiting = group.spawn([&] {
        WatchReader reader(watch);
        return reader.next();
    });
    awaitWaiters(watch, 1);
    EXPECT_TRUE(watch.close());
    EXPECT_FALSE(watch.close());
    EXPECT_TRUE(watch.isClosed());
    EXPECT_EQ(waiting.join(), std::nullopt);
    EXPECT_FALSE(watch.send(3));
    EXPECT_EQ(late.next(), 2);
    EXPECT_EQ(late.next(), std::nullopt);
}

TEST(Watch, ACancelledReaderLeaves) {
    CarrierGroup group(carriers(1));
    Watch<int> watch(1);
    auto reader = group.spawn([&] {
        WatchReader own(watch);
        static_cast<void>(own.next());
    });
    awaitWaiters(watch, 1);
    reader.cancel();
    EXPECT_EQ(outcome([&] { reader.join(); }), operationAborted());
    EXPECT_EQ(watch.waiters(), 0u);
}

TEST(Watch, WhereNothingMayBlockOnlyANewValueIsReturned) {
    CarrierGroup group(carriers(1));
    group
        .spawn([&] {
            Watch<int> watch(1);
            WatchReader reader(watch);
            const NonSuspendingScope scope;
            EXPECT_THROW(static_cast<void>(reader.next()), BlockingOperationException);
            watch.send(2);
            EXPECT_EQ(reader.next(), 2);
        })
        .join();
}

TEST(Watch, SelectWaitsForAChange) {
    CarrierGroup group(carriers(1));
    Watch<int> watch(1);
    auto selecting = group.spawn([&] {
        WatchReader reader(watch);
        int got = 0;
        const auto take = [&](std::optional<int> value) { got = value.value_or(-1); };
        EXPECT_EQ(select(onChange(reader, take), onDeadline(late(), [] {})), 0u);
        EXPECT_EQ(got, 2);
        watch.send(3);
        EXPECT_EQ(select(onDeadline(late(), [] {}), onChange(reader, take)), 1u);
        EXPECT_EQ(got, 3);
        watch.close();
        EXPECT_EQ(select(onChange(reader, take)), 0u);
        EXPECT_EQ(got, -1);
    });
    awaitWaiters(watch, 1);
    watch.send(2);
    selecting.join();
}

struct UsesItsWatch;
using Watched = std::shared_ptr<const UsesItsWatch>;
struct UsesItsWatch {
    explicit UsesItsWatch(Watch<Watched>& watch) : watch(watch) {}
    ~UsesItsWatch() { EXPECT_FALSE(watch.isClosed()); }
    Watch<Watched>& watch;
};
TEST(Watch, AValueThatIsReplacedIsDestroyedWithoutTheLock) {
    Watch<Watched> watch(nullptr);
    watch.send(std::make_shared<const UsesItsWatch>(watch));
    watch.send(nullptr);
}

TEST(Watch, AModificationMayNotWait) {
    CarrierGroup group(carriers(1));
    Watch<int> watch(1);
    group
        .spawn([&] {
            EXPECT_THROW(watch.modify([](int&) { thisFiber::yield(); }), BlockingOperationException);
            EXPECT_THROW(watch.modifyIf([](int&) { return thisFiber::yield(), true; }), BlockingOperationException);
        })
        .join();
}

}  // namespace
}  // namespace weft::sync
