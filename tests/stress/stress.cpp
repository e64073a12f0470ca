#include "stress/stress.hpp"

#include <algorithm>
#include <cstdio>
#include <random>

#include <gtest/gtest.h>

#include "support/number_flags.hpp"
#include "support/sanitized.hpp"

namespace weft::stress {

namespace {

#ifdef WEFT_SANITIZED
double wantedRounds = 20'000;
#else
double wantedRounds = 200'000;
#endif
double wantedSeed = 0;

}  // namespace

std::uint64_t rounds(double share) {
    return static_cast<std::uint64_t>(std::max(1.0, wantedRounds * share));
}

std::uint32_t seed() {
    const std::uint32_t chosen = wantedSeed != 0 ? static_cast<std::uint32_t>(wantedSeed) : std::random_device{}();
    testing::Test::RecordProperty("seed", std::to_string(chosen));
    std::printf("seed %u\n", chosen);
    return chosen;
}

}  // namespace weft::stress

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    weft::test::readFlags(argc, argv,
                          {{"--rounds", &weft::stress::wantedRounds}, {"--seed", &weft::stress::wantedSeed}});
    return RUN_ALL_TESTS();
}
