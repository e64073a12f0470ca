#include <weft/pipeline/handlers/token_bucket.hpp>

#include <algorithm>
#include <limits>

#include "argument_checks.hpp"

namespace weft {

namespace {

constexpr std::int64_t longestCost = std::int64_t{1} << 60;  // ns, some 36 years

std::int64_t nanoseconds(TimePoint time) noexcept {
    return std::chrono::duration_cast<Duration>(time.time_since_epoch()).count();
}

}  // namespace

TokenBucket::TokenBucket(std::uint64_t bytesPerSecond, std::uint64_t burst)
    : bytesPerSecond_(detail::checked("TokenBucket", "bytesPerSecond", bytesPerSecond, 1, mostBytesPerSecond)),
      burst_(costOf(detail::checked("TokenBucket", "burst", burst, 1, mostBytesPerSecond))),
      fullAt_(std::numeric_limits<std::int64_t>::min()) {}

std::int64_t TokenBucket::costOf(std::uint64_t bytes) const noexcept {
    const double cost = static_cast<double>(bytes) * 1e9 / static_cast<double>(bytesPerSecond_);
    return cost < static_cast<double>(longestCost) ? static_cast<std::int64_t>(cost) : longestCost;
}

Duration TokenBucket::delay(TimePoint now) const noexcept {
    const std::int64_t fullAt = fullAt_.load(std::memory_order_relaxed);
    const std::int64_t at = nanoseconds(now);
    if (fullAt <= at || fullAt - at < burst_) return Duration::zero();
    return Duration(fullAt - at - burst_ + 1);
}

void TokenBucket::take(std::uint64_t bytes, TimePoint now) noexcept {
    const std::int64_t cost = costOf(bytes);
    const std::int64_t at = nanoseconds(now);
    const std::int64_t latest = at + longestCost;  // caps the debt: the sum below cannot overflow
    std::int64_t before = fullAt_.load(std::memory_order_relaxed);
    std::int64_t after = 0;
    do {
        after = std::min(std::max(before, at) + cost, latest);
    } while (!fullAt_.compare_exchange_weak(before, after, std::memory_order_relaxed));
}

}  // namespace weft
