// A histogram of latencies in nanoseconds with logarithmic buckets: 64 per power of two, so a percentile is at most
// 1.6 % off at any magnitude. Owned by one thread; recording is an index computation and an add, no allocation.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

namespace weft::perf {

class LatencyHistogram {
  public:
    void record(std::int64_t nanoseconds, std::uint64_t times = 1) {
        const auto value = static_cast<std::uint64_t>(std::max<std::int64_t>(nanoseconds, 0));
        counts_[indexOf(value)] += times;
        total_ += times;
        max_ = std::max(max_, value);
    }

    void clear() { *this = LatencyHistogram{}; }

    std::uint64_t total() const { return total_; }
    double maxMicroseconds() const { return static_cast<double>(max_) / 1000.0; }

    /// The latency that a `share` (0..1) of the recorded values does not exceed; 0 when nothing was recorded.
    double microseconds(double share) const {
        const auto rank = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(total_)));
        std::uint64_t seen = 0;
        for (std::size_t i = 0; i < counts_.size(); ++i) {
            seen += counts_[i];
            if (seen >= rank && seen > 0) return static_cast<double>(std::min(upperBound(i), max_)) / 1000.0;
        }
        return 0;
    }

    /// visit(largest value of the bucket, count) for each bucket with anything in it, from the least value on.
    template <class Visit>
    void forEach(Visit visit) const {
        for (std::size_t i = 0; i < counts_.size(); ++i)
            if (counts_[i] > 0) visit(std::min(upperBound(i), max_), counts_[i]);
    }

  private:
    static constexpr unsigned kSubBits = 6;
    static constexpr std::uint64_t kSub = std::uint64_t{1} << kSubBits;
    static constexpr unsigned kMagnitudes = 64 - kSubBits;

    // Values below kSub have a bucket each; above, the leading kSubBits + 1 bits choose it.
    static std::size_t indexOf(std::uint64_t value) {
        if (value < kSub) return value;
        const auto shift = static_cast<unsigned>(std::bit_width(value)) - kSubBits - 1;
        return (std::size_t{shift} << kSubBits) + (value >> shift);
    }

    static std::uint64_t upperBound(std::size_t index) {
        if (index < kSub) return index;
        const std::size_t shift = (index >> kSubBits) - 1;
        const std::uint64_t lead = index - (shift << kSubBits);
        return ((lead + 1) << shift) - 1;
    }

    std::array<std::uint64_t, (kMagnitudes + 1) * kSub> counts_{};
    std::uint64_t total_ = 0;
    std::uint64_t max_ = 0;
};

}  // namespace weft::perf
