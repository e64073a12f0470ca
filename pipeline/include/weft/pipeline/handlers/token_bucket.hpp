// TokenBucket: limits the bytes per second of one connection, or of all connections that share it.
#pragma once

#include <atomic>
#include <cstdint>

#include <weft/scheduler/clock.hpp>

namespace weft {

// Holds up to `burst` tokens, one per byte, and regains `bytesPerSecond` tokens per second. A message of any size may
// pass while there is at least one token. It may leave a debt, which delays the next one, so the rate holds on average.
// Context: any thread; `now` must always come from the same clock. Never blocks, allocates or throws, except the
// constructor.
class TokenBucket {
  public:
    static constexpr std::uint64_t defaultBurst = 64 * 1024;
    static constexpr std::uint64_t mostBytesPerSecond = 1'000'000'000'000;

    // `bytesPerSecond` and `burst`: 1 to 10^12; throws std::invalid_argument otherwise.
    explicit TokenBucket(std::uint64_t bytesPerSecond, std::uint64_t burst = defaultBurst);

    // How long until the next message may pass; 0: now.
    Duration delay(TimePoint now) const noexcept;
    // Takes the tokens for `bytes` bytes that pass now.
    void take(std::uint64_t bytes, TimePoint now) noexcept;

    std::uint64_t bytesPerSecond() const noexcept { return bytesPerSecond_; }

  private:
    std::int64_t costOf(std::uint64_t bytes) const noexcept;

    const std::uint64_t bytesPerSecond_;
    const std::int64_t burst_;  // ns in which an empty bucket becomes full
    // When the bucket will be full, in ns of the clock. Written by all who share the bucket. relaxed: it orders no
    // other data, and a reader that sees an old value only lets a message pass a little early.
    std::atomic<std::int64_t> fullAt_;
};

}  // namespace weft
