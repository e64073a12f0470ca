// FibersOnSignal: each signal writes the fiber dump to a file; a failed write is logged.
#include <weft/framework/fibers_on_signal.hpp>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

#include <weft/framework/trace_on_signal.hpp>
#include <weft/scheduler/future.hpp>

#include "support/log_capture.hpp"

namespace weft::test {
namespace {

constexpr const char* unusedDump = "/nowhere/unused.txt";

CarrierOptions oneCarrierToDump() {
    CarrierOptions options;
    options.carriers = 1;
    return options;
}

// Creates the descriptor that stays open for the process's life, so that no test counts it as a leak.
[[maybe_unused]] const bool theSignalWasTaken = [] {
    CarrierGroup group(oneCarrierToDump());
    const FibersOnSignal dump(group, unusedDump);
    return true;
}();

std::string contentOf(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

TEST(FibersOnSignalTest, EachSignalWritesTheDump) {
    const std::string path =
        (std::filesystem::temp_directory_path() / ("weft-fibers-" + std::to_string(::getpid()))).string();
    LogCapture log;
    CarrierGroup group(oneCarrierToDump());
    const FibersOnSignal dump(group, path);
    Promise<void> promise;
    auto fiber = group.spawn([&] { promise.future().await(); }, {.name = "listed"});
    for (int i = 1; i <= 2; ++i) {
        ASSERT_EQ(::kill(::getpid(), SIGUSR2), 0);
        while (log.count("fiber dump written to " + path) < i) std::this_thread::yield();
        const std::string text = contentOf(path);
        EXPECT_NE(text.find(" 'listed' of weft0: "), std::string::npos) << text;
        EXPECT_NE(text.find("total: 1 fibers on 1 carriers: "), std::string::npos) << text;
        std::filesystem::remove(path);
    }
    promise.setValue();
    fiber.join();
}

TEST(FibersOnSignalTest, AFileThatCannotBeWrittenIsLogged) {
    LogCapture log;
    CarrierGroup group(oneCarrierToDump());
    const FibersOnSignal dump(group, "/nowhere/fibers.txt");
    ASSERT_EQ(::kill(::getpid(), SIGUSR2), 0);
    EXPECT_TRUE(log.await("the fiber dump cannot be written to /nowhere/fibers.txt: No such file or directory"));
}

TEST(FibersOnSignalTest, ASecondObjectInAProcessIsRefused) {
    CarrierGroup group(oneCarrierToDump());
    {
        const FibersOnSignal dump(group, unusedDump);
        EXPECT_THROW(FibersOnSignal(group, unusedDump), std::logic_error);
    }
    EXPECT_NO_THROW(FibersOnSignal(group, unusedDump));
}

TEST(FibersOnSignalTest, ATraceOnSignalMayExistAtTheSameTime) {
    CarrierGroup group(oneCarrierToDump());
    const TraceOnSignal trace(group, unusedDump);
    EXPECT_NO_THROW(FibersOnSignal(group, unusedDump));
}

TEST(FibersOnSignalTest, ASignalThatCannotBeHandledIsRefused) {
    CarrierGroup group(oneCarrierToDump());
    EXPECT_THROW(FibersOnSignal(group, unusedDump, SIGKILL), std::invalid_argument);
    EXPECT_NO_THROW(FibersOnSignal(group, unusedDump));
}

}  // namespace
}  // namespace weft::test
