// A log whose reader stalls delays nobody: what waits is bounded, and what is dropped is counted.
#include <weft/scheduler/detail/log_output.hpp>

#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <weft/scheduler/log.hpp>

#include <fcntl.h>
#include <unistd.h>

namespace weft::detail {
namespace {

constexpr int many = 10'000;

// Outputs are never destroyed: their thread may be about to end.
LogOutput& outputOf(int fd, std::size_t limit) {
    static auto* const all = new std::vector<std::unique_ptr<LogOutput>>;
    all->push_back(std::make_unique<LogOutput>(fd, limit));
    return *all->back();
}

struct Pipe {
    Pipe() {
        EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
        EXPECT_GE(::fcntl(ends[1], F_SETPIPE_SZ, 4096), 4096);
    }
    ~Pipe() {
        for (const int end : ends) ::close(end);
    }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;
    // Reads until the text ends with `last`.
    std::string readUntil(std::string_view last) const {
        std::string text;
        while (!text.ends_with(last)) {
            char some[4096];
            const ssize_t count = ::read(ends[0], some, sizeof some);
            if (count <= 0) break;
            text.append(some, static_cast<std::size_t>(count));
        }
        return text;
    }
    int ends[2];
};

std::string lineOf(int number) {
    return "line " + std::to_string(number) + " of a log whose reader has stalled\n";
}

TEST(LogOutput, AStalledReaderDelaysNoLineAndLearnsHowManyWereDropped) {
    const Pipe pipe;
    LogOutput& output = outputOf(pipe.ends[1], 64 * 1024);
    for (int i = 0; i < many; ++i) output.write(lineOf(i));
    const auto dropped = static_cast<int>(output.dropped());
    const int kept = many - dropped;
    EXPECT_GT(dropped, 0);
    EXPECT_GT(kept, 0);
    EXPECT_FALSE(output.flush(Duration(0)));
    std::string expected;
    for (int i = 0; i < kept; ++i) expected += lineOf(i);
    EXPECT_EQ(pipe.readUntil(lineOf(kept - 1)), expected);
    EXPECT_TRUE(output.flush(std::chrono::minutes(1)));
    output.write("last\n");
    EXPECT_EQ(pipe.readUntil("last\n"),
              std::to_string(dropped) + " log lines were dropped: their reader has stalled\nlast\n");
    EXPECT_EQ(output.dropped(), 0u);
}

TEST(LogOutput, WritesAtOnceWhatTheReaderTakes) {
    const Pipe pipe;
    LogOutput& output = outputOf(pipe.ends[1], 0);  // nothing may wait
    for (int i = 0; i < 100; ++i) {
        output.write(lineOf(i));
        EXPECT_EQ(pipe.readUntil("\n"), lineOf(i));
    }
    EXPECT_EQ(output.dropped(), 0u);
}

TEST(LogOutputDeathTest, AStalledReaderOfStderrDelaysNeitherTheDefaultSinkNorTheExitForEver) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            const Pipe pipe;
            ::dup2(pipe.ends[1], STDERR_FILENO);
            for (int i = 0; i < many; ++i) log(LogLevel::warning, std::string(1'500, 'x'));
            std::exit(0);
        },
        testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace weft::detail
