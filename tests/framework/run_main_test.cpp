// runMain(): the status of a body and the line for each way in which it fails.
#include <weft/framework/run_main.hpp>

#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include <weft/scheduler/errors.hpp>

namespace weft::test {
namespace {

struct Outcome {
    int status;
    std::string line;
};

template <class Body>
Outcome outcomeOf(Body body, const char* program = "/usr/bin/shop") {
    const char* const arguments[] = {program, "--flag", nullptr};
    ::testing::internal::CaptureStderr();
    const int status = runMain(2, arguments, body);
    return {status, ::testing::internal::GetCapturedStderr()};
}

int four() {
    return 4;
}

TEST(RunMain, ReturnsWhatTheBodyReturns) {
    EXPECT_EQ(outcomeOf([] { return 7; }).status, 7);
    const Outcome quiet = outcomeOf([] {});
    EXPECT_EQ(quiet.status, 0);
    EXPECT_EQ(quiet.line, "");
    int calls = 0;
    auto body = [&calls] { return ++calls; };
    EXPECT_EQ(outcomeOf(std::ref(body)).status, 1);
    const char* const arguments[] = {"shop", nullptr};
    const auto constant = [] { return 3; };
    EXPECT_EQ(runMain(1, arguments, constant), 3);
    EXPECT_EQ(runMain(1, arguments, four), 4);
}

TEST(RunMain, AFailureIsOneLineWithTheProgramsName) {
    const Outcome failed = outcomeOf([] { throw std::runtime_error("no port\nis free"); });
    EXPECT_EQ(failed.status, 1);
    EXPECT_EQ(failed.line, "shop: no port is free\n");
    const Outcome wrong = outcomeOf([]() -> int { throw ConfigurationError("server.key: the file is empty"); });
    EXPECT_EQ(wrong.status, 2);
    EXPECT_EQ(wrong.line, "shop: server.key: the file is empty\n");
    const Outcome odd = outcomeOf([]() -> int { throw 7; }, "shop");
    EXPECT_EQ(odd.status, 1);
    EXPECT_EQ(odd.line, "shop: an exception that is not a std::exception\n");
}

TEST(RunMain, AProgramWithoutANameIsNamedNevertheless) {
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(runMain(0, nullptr, [] { throw std::runtime_error("x"); }), 1);
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "weft: x\n");
    EXPECT_EQ(outcomeOf([] { throw std::runtime_error("x"); }, "").line, "weft: x\n");
}

}  // namespace
}  // namespace weft::test
