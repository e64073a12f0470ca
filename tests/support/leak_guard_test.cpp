#include <weft/testing/leak_guard.hpp>

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include <limits.h>
#include <unistd.h>

namespace weft::test {
namespace {

std::int64_t liveBuffers = 0;

// A fixture that the test constructs and destroys itself, to inspect its report.
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
    std::thread thread{[] {}};  // created after the first scan and joined before the second
};

TEST_F(GuardedSuite, AcceptsATestThatTidiesUpAfterItself) {
    for (int i = 0; i < 50; ++i) std::thread([] {}).join();
    ::close(::dup(STDOUT_FILENO));
}

constexpr const char* untidiness = "WEFT_TEST_LEAVES";  // "open": leaves a descriptor open; "kept": the same, excused

// Has no fixture: only the guard of the whole program can notice it.
TEST(Untidy, LeavesWhatItIsAskedFor) {
    const char* wanted = std::getenv(untidiness);
    if (wanted == nullptr) return;
    if (std::string_view(wanted) == "kept") LeakGuard::keeps();
    ASSERT_GE(::dup(STDOUT_FILENO), 0);
}

struct Ended {
    bool passed;
    std::string output;
};

// Runs the untidy test in another process of this program, of whose tests this one may run only a part.
Ended runUntidy(const char* what) {
    char program[PATH_MAX] = {};
    EXPECT_GT(::readlink("/proc/self/exe", program, sizeof program - 1), 0);
    const std::string command = "env -u GTEST_TOTAL_SHARDS -u GTEST_SHARD_INDEX " + std::string(untidiness) + "=" +
                                what + " '" + program + "' --gtest_filter='Untidy.*' 2>&1";
    Ended ended{false, {}};
    FILE* pipe = ::popen(command.c_str(), "r");
    if (pipe == nullptr) return ended;
    for (int byte = std::fgetc(pipe); byte != EOF; byte = std::fgetc(pipe)) ended.output += static_cast<char>(byte);
    ended.passed = ::pclose(pipe) == 0;
    return ended;
}

TEST(LeakGuard, GuardsEveryTestOfTheProgramWhateverItsFixture) {
    const Ended untidy = runUntidy("open");
    EXPECT_FALSE(untidy.passed);
    EXPECT_NE(untidy.output.find("left open: fd "), std::string::npos) << untidy.output;
}

TEST(LeakGuard, ExcusesATestThatMakesWhatLivesAsLongAsTheProcess) {
    const Ended excused = runUntidy("kept");
    EXPECT_TRUE(excused.passed) << excused.output;
}

}  // namespace
}  // namespace weft::test
