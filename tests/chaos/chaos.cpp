#include "chaos/chaos.hpp"

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string_view>

#include <gtest/gtest.h>

#include <weft/scheduler/log.hpp>

#include "chaos/sub_role.hpp"
#include "support/number_flags.hpp"

namespace weft::test {

namespace {

double wantedSeed = 0;
double wantedSeconds = 3;
double wantedMinutes = 0;
std::atomic<bool> somethingIsWrong{false};

double cpuSeconds() {
    timespec used{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) / 1e9;
}

double secondsOfATest() {
    const double all = wantedMinutes > 0 ? wantedMinutes * 60 : wantedSeconds;
    return all / testing::UnitTest::GetInstance()->test_to_run_count();
}

// Chaos causes thousands of warnings and errors; WEFT_CHAOS_LOG=1 prints them.
void quiet(LogLevel level, std::string_view line) noexcept {
    static const bool wanted = std::getenv("WEFT_CHAOS_LOG") != nullptr;
    if (wanted && level >= LogLevel::warning)
        std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
}

}  // namespace

std::uint64_t chaosSeed() {
    static const std::uint64_t chosen =
        wantedSeed > 0 ? static_cast<std::uint64_t>(wantedSeed) : std::random_device{}();
    return chosen;
}

void wrong(const std::string& what) {
    if (somethingIsWrong.exchange(true)) return;  // what follows is a consequence
    ADD_FAILURE() << what << "\nseed " << chaosSeed();
}

bool anythingWrong() noexcept {
    return somethingIsWrong.load(std::memory_order_relaxed);
}

ChaosRun::ChaosRun(std::string what) : what_(std::move(what)), began_(cpuSeconds()), end_(began_ + secondsOfATest()) {}

ChaosRun::~ChaosRun() {
    std::printf("%llu %s in %.1f CPU seconds, seed %llu\n", static_cast<unsigned long long>(done_.load()),
                what_.c_str(), cpuSeconds() - began_, static_cast<unsigned long long>(chaosSeed()));
}

bool ChaosRun::goesOn() const noexcept {
    return cpuSeconds() < end_ && !anythingWrong();
}

}  // namespace weft::test

int main(int argc, char** argv) {
    using namespace weft::test;
    if (argc > 1 && subRole(argv[1]) != nullptr) return subRole(argv[1])(argc - 2, argv + 2);
    testing::InitGoogleTest(&argc, argv);
    readFlags(argc, argv, {{"--seed", &wantedSeed}, {"--seconds", &wantedSeconds}, {"--cpu-minutes", &wantedMinutes}});
    std::printf("seed %llu\n", static_cast<unsigned long long>(chaosSeed()));
    weft::setLogSink(quiet);
    return RUN_ALL_TESTS();
}
