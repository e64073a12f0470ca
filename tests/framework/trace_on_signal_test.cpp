// TraceOnSignal: each signal writes the trace to a file; a failed write is logged.
#include <weft/framework/trace_on_signal.hpp>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

#include "support/log_capture.hpp"

namespace weft::test {
namespace {

constexpr const char* unused = "/nowhere/unused.json";

CarrierOptions recording() {
    CarrierOptions options;
    options.carriers = 1;
    options.traceEvents = 64;
    return options;
}

// Creates the descriptor that stays open for the process's life, so that no test counts it as a leak.
[[maybe_unused]] const bool aSignalWasTaken = [] {
    CarrierGroup group(recording());
    const TraceOnSignal trace(group, unused);
    return true;
}();

class Directory {
  public:
    Directory() : path_(std::filesystem::temp_directory_path() / ("weft-trace-" + std::to_string(::getpid()))) {
        std::filesystem::create_directory(path_);
    }
    ~Directory() { std::filesystem::remove_all(path_); }
    std::string file(const char* name) const { return (path_ / name).string(); }

  private:
    const std::filesystem::path path_;
};

TEST(TraceOnSignalTest, EachSignalWritesTheTrace) {
    const Directory directory;
    LogCapture log;
    CarrierGroup group(recording());
    const std::string path = directory.file("trace.json");
    const TraceOnSignal trace(group, path);
    group.carrier(0).spawn([] {}).join();
    for (int i = 1; i <= 2; ++i) {
        std::filesystem::remove(path);
        ASSERT_EQ(::kill(::getpid(), SIGUSR1), 0);
        while (log.count("trace written to " + path) < i) std::this_thread::yield();
        std::ifstream file(path);
        std::string first;
        std::getline(file, first);
        EXPECT_EQ(first, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
        EXPECT_FALSE(std::filesystem::exists(path + ".part"));
    }
}

TEST(TraceOnSignalTest, AFileThatCannotBeWrittenIsLogged) {
    LogCapture log;
    CarrierGroup group(recording());
    const TraceOnSignal trace(group, "/nowhere/trace.json");
    ASSERT_EQ(::kill(::getpid(), SIGUSR1), 0);
    EXPECT_TRUE(log.await("the trace cannot be written to /nowhere/trace.json: No such file or directory"));
}

TEST(TraceOnSignalTest, ASecondObjectInAProcessIsRefused) {
    CarrierGroup group(recording());
    {
        const TraceOnSignal trace(group, unused);
        EXPECT_THROW(TraceOnSignal(group, unused), std::logic_error);
    }
    EXPECT_NO_THROW(TraceOnSignal(group, unused));
}

TEST(TraceOnSignalTest, ASignalThatCannotBeHandledIsRefused) {
    CarrierGroup group(recording());
    EXPECT_THROW(TraceOnSignal(group, unused, SIGKILL), std::invalid_argument);
    EXPECT_THROW(TraceOnSignal(group, unused, 1000), std::invalid_argument);
    EXPECT_NO_THROW(TraceOnSignal(group, unused, SIGUSR2));
}

TEST(TraceOnSignalTest, TheFormerHandlerComesBack) {
    struct sigaction ignore = {}, before = {}, after = {};
    ignore.sa_handler = SIG_IGN;
    ::sigaction(SIGUSR2, &ignore, &before);
    CarrierGroup group(recording());
    { const TraceOnSignal trace(group, unused, SIGUSR2); }
    ::sigaction(SIGUSR2, &before, &after);
    EXPECT_EQ(after.sa_handler, SIG_IGN);
}

}  // namespace
}  // namespace weft::test
