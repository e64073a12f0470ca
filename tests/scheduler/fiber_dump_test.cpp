// FiberDump: what CarrierGroup::fibers() reports about fibers that wait, run, are stuck or have not started.
#include <weft/scheduler/fiber_dump.hpp>

#include <atomic>
#include <locale>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <weft/scheduler/blocking.hpp>
#include <weft/scheduler/non_suspending_scope.hpp>
#include <weft/scheduler/sync/mutex.hpp>
#include <weft/scheduler/sync/rw_lock.hpp>

#include "scheduler/spinner.hpp"
#include "scheduler/sync/fibers.hpp"
#include "support/sanitized.hpp"

namespace weft {
namespace {

using sync::carriers;
using Answer = CarrierFibers::Answer;

std::string textOf(const FiberDump& dump) {
    std::ostringstream out;
    dump.writeText(out);
    return out.str();
}
std::string jsonOf(const FiberDump& dump) {
    std::ostringstream out;
    dump.writeJson(out);
    return out.str();
}

const FiberInfo* named(const FiberDump& dump, std::string_view name) {
    for (const CarrierFibers& carrier : dump.carriers) {
        for (const FiberInfo& fiber : carrier.fibers) {
            if (fiber.name == name) return &fiber;
        }
    }
    return nullptr;
}

bool waits(const FiberDump& dump, std::string_view name) {
    const FiberInfo* const fiber = named(dump, name);
    return fiber != nullptr && fiber->state == FiberState::waiting;
}

// Dumps until these fibers wait.
template <class... Names>
FiberDump dumpOnceWaiting(CarrierGroup& group, Names... names) {
    for (;;) {
        FiberDump dump = group.fibers();
        if ((... && waits(dump, names))) return dump;
        std::this_thread::yield();
    }
}

void contains(const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is missing in:\n" << text;
}

TEST(FiberDumpTest, AWaitingFiberIsListedWithItsCallAndItsClosure) {
    CarrierGroup group(carriers(2));
    Promise<void> promise;
    auto fiber = group.carrier(1).spawn([&] { promise.future().await(); },
                                        {.name = "waiter \"1\"", .stealable = Stealable::never});
    const FiberDump dump = dumpOnceWaiting(group, "waiter \"1\"");
    const FiberInfo& info = *named(dump, "waiter \"1\"");
    EXPECT_EQ(info.home, 1u);
    EXPECT_EQ(info.ranOn, 1u);
    EXPECT_STREQ(info.call, "Future::await");
    EXPECT_GT(info.waited, Duration::zero());
    EXPECT_EQ(info.holder, 0u);
    EXPECT_FALSE(info.cancelled);
    EXPECT_EQ(dump.find(info.id), &info);
    EXPECT_EQ(dump.size(), 1u);
    contains(info.closureName(), "AWaitingFiberIsListedWithItsCallAndItsClosure");
    contains(textOf(dump), " 'waiter \"1\"' of weft1: waits ");
    contains(textOf(dump), " s in Future::await  [");
    contains(textOf(dump), "total: 1 fibers on 2 carriers: 1 waiting\n  1 in Future::await\n");
    contains(jsonOf(dump), R"("name":"waiter \"1\"","home":1,"ranOn":1,"state":"waiting","cancelled":false,)"
                           R"("call":"Future::await","waitedNs":)");
    promise.setValue();
    fiber.join();
    EXPECT_EQ(group.fibers().size(), 0u);
}

// After the cancellation, the fiber waits for the function's end in a second wait.
TEST(FiberDumpTest, ACancellationOfABlockingCallDoesNotRestartTheTimeOfItsWait) {
    CarrierGroup group(carriers(1));
    std::atomic<bool> released{false};
    auto fiber = group.spawn(
        [&] {
            blocking([&] {
                while (!released) std::this_thread::yield();
            });
        },
        {.name = "caller"});
    while (!waits(group.fibers(), "caller") || group.blockingPool().queued() != 0) std::this_thread::yield();
    const TimePoint before = Clock::steady().now();
    // A time that is longer than a dump takes, so that a wait that begins after it shows.
    while (Clock::steady().now() - before < std::chrono::milliseconds(20)) std::this_thread::yield();
    fiber.cancel();
    group.spawn([] {}).join();  // the fiber has run since
    for (int i = 0; i < 20; ++i) {
        const TimePoint asked = Clock::steady().now();
        const FiberDump dump = dumpOnceWaiting(group, "caller");
        EXPECT_TRUE(named(dump, "caller")->cancelled);
        EXPECT_STREQ(named(dump, "caller")->call, "blocking");
        EXPECT_GE(named(dump, "caller")->waited, asked - before);
    }
    released = true;
    fiber.join();
}

TEST(FiberDumpTest, ACarrierThatIsStuckInOneTaskIsReported) {
    CarrierGroup group(carriers(2));
    Promise<void> promise;
    auto waiting = group.carrier(1).spawn([&] { promise.future().await(); }, {.name = "waiting"});
    dumpOnceWaiting(group, "waiting");
    {
        const test::Spinner spinner(group.carrier(0));
        FiberDump dump = group.fibers(std::chrono::milliseconds(1));
        EXPECT_EQ(dump.carriers[0].answer, Answer::none);
        EXPECT_EQ(dump.carriers[0].live, 1u);
        contains(textOf(dump), "carrier weft0 did not answer in time; its 1 fibers are not listed\n");
        contains(jsonOf(dump), R"({"name":"weft0","answer":"none","live":1,"fibers":[]})");
    }
    EXPECT_EQ(group.fibers(std::chrono::minutes(1)).carriers[0].answer, Answer::given);
    promise.setValue();
    waiting.join();
}

TEST(FiberDumpTest, AFiberDumpsItsOwnCarrier) {
    CarrierGroup group(carriers(1));
    const FiberDump dump = group.carrier(0).spawn([&] { return group.fibers(); }, {.name = "dumper"}).join();
    ASSERT_NE(named(dump, "dumper"), nullptr);
    EXPECT_EQ(named(dump, "dumper")->state, FiberState::waiting);
    EXPECT_EQ(dump.carriers[0].answer, Answer::given);
}

TEST(FiberDumpTest, FibersThatAreQueuedAreListed) {
    CarrierOptions options = carriers(1);
    options.yieldBudget = std::chrono::microseconds(1);
    CarrierGroup group(options);
    std::atomic<bool> ends{false};
    const auto yieldOften = [&] {
        while (!ends) thisFiber::yield();
    };
    auto fiber = group.carrier(0).spawn(yieldOften, {.name = "busy"});
    const FiberDump dump = [&] {
        for (;;) {
            FiberDump now = group.fibers(std::chrono::minutes(1));
            if (named(now, "busy")->state == FiberState::runnable) return now;
        }
    }();
    contains(textOf(dump), "'busy' of weft0: runnable  [");
    contains(jsonOf(dump), R"("state":"runnable","cancelled":false,"call":null,"waitedNs":0,"holder":null,)");
    ends = true;
    fiber.join();
}

TEST(FiberDumpTest, TwoThreadsDumpAtOnce) {
    CarrierGroup group(carriers(2));
    Promise<void> promise;
    std::vector<JoinHandle<void>> waiting;
    for (std::size_t i = 0; i < 10; ++i) {
        waiting.push_back(group.carrier(i % 2).spawn([&] { promise.future().await(); }));
    }
    const auto dumpOften = [&] {
        for (int i = 0; i < 100; ++i) EXPECT_EQ(group.fibers(std::chrono::minutes(1)).size(), 10u);
    };
    std::thread other(dumpOften);
    dumpOften();
    other.join();
    promise.setValue();
    for (auto& fiber : waiting) fiber.join();
}

TEST(FiberDumpTest, TenThousandFibersAreListed) {
    CarrierOptions options = carriers(2);
#ifdef WEFT_SANITIZED_THREAD  // knows 8128 threads and fibers; its reports need larger stacks
    constexpr std::size_t count = 1'000;
#else
    constexpr std::size_t count = 10'000;
    options.stackSize = 16 * 1024;
#endif
    CarrierGroup group(options);
    Promise<void> promise;
    std::vector<JoinHandle<void>> waiting;
    for (std::size_t i = 0; i < count; ++i) {
        waiting.push_back(group.carrier(i % 2).spawn([&] { promise.future().await(); }));
    }
    const FiberDump dump = group.fibers(std::chrono::minutes(1));
    EXPECT_EQ(dump.size(), count);
    EXPECT_EQ(dump.carriers[0].fibers.size(), count / 2);
    contains(textOf(dump), "total: " + std::to_string(count) + " fibers on 2 carriers: ");
    promise.setValue();
    for (auto& fiber : waiting) fiber.join();
}

TEST(FiberDumpTest, AGroupThatShutsDownStillAnswers) {
    CarrierGroup group(carriers(2));
    sync::Mutex mutex;
    mutex.lock();
    auto fiber = group.carrier(0).spawn(
        [&] {
            mutex.lockUninterruptibly();
            mutex.unlock();
        },
        {.name = "stubborn"});
    dumpOnceWaiting(group, "stubborn");
    group.beginShutdown();
    FiberDump dump = group.fibers(std::chrono::minutes(1));
    EXPECT_TRUE(waits(dump, "stubborn"));
    EXPECT_STREQ(named(dump, "stubborn")->call, "sync::Mutex::lockUninterruptibly");
    mutex.unlock();
    fiber.join();
    ASSERT_TRUE(group.shutdown(std::chrono::minutes(1)));
    dump = group.fibers();
    EXPECT_EQ(dump.carriers[0].answer, Answer::ended);
    EXPECT_EQ(dump.carriers[1].answer, Answer::ended);
    contains(textOf(dump), "total: 0 fibers on 2 carriers\n");
}

TEST(FiberDumpTest, AFiberOfACarrierThatShutsDownDoesNotWaitForADump) {
    CarrierGroup group(carriers(2));
    auto fiber = group.carrier(0).spawn(
        [&] {
            ErrorCode error;
            thisFiber::sleepUntil(never, error);
            // The other carrier does not answer, so only the shutdown can end the call.
            EXPECT_EQ(sync::outcome([&] { static_cast<void>(group.fibers(std::chrono::hours(24))); }),
                      operationAborted());
        },
        {.name = "sleeper", .stealable = Stealable::never});
    dumpOnceWaiting(group, "sleeper");
    const test::Spinner spinner(group.carrier(1));
    group.beginShutdown();
    fiber.join();
}

TEST(FiberDumpTest, NumbersInJsonFollowNoLocale) {
    struct Grouping final : std::numpunct<char> {
        char do_thousands_sep() const override { return ','; }
        std::string do_grouping() const override { return "\3"; }
    };
    FiberDump dump;
    CarrierFibers& carrier = dump.carriers.emplace_back();
    FiberInfo& fiber = carrier.fibers.emplace_back();
    fiber.id = 1'234'567;
    fiber.waited = std::chrono::hours(1);
    carrier.live = 1'000;
    std::ostringstream text;
    text.imbue(std::locale(std::locale::classic(), new Grouping));
    dump.writeJson(text);
    contains(text.str(), "\"id\":1234567,");
    contains(text.str(), "\"waitedNs\":3600000000000,");
    contains(text.str(), "\"live\":1000,");
}

std::string nameInJson(const std::string& name) {
    FiberDump dump;
    dump.carriers.emplace_back().fibers.emplace_back().name = name;
    const std::string json = jsonOf(dump);
    const std::string before = "\"id\":0,\"name\":\"";
    const std::size_t begin = json.find(before) + before.size();
    return json.substr(begin, json.find("\",\"home\"") - begin);
}

TEST(FiberDumpTest, NamesInJsonAreValidUtf8) {
    for (const char* valid : {"\x24", "\xc2\x80", "\xd0\xb7", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
                              "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
        EXPECT_EQ(nameInJson(valid), valid);
        EXPECT_EQ(nameInJson(std::string("a") + valid + "b"), std::string("a") + valid + "b");
    }
    const auto replaced = [](std::size_t times) {
        std::string text = "a";
        while (times-- != 0) text += "\xef\xbf\xbd";
        return text + "b";
    };
    for (const std::string invalid : {
             "\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xf5\x80\x80\x80", "\xff",  // bytes that start no character
             "\xc2", "\xe1\x80", "\xf1\x80\x80",                                  // the end is missing
             "\xe0\x9f\xbf", "\xf0\x8f\xbf\xbf",                                  // overlong forms
             "\xed\xa0\x80", "\xed\xbf\xbf",                                      // surrogates
             "\xf4\x90\x80\x80",                                                  // above U+10FFFF
         }) {
        EXPECT_EQ(nameInJson("a" + invalid + "b"), replaced(invalid.size())) << nameInJson(invalid);
    }
    EXPECT_EQ(nameInJson("a\xe1\x80"), "a\xef\xbf\xbd\xef\xbf\xbd");
    EXPECT_EQ(nameInJson("\n\x7f\"\\"), "\\u000a\\u007f\\\"\\\\");
}

TEST(FiberDumpTest, WhereNothingMayBlockTheCallIsRefused) {
    CarrierGroup group(carriers(1));
    const auto dumpInScope = [&] {
        const NonSuspendingScope scope;
        EXPECT_THROW(static_cast<void>(group.fibers()), BlockingOperationException);
    };
    group.spawn(dumpInScope).join();
}

#ifndef NDEBUG
TEST(FiberDumpTest, FibersThatDeadlockOnTwoMutexesNameTheirHolders) {
    CarrierGroup group(carriers(2));
    sync::Mutex first;
    sync::FairMutex second;
    Promise<void> firstHeld;
    Promise<void> secondHeld;
    const auto lockBoth = [&](auto& held, Promise<void>& isHeld, Promise<void>& otherIsHeld, auto& other) {
        const std::lock_guard guard(held);
        isHeld.setValue();
        otherIsHeld.future().await();
        ErrorCode error;
        other.lock(error);
        if (!error) other.unlock();
        return error;
    };
    auto a = group.carrier(0).spawn([&] { return lockBoth(first, firstHeld, secondHeld, second); }, {.name = "a"});
    auto b = group.carrier(1).spawn([&] { return lockBoth(second, secondHeld, firstHeld, first); }, {.name = "b"});
    sync::awaitWaiters(first, 1);
    sync::awaitWaiters(second, 1);
    const FiberDump dump = dumpOnceWaiting(group, "a", "b");
    const FiberInfo& infoA = *named(dump, "a");
    const FiberInfo& infoB = *named(dump, "b");
    EXPECT_EQ(infoA.holder, infoB.id);
    EXPECT_EQ(infoB.holder, infoA.id);
    contains(textOf(dump), " s in sync::Mutex::lock, held by fiber " + std::to_string(infoA.id) + " 'a'");
    contains(textOf(dump), " s in sync::FairMutex::lock, held by fiber " + std::to_string(infoB.id) + " 'b'");
    contains(jsonOf(dump), "\"holder\":" + std::to_string(infoA.id));
    a.cancel();
    EXPECT_EQ(a.join(), operationAborted());
    EXPECT_EQ(b.join(), ErrorCode());
}

TEST(FiberDumpTest, AFiberThatWaitsForAReadWriteLockNamesTheWriterButNoReaders) {
    CarrierGroup group(carriers(1));
    sync::RwLock lock;
    Promise<void> written;
    Promise<void> read;
    auto owner = group.spawn(
        [&] {
            lock.lock();
            written.future().await();
            lock.downgrade();
            read.future().await();
            lock.unlock_shared();
        },
        {.name = "owner"});
    while (!lock.isWriteLocked()) std::this_thread::yield();
    auto reader = group.spawn([&] { const std::shared_lock held(lock); }, {.name = "reader"});
    sync::awaitWaiters(lock, 1);
    auto writer = group.spawn([&] { const std::unique_lock held(lock); }, {.name = "writer"});
    sync::awaitWaiters(lock, 2);
    {
        const FiberDump dump = dumpOnceWaiting(group, "owner", "reader", "writer");
        EXPECT_EQ(named(dump, "reader")->holder, named(dump, "owner")->id);
        EXPECT_EQ(named(dump, "writer")->holder, named(dump, "owner")->id);
        contains(textOf(dump), " s in sync::RwLock::lock_shared, held by fiber ");
    }
    written.setValue();
    reader.join();
    {
        const FiberDump dump = dumpOnceWaiting(group, "owner", "writer");
        EXPECT_EQ(named(dump, "writer")->holder, 0u);
    }
    read.setValue();
    writer.join();
    owner.join();
    EXPECT_FALSE(lock.isWriteLocked());
}
#endif

TEST(FiberDumpTest, AThreadThatHoldsAMutexHasAnIdThatNoFiberHas) {
    CarrierGroup group(carriers(1));
    sync::Mutex mutex;
    mutex.lock();
    auto fiber = group.spawn([&] { const std::lock_guard held(mutex); }, {.name = "waiting"});
    const FiberDump dump = dumpOnceWaiting(group, "waiting");
    const FiberInfo& info = *named(dump, "waiting");
#ifdef NDEBUG
    EXPECT_EQ(info.holder, 0u);
#else
    EXPECT_NE(info.holder, 0u);
    EXPECT_EQ(dump.find(info.holder), nullptr);
    contains(textOf(dump), ", held by a thread or a fiber that is not listed (id ");
#endif
    mutex.unlock();
    fiber.join();
}

}  // namespace
}  // namespace weft
