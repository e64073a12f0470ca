// WriteBufferWaterMark: how many bytes may be pending before a channel becomes unwritable.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>

namespace weft {

// In bytes, as ChannelOutput::pendingBytes() counts them. A channel becomes unwritable above high(), and writable again
// below low(). (W-3)
class WriteBufferWaterMark {
  public:
    static constexpr std::size_t defaultLow = 32 * 1024;
    static constexpr std::size_t defaultHigh = 64 * 1024;

    constexpr WriteBufferWaterMark() noexcept = default;
    // Throws std::invalid_argument when low > high.
    constexpr WriteBufferWaterMark(std::size_t low, std::size_t high) : low_(low), high_(high) {
        if (low > high) {
            throw std::invalid_argument("WriteBufferWaterMark: low (" + std::to_string(low) +
                                        ") must not exceed high (" + std::to_string(high) + ")");
        }
    }
    constexpr std::size_t low() const noexcept { return low_; }
    constexpr std::size_t high() const noexcept { return high_; }

  private:
    std::size_t low_ = defaultLow;
    std::size_t high_ = defaultHigh;
};

}  // namespace weft
