// LehmerGenerator: pseudorandom numbers for choices that need no quality: orders, victims. Owned by one thread.
#pragma once

#include <cstdint>

namespace weft::detail {

// The numbers of std::minstd_rand, from 1 to 2^31 - 2, in its order. <random> has 17,500 preprocessed lines, which
// every user of a public header would compile. Source: S. K. Park, K. W. Miller, P. K. Stockmeyer, CACM 36 (7), 1993.
class LehmerGenerator {
  public:
    // Any seed; those that differ by a multiple of 2^31 - 1 give the same numbers.
    explicit LehmerGenerator(std::uint64_t seed) noexcept : state_(seed % modulus == 0 ? 1 : seed % modulus) {}

    std::uint32_t operator()() noexcept {
        state_ = state_ * 48'271 % modulus;
        return static_cast<std::uint32_t>(state_);
    }

  private:
    static constexpr std::uint64_t modulus = 2'147'483'647;

    std::uint64_t state_;
};

}  // namespace weft::detail
