// OutboundBuffer: what has been written to a channel and is not in the kernel yet; a sink writes from it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string_view>

#include <weft/pipeline/channel_promise.hpp>
#include <weft/pipeline/detail/ring.hpp>
#include <weft/pipeline/message.hpp>
#include <weft/scheduler/assert.hpp>

struct iovec;

namespace weft {

// A byte stream with marks: bytes are in `pieces_` (for sinks that take messages those in `messages_`), each write
// keeps its end position and its promise in `writes_`. Small writes are joined by copying, so that pipelined answers
// leave in few pieces; promises stay at their positions. A write of up to 4 KiB that is a small part of its block is
// copied, unless it is the first piece or follows another piece of that block: so the blocks that wait here are at most
// four times pendingBytes(), plus the block of the first piece and those of larger writes. Context: the channel's loop;
// pendingBytes(): any thread. Allocates only while its rings grow, and where it copies.
class OutboundBuffer {
  public:
    static constexpr std::size_t entryOverhead = 96;         // bytes that every write counts beyond its size (W-3)
    static constexpr std::size_t joinLimit = 1024;           // writes up to this size are copied behind the one before
    static constexpr std::size_t joinBlockBytes = 2 * 1024;  // room for a run of small writes

    OutboundBuffer() = default;
    OutboundBuffer(const OutboundBuffer&) = delete;
    OutboundBuffer& operator=(const OutboundBuffer&) = delete;

    // ---- for sinks ----
    // No flushed bytes (messages, for a sink that takes those) are left, nor any that the sink has taken past this
    // buffer and not sent.
    bool empty() const noexcept { return flushedBytes() == 0 && (bytesOnly_ || flushedWrites_ == 0); }
    std::size_t flushedBytes() const noexcept { return static_cast<std::size_t>(flushed_ - written_); }
    // Points `into` at flushed bytes, in order, at most `max` pieces and `maxBytes` bytes; returns how many pieces.
    // The pointers are good until those bytes are reported by Channel::onWritten() or the channel closes.
    std::size_t gather(iovec* into, std::size_t max, std::size_t maxBytes) const noexcept;
    // All flushed bytes when they lie in one piece, else an empty view.
    std::string_view onlyPiece() const noexcept {
        if (pieces_.size() != 1 || passing_ != 0) return {};
        return pieces_.front().view().substr(0, flushedBytes());
    }
    // For sinks that take messages: moves the first flushed message out and completes its promise; false when none is.
    bool takeMessage(Message& into);

    // ---- for the channel ----
    // Whole messages in, whole messages out; before the first write.
    void takeWholeMessages() noexcept { bytesOnly_ = false; }
    bool bytesOnly() const noexcept { return bytesOnly_; }
    void add(Message&& message, ChannelPromise&& promise);
    // Marks everything added so far as flushed; a cancelled write is dropped here, afterwards none can be cancelled.
    void addFlush();
    // `bytes` flushed bytes are in the kernel: lets go of them and completes the promises that end there, in order.
    // Listeners may add, flush, and fail everything.
    void consume(std::size_t bytes);
    // `bytes` that were never in here are in the kernel; nothing may be waiting.
    void passedBy(std::size_t bytes) noexcept { written_ = flushed_ = added_ += bytes; }
    // `bytes` that are not in here are being sent by the sink, before all others; nothing may be waiting. They are
    // pending, and consume() is told of them.
    void passingBy(std::size_t bytes) noexcept {
        flushed_ = added_ += bytes;
        passing_ = bytes;
        addPending(static_cast<std::int64_t>(bytes));
    }
    // consume() when no write waits: all of the bytes were passing by.
    void consumePassing(std::size_t bytes) noexcept {
        WEFT_ASSERT(bytes <= passing_, "a sink reported more bytes than it has taken past the buffer");
        written_ += bytes;
        passing_ -= bytes;
        addPending(-static_cast<std::int64_t>(bytes));
    }
    // Completes flushed writes of no bytes at the front.
    void completeWritten();
    // Fails the flushed writes, in order (W-6).
    void failFlushed(const std::exception_ptr& cause);
    // Fails all writes in order: the flushed ones, then the others (C-2 e). Listeners may call in here again.
    void failAll(const std::exception_ptr& cause);

    // Sizes plus overheads of all writes that are not complete. Any thread (a hint there; exact on the loop).
    std::size_t pendingBytes() const noexcept { return pending_.load(std::memory_order_relaxed); }
    std::size_t pendingWrites() const noexcept { return writes_.size(); }
    std::size_t pieces() const noexcept { return pieces_.size(); }
    // Capacities of the blocks that the pieces keep alive; a block that several pieces in a row share counts once. For
    // tests and figures: looks at every piece.
    std::size_t heldBytes() const noexcept;
    // Positions in the channel's byte stream: what is in the kernel, and the end of what has been flushed.
    std::uint64_t writtenPosition() const noexcept { return written_; }
    std::uint64_t flushedPosition() const noexcept { return flushed_; }

  private:
    struct Write {
        std::uint64_t end = 0;  // position just behind its last byte
        std::uint64_t size = 0;
        ChannelPromise promise;
    };

    void addBytes(Buffer&& bytes);
    bool join(const Buffer& bytes);
    void dropCancelled();
    void removeBytes(std::uint64_t from, std::uint64_t length);
    void releasePieces(std::uint64_t bytes) noexcept;
    std::size_t stopPassing(std::size_t most) noexcept;
    Write popWrite() noexcept;
    // A single writer: no RMW.
    void addPending(std::int64_t change) noexcept {
        pending_.store(pendingBytes() + static_cast<std::size_t>(change), std::memory_order_relaxed);
    }

    // What a write that passes by touches comes first.
    std::atomic<std::size_t> pending_{0};  // written by the loop only, read by any thread: relaxed, nothing hangs on it
    std::uint64_t written_ = 0;            // positions in the channel's byte stream: written_ <= flushed_ <= added_
    std::uint64_t flushed_ = 0;
    std::uint64_t added_ = 0;
    std::size_t passing_ = 0;  // of the bytes behind written_: those that are in no piece
    detail::Ring<Buffer> pieces_;     // when bytesOnly_
    detail::Ring<Message> messages_;  // else; one for each write
    detail::Ring<Write> writes_;
    std::size_t flushedWrites_ = 0;  // of writes_, from the front
    std::size_t cancellable_ = 0;    // unflushed writes that carry a promise: only then is there something to look for
    bool bytesOnly_ = true;
};

}  // namespace weft
