// Completion, ChildList and WaitList make their waiters runnable only after they have released their lock, because the
// waiters take that lock next. The waiter here runs the wake while it parks, so one thread is enough.
#include <weft/scheduler/detail/child_list.hpp>
#include <weft/scheduler/detail/completion.hpp>
#include <weft/scheduler/wait_list.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <stdexcept>

namespace weft {
namespace {

// Tells whether any mutex of this test is locked.
class WatchedMutex {
  public:
    void lock() noexcept { ++held; }
    void unlock() noexcept { --held; }
    static inline int held = 0;
};

struct Policy {
    template <class T>
    using Atomic = std::atomic<T>;
    using Mutex = WatchedMutex;
};

struct ScriptedWait {
    struct Key {
        detail::Claim claim() const noexcept { return detail::Claim::enqueue; }
        void enqueue() const noexcept {
            ++enqueued;
            EXPECT_EQ(WatchedMutex::held, 0) << "the waiter would run into the lock of the one who wakes it";
        }
    };

    explicit ScriptedWait(const char*) {}
    Key key() const noexcept { return {}; }
    WakeReason park(Deadline) {
        whileParked();
        return WakeReason::resource;
    }
    WakeReason parkUninterruptibly() { return park(never); }

    static inline std::function<void()> whileParked;
    static inline int enqueued = 0;
};

using Waiters = BasicWaitList<ScriptedWait>;
enum class Status : unsigned char { open, done };
struct Listener {
    explicit operator bool() const noexcept { return false; }
    void reset() noexcept {}
};

void expectOneWakeWithoutTheLock(const std::function<void()>& wait, std::function<void()> wake) {
    ScriptedWait::enqueued = 0;
    ScriptedWait::whileParked = std::move(wake);
    wait();
    EXPECT_EQ(ScriptedWait::enqueued, 1);
    EXPECT_EQ(WatchedMutex::held, 0);
}

TEST(Completion, WakesItsWaitersAfterItHasLetGoOfItsLock) {
    detail::BasicCompletion<Policy, Status::done, Listener, Waiters> completion;
    const auto mayEnd = [](Status) { return true; };
    const auto hand = [](auto&) { FAIL() << "nobody listens"; };
    const auto wait = [&] { EXPECT_FALSE(completion.wait(never, "the test")); };
    const auto end = [&] {
        const detail::EndDuty duty = completion.end(
            Status::done, mayEnd, [] {}, hand);
        EXPECT_EQ(duty, detail::EndDuty::none);
    };
    expectOneWakeWithoutTheLock(wait, end);
}

TEST(ChildList, WakesItsWaiterAfterItHasLetGoOfItsLock) {
    struct Child {
        Child* previousSibling = nullptr;
        Child* nextSibling = nullptr;
        Child* nextCancelled = nullptr;
    };
    Child child;
    detail::BasicChildList<Policy, Child, Waiters> list;
    EXPECT_FALSE(list.add(child));
    expectOneWakeWithoutTheLock([&] { list.waitUninterruptibly("the test"); }, [&] { list.remove(child); });
}

TEST(WaitList, AChangeIsMadeUnderTheLockAndItsWaitersAreWokenAfterIt) {
    WatchedMutex mutex;
    Waiters waiters;
    bool changed = false;
    const auto change = [&] {
        EXPECT_EQ(WatchedMutex::held, 1);
        changed = true;
    };
    expectOneWakeWithoutTheLock(
        [&] { EXPECT_FALSE(waiters.waitUntil(mutex, never, "the test", [&] { return changed; })); },
        [&] { waiters.changeAndWakeAll(mutex, change); });
}

TEST(WaitList, AChangeThatThrowsWakesNoWaiterAndReleasesTheMutex) {
    WatchedMutex mutex;
    Waiters waiters;
    ScriptedWait::enqueued = 0;
    EXPECT_THROW(waiters.changeAndWakeAll(mutex, [] { throw std::runtime_error("no"); }), std::runtime_error);
    EXPECT_EQ(ScriptedWait::enqueued, 0);
    EXPECT_EQ(WatchedMutex::held, 0);
}

}  // namespace
}  // namespace weft
