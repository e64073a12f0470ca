#include "support/leak_guard.hpp"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include <unistd.h>

namespace weft::test {
namespace {

std::size_t liveBuffers = 0;

// A fixture made and destroyed by hand, so that what it reports can be looked at.
struct Guarded : LeakGuard {
    void TestBody() override {}
};

// EXPECT_NONFATAL_FAILURE needs a statement that touches no local variable.
void leaveADescriptorOpen() {
    int fd = -1;
    {
        Guarded guarded;
        fd = ::dup(STDOUT_FILENO);
    }
    ::close(fd);
}

void closeADescriptorOfAnother() {
    const int fd = ::dup(STDOUT_FILENO);
    Guarded guarded;
    ::close(fd);
}

void leaveAThreadRunning() {
    std::mutex mutex;
    std::condition_variable changed;
    bool done = false;
    std::thread thread;
    {
        Guarded guarded;
        thread = std::thread([&] {
            std::unique_lock lock(mutex);
            changed.wait(lock, [&] { return done; });
        });
    }
    {
        std::lock_guard lock(mutex);
        done = true;
    }
    changed.notify_one();
    thread.join();
}

void keepABuffer() {
    LeakGuard::watch("buffers", [] { return liveBuffers; });
    {
        Guarded guarded;
        ++liveBuffers;
    }
    LeakGuard::unwatch("buffers");
}

TEST(LeakGuard, ReportsADescriptorThatWasLeftOpen) {
    EXPECT_NONFATAL_FAILURE(leaveADescriptorOpen(), "left open: fd ");
}

TEST(LeakGuard, ReportsADescriptorThatTheTestDidNotOwnButClosed) {
    EXPECT_NONFATAL_FAILURE(closeADescriptorOfAnother(), "closed: fd ");
}

TEST(LeakGuard, ReportsAThreadThatWasNotJoined) {
    EXPECT_NONFATAL_FAILURE(leaveAThreadRunning(), "still running: thread ");
}

TEST(LeakGuard, ReportsAWatchedCounterThatChanged) {
    liveBuffers = 2;
    EXPECT_NONFATAL_FAILURE(keepABuffer(), "buffers: 2 before, 3 after");
}

struct GuardedSuite : LeakGuard {
    ~GuardedSuite() override { thread.join(); }
    std::thread thread{[] {}};  // made after the first look and joined before the second
};

TEST_F(GuardedSuite, AcceptsATestThatTidiesUpAfterItself) {
    for (int i = 0; i < 50; ++i) std::thread([] {}).join();
    ::close(::dup(STDOUT_FILENO));
}

const bool guarded = LeakGuard::guardEveryTest();

TEST(LeakGuard, GuardsEveryTestOnceAsked) {
    EXPECT_TRUE(guarded);
    EXPECT_TRUE(LeakGuard::guardEveryTest());
}

}  // namespace
}  // namespace weft::test
