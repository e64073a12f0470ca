// ChannelState: the steps that a channel has taken from its creation to its end, as bits of one word, so that a write
// checks several with one load. Owned by the channel; it calls nothing.
#pragma once

#include <atomic>
#include <cstdint>

namespace weft::detail {

// Readers: any thread. Writers: the channel's loop; before registration also the thread that builds the channel, which
// may overlap with the loop (a close from another thread), so each change is a RMW.
class ChannelState {
  public:
    enum : std::uint8_t {
        wasRegistered = 1,  // set by the builder, which hands the channel over to the loop
        isRegistered = 2,
        isActive = 4,  // set by the builder, later by the loop
        outputEnded = 8,
        isClosed = 16,
        isDeregistered = 32,  // listed in DeregisteredChannels
        isFiltered = 64,      // its sink is a ChannelFilter
    };

    // True when all of `wanted` and none of `unwanted` are set. [N1]
    bool is(unsigned wanted, unsigned unwanted = 0) const noexcept {
        return (bits_.load(std::memory_order_acquire) & (wanted | unwanted)) == wanted;
    }
    void set(std::uint8_t bits) noexcept { bits_.fetch_or(bits, std::memory_order_release); }  // [N1]
    void clear(std::uint8_t bits) noexcept {
        bits_.fetch_and(static_cast<std::uint8_t>(~bits), std::memory_order_release);  // [N1]
    }

  private:
    std::atomic<std::uint8_t> bits_{0};
};

}  // namespace weft::detail
