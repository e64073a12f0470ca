// SinkWrites: whether a channel may hand bytes to its sink now: not inside a flush, and not while the sink has yet to
// take or report bytes of an earlier flush (W-5). Owned by the channel; it calls nothing.
#pragma once

#include <cstdint>
#include <utility>

namespace weft::detail {

// Context: the channel's loop.
class SinkWrites {
  public:
    bool mayFlush() const noexcept { return !flushing_ && !full_; }
    bool flushing() const noexcept { return flushing_; }
    bool full() const noexcept { return full_; }

    // A flush hands over all bytes up to `position` of the output.
    void beginFlush(std::uint64_t position) noexcept {
        given_ = position;
        flushing_ = true;
    }
    void endFlush() noexcept { flushing_ = false; }
    // A flush of all bytes up to `position` is over, and the sink has not taken or reported all of them.
    void wait(std::uint64_t position) noexcept {
        given_ = position;
        full_ = true;
    }
    // True: the sink has not taken, or not reported, all that it was given. It calls onWritable() once it has room, or
    // reports the bytes later with onWritten().
    void setFull(bool full) noexcept { full_ = full; }
    // True, once, when a full sink that reports asynchronously (io_uring) has now reported all that it was given.
    bool reportedAll(std::uint64_t written) noexcept {
        return !flushing_ && full_ && written >= given_ && std::exchange(full_, false);
    }

    // Scope of ChannelOutput::consume(), which calls listeners. Returns the value to restore.
    bool beginConsume() noexcept { return std::exchange(consuming_, true); }
    void endConsume(bool outer) noexcept { consuming_ = outer; }
    // False: the loop of a flush or of consume() is on the stack, and pending writes must not be failed under it (C-3).
    bool mayFailPending() const noexcept { return !flushing_ && !consuming_; }

  private:
    bool flushing_ = false;
    bool full_ = false;
    bool consuming_ = false;
    std::uint64_t given_ = 0;  // flushed position at the last flush
};

}  // namespace weft::detail
