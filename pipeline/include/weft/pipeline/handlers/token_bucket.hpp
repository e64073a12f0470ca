// TokenBucket: how many bytes per second may pass, over one connection or over all that share it.
#pragma once

#include <atomic>
#include <cstdint>

#include <weft/scheduler/deadline.hpp>

namespace weft {

// Holds up to `burst` tokens, one per byte, and gets `bytesPerSecond` of them back each second. Something may pass
// while it holds any, however large it is: what it lacks then is waited for afterwards, so the rate holds on the
// average. Context: any thread; `now` comes from one clock. Never blocks, allocates or throws.
class TokenBucket {
  public:
    static constexpr std::uint64_t defaultBurst = 64 * 1024;
    static constexpr std::uint64_t mostBytesPerSecond = 1'000'000'000'000;

    // `bytesPerSecond` and `burst`: 1 to 10^12; throws std::invalid_argument otherwise.
    explicit TokenBucket(std::uint64_t bytesPerSecond, std::uint64_t burst = defaultBurst);

    // How long until something may pass; 0: now.
    Duration delay(TimePoint now) const noexcept;
    // `bytes` have passed.
    void take(std::uint64_t bytes, TimePoint now) noexcept;

    std::uint64_t bytesPerSecond() const noexcept { return bytesPerSecond_; }

  private:
    std::int64_t costOf(std::uint64_t bytes) const noexcept;

    const std::uint64_t bytesPerSecond_;
    const std::int64_t burst_;  // ns in which an empty bucket becomes full
    // When the bucket will be full, in ns of the clock. Written by everyone who shares it. relaxed: the number is all
    // that it says, and a reader that sees an old one lets something pass a little early.
    std::atomic<std::int64_t> fullAt_;
};

}  // namespace weft
