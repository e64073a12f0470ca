#include <weft/scheduler/log.hpp>

#include <string>

#include <gtest/gtest.h>

namespace weft {
namespace {

std::string seen;

// What the sink gets for this message.
std::string logged(std::string_view message) {
    setLogSink([](LogLevel, std::string_view line) noexcept { seen = line; });
    log(LogLevel::info, message);
    setLogSink(nullptr);
    return seen;
}

TEST(Log, AMessageThatQuotesLineEndsIsStillOneLine) {
    EXPECT_EQ(logged("'a\r\nweft: error: forged' is no URL"), "'a\\x0d\\x0aweft: error: forged' is no URL");
    EXPECT_EQ(logged(std::string_view("\x1b[2J\0\x7f\t", 7)), "\\x1b[2J\\x00\\x7f\\x09");
    setLogSink([](LogLevel, std::string_view line) noexcept { seen = line; });
    log(LogLevel::info, {"a\n", "b"});
    setLogSink(nullptr);
    EXPECT_EQ(seen, "a\\x0ab");
}

TEST(Log, OtherBytesPassAndAreNotCutOff) {
    const std::string text = "\xC3\xA4 \\x0a " + std::string(3 * longestLogLine, 'x');
    EXPECT_EQ(logged(text), text);
    EXPECT_EQ(logged(""), "");
}

TEST(Log, AMessageThatIsCutOffEndsWithAWholeEscape) {
    const std::string long1 = logged(std::string(longestLogLine - 2, 'x') + "\n");
    EXPECT_EQ(long1, std::string(longestLogLine - 2, 'x'));
    EXPECT_EQ(logged(std::string(2 * longestLogLine, '\n')).size(), longestLogLine);
}

}  // namespace
}  // namespace weft
