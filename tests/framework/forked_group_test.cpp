// An event loop group in a forked process: its loops do not exist there, so nothing waits for their end.
#include <weft/framework/event_loop_group.hpp>

#include <chrono>
#include <cstdlib>

#include "framework/bench.hpp"
#include "support/sanitized.hpp"

#include <sys/wait.h>
#include <unistd.h>

namespace weft::test {
namespace {

using namespace std::chrono_literals;

// The exit status of a forked process that runs `child` and then exit(status).
template <class Child>
int statusOf(int status, Child child) {
    const pid_t forked = ::fork();
    if (forked == 0) {
        child();
        std::exit(status);
    }
    int result = 0;
    return ::waitpid(forked, &result, 0) == forked && WIFEXITED(result) ? WEXITSTATUS(result) : -1;
}

// In a forked process, the leak sanitizer does not see memory that only the missing threads reference, such as the
// buffers of a ring, which exist from the ring's start.
EventLoopGroupOptions twoLoops() {
    EventLoopGroupOptions options = groupOptions(2);
#if defined(WEFT_SANITIZED_ADDRESS)
    options.transport = Transport::Kind::epoll;
#endif
    return options;
}

TEST(ForkedGroupDeathTest, AStaticGroupDoesNotHoldUpTheExitOfAForkedProcess) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            static EventLoopGroup group(twoLoops());
            ::_exit(statusOf(3, [] {}));
        },
        testing::ExitedWithCode(3), "has no threads in this forked process");
}

TEST(ForkedGroupDeathTest, DrainAndShutdownReturnInAForkedProcess) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            EventLoopGroup group(twoLoops());
            ::_exit(statusOf(4, [&] {
                if (group.drain(1h) != 0 || !group.shutdown(1h)) ::_exit(1);
                group.shutdownGracefully(0s, 1h).await();
            }));
        },
        testing::ExitedWithCode(4), "in a forked process");
}

}  // namespace
}  // namespace weft::test
