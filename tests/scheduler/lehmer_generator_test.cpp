// LehmerGenerator: a seed of CarrierOptions::shuffleSeed gives the same order in every version.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>

#include <weft/scheduler/detail/lehmer_generator.hpp>

namespace weft::detail {
namespace {

TEST(LehmerGenerator, DrawsTheNumbersOfTheStandardsGeneratorForEverySeed) {
    constexpr std::uint64_t modulus = std::minstd_rand::modulus;
    for (const std::uint64_t seed :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{17}, modulus - 1, modulus, modulus + 1, 2 * modulus,
          std::uint64_t{4'294'967'295}, std::numeric_limits<std::uint64_t>::max()}) {
        std::minstd_rand expected(seed);
        LehmerGenerator random(seed);
        for (int draw = 0; draw < 1000; ++draw) ASSERT_EQ(random(), expected()) << "seed " << seed << ", draw " << draw;
    }
}

}  // namespace
}  // namespace weft::detail
