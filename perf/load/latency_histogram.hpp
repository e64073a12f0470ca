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

    // The quantile `share` (0..1) of the recorded values; 0 when nothing was recorded.
    double microseconds(double share) const {
        const auto rank = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(total_)));
        std::uint64_t seen = 0;
        for (std::size_t i = 0; i < counts_.size(); ++i) {
            seen += counts_[i];
            if (seen >= rank && seen > 0) return static_cast<double>(std::min(upperBound(i), max_)) / 1000.0;
        }
        return 0;
    }

    // Calls visit(largest value of the bucket, count) for each bucket that is not empty, in ascending order.
    template <class Visit>
    void forEach(Visit visit) const {
        for (std::size_t i = 0; i < counts_.size(); ++i)
            if (counts_[i] > 0) visit(std::min(upperBound(i), max_), counts_[i]);
    }

  private:
    static constexpr unsigned subBucketBits = 6;
    static constexpr std::uint64_t subBuckets = std::uint64_t{1} << subBucketBits;
    static constexpr unsigned magnitudes = 64 - subBucketBits;

    // Values below subBuckets have a bucket each; above, the leading subBucketBits + 1 bits choose it.
    static std::size_t indexOf(std::uint64_t value) {
        if (value < subBuckets) return value;
        const auto shift = static_cast<unsigned>(std::bit_width(value)) - subBucketBits - 1;
        return (std::size_t{shift} << subBucketBits) + (value >> shift);
    }

    static std::uint64_t upperBound(std::size_t index) {
        if (index < subBuckets) return index;
        const std::size_t shift = (index >> subBucketBits) - 1;
        const std::uint64_t lead = index - (shift << subBucketBits);
        return ((lead + 1) << shift) - 1;
    }

    std::array<std::uint64_t, (magnitudes + 1) * subBuckets> counts_{};
    std::uint64_t total_ = 0;
    std::uint64_t max_ = 0;
};

}  // namespace weft::perf
