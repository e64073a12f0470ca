// SinkWrites: whether a channel may hand bytes to its sink now: not inside a flush, and not while the sink has yet to
// take or report bytes of an earlier flush (W-5). Owned by the channel; it calls nothing.
#pragma once

#include <cstdint>

namespace weft::detail {

// Context: the channel's loop.
class SinkWrites {
  public:
    bool mayFlush() const noexcept { return (state_ & (isFlushing | isFull)) == 0; }
    // True if, besides, no filter may hold promises of bytes that are no longer in the output.
    bool mayFlushDirectly() const noexcept { return (state_ & (isFlushing | isFull | isFiltered)) == 0; }
    // True if what a sink reports are bytes of the output, and nothing waits for its reports.
    bool reportsDirectly() const noexcept { return (state_ & (isFull | isFiltered)) == 0; }
    // From now on a filter stands between the output and the sink.
    void addFilter() noexcept { set(isFiltered, true); }
    bool flushing() const noexcept { return state_ & isFlushing; }
    bool full() const noexcept { return state_ & isFull; }

    // A flush hands over all bytes up to `position` of the output.
    void beginFlush(std::uint64_t position) noexcept {
        flushed_ = position;
        set(isFlushing, true);
    }
    void endFlush() noexcept { set(isFlushing, false); }
    // A flush of all bytes up to `position` is over, and the sink has not taken or reported all of them.
    void wait(std::uint64_t position) noexcept {
        flushed_ = position;
        set(isFull, true);
    }
    // True: the sink has not taken, or not reported, all that it was given. It calls onWritable() once it has room, or
    // reports the bytes later with onWritten().
    void setFull(bool full) noexcept { set(isFull, full); }
    // True, once, when a full sink that reports asynchronously (io_uring) has now reported all that it was given.
    bool reportedAll(std::uint64_t written) noexcept {
        if (flushing() || !full() || written < flushed_) return false;
        set(isFull, false);
        return true;
    }

    // Scope of ChannelOutput::consume(), which calls listeners. Returns the value to restore.
    bool beginConsume() noexcept {
        const bool outer = state_ & isConsuming;
        set(isConsuming, true);
        return outer;
    }
    void endConsume(bool outer) noexcept { set(isConsuming, outer); }
    // False: the loop of a flush or of consume() is on the stack, and pending writes must not be failed under it (C-3).
    bool mayFailPending() const noexcept { return (state_ & (isFlushing | isConsuming)) == 0; }

  private:
    enum : std::uint8_t { isFlushing = 1, isFull = 2, isConsuming = 4, isFiltered = 8 };

    void set(std::uint8_t bit, bool on) noexcept {
        state_ = static_cast<std::uint8_t>(on ? state_ | bit : state_ & ~bit);
    }

    std::uint8_t state_ = 0;     // one byte, so that mayFlush() is one test
    std::uint64_t flushed_ = 0;  // flushed position at the last flush
};

}  // namespace weft::detail
