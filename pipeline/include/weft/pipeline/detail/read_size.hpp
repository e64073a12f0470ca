// ReadSize: the size of a channel's next read buffer, adapted to the sizes of earlier reads. The algorithm is
// that of Netty's AdaptiveRecvByteBufAllocator with powers of two and four as steps.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/scheduler/detail/least.hpp>

namespace weft::detail {

// Context: the channel's loop.
class ReadSize {
  public:
    static constexpr std::size_t least = 256;                     // bytes
    static constexpr std::size_t first = 2048;                    // bytes
    static constexpr std::size_t largest = std::size_t{1} << 30;  // bytes

    std::size_t bytes() const noexcept { return bytes_; }

    // False for nearly all reads: the size stays. True: call change().
    bool learn(std::size_t read) noexcept {
        if (read >= bytes_ || read < shrinkBelow_) return true;
        smallReads_ = 0;
        return false;
    }
    // Grows at once when a read filled its buffer, up to `most`; shrinks after two small reads in a row.
    void change(std::size_t read, std::size_t most) noexcept {
        if (read >= bytes_) {
            bytes_ = static_cast<std::uint32_t>(
                detail::least<std::size_t>(detail::least<std::size_t>(bytes() * 4, most), largest));
        } else {
            if (++smallReads_ < 2) return;
            bytes_ = static_cast<std::uint32_t>(detail::greatest<std::size_t>(bytes() / 2, least));
        }
        smallReads_ = 0;
        shrinkBelow_ = bytes_ > least ? bytes_ / 4 : 0;
    }

  private:
    std::uint32_t smallReads_ = 0;  // in a row
    std::uint32_t bytes_ = first;
    std::uint32_t shrinkBelow_ = first / 4;  // reads of fewer bytes are small; 0 at the smallest size
};

}  // namespace weft::detail
