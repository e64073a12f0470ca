// OutboundBuffer: holds what has been written to a channel until the kernel accepts it; a sink writes from it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string_view>

#include <weft/pipeline/channel_promise.hpp>
#include <weft/pipeline/detail/ring.hpp>
#include <weft/pipeline/message.hpp>
#include <weft/scheduler/assert.hpp>

struct iovec;

namespace weft {

// A byte stream with marks. The bytes are in `pieces_` (for sinks that take messages: in `*messages_`); `writes_` holds
// the end position and the promise of each write. Small writes are joined by copying, so that pipelined responses leave
// in few pieces; promises stay at their positions. A write of up to 4 KiB that is less than a quarter of its block is
// copied, unless it is the first piece or follows another piece of that block. Blocks held here are therefore at most
// four times pendingBytes(), plus the block of the first piece and those of larger writes. Context: the channel's loop;
// pendingBytes(): any thread. Allocates only when its rings grow and when it copies.
class OutboundBuffer {
  public:
    static constexpr std::size_t entryOverhead = 96;         // bytes that each write counts besides its size (W-3)
    static constexpr std::size_t joinLimit = 1024;           // writes of up to this size are appended to the one before
    static constexpr std::size_t joinBlockBytes = 2 * 1024;  // room for a run of small writes

    OutboundBuffer() = default;
    OutboundBuffer(const OutboundBuffer&) = delete;
    OutboundBuffer& operator=(const OutboundBuffer&) = delete;

    // ---- for sinks ----
    // True when no flushed bytes are left (for a sink that takes messages: no flushed messages), and no bytes that the
    // sink took past this buffer and has not sent.
    bool empty() const noexcept { return flushedBytes() == 0 && (bytesOnly() || flushedWrites_ == 0); }
    std::size_t flushedBytes() const noexcept { return static_cast<std::size_t>(flushed_ - written_); }
    // Points `into` at flushed bytes, in order, at most `max` pieces and `maxBytes` bytes; returns how many pieces.
    // The pointers are valid until Channel::onWritten() reports those bytes or the channel closes.
    std::size_t gather(iovec* into, std::size_t max, std::size_t maxBytes) const noexcept;
    // All flushed bytes when there is only one piece, else an empty view.
    std::string_view onlyPiece() const noexcept {
        if (pieces_.size() != 1 || passing_ != 0) return {};
        return pieces_.front().view().substr(0, flushedBytes());
    }
    // For sinks that take messages: moves the first flushed message out and completes its promise. False: there is
    // none.
    bool takeMessage(Message& into);

    // ---- for the channel ----
    // Switches to whole messages. Call it before the first write. Throws std::bad_alloc.
    void takeWholeMessages() { messages_ = std::make_unique<detail::Ring<Message>>(); }
    bool bytesOnly() const noexcept { return messages_ == nullptr; }
    void add(Message&& message, ChannelPromise&& promise);
    // Marks everything added so far as flushed. Drops cancelled writes; the others can no longer be cancelled.
    void addFlush();
    // The kernel has accepted `bytes` flushed bytes: releases them and completes the promises of the writes that end
    // there, in order. Their listeners may add, flush, and fail everything.
    void consume(std::size_t bytes);
    // The kernel has accepted `bytes` bytes that were never in this buffer. Nothing may be pending.
    void passedBy(std::size_t bytes) noexcept { written_ = flushed_ = added_ += bytes; }
    // The sink has taken `bytes` bytes past this buffer and sends them before all others. Nothing may be pending. The
    // bytes count as pending, and are reported to consume().
    void passingBy(std::size_t bytes) noexcept {
        flushed_ = added_ += bytes;
        passing_ = bytes;
        addPending(static_cast<std::int64_t>(bytes));
    }
    // As consume(), when no write is pending: all of the bytes were taken past this buffer.
    void consumePassing(std::size_t bytes) noexcept {
        WEFT_ASSERT(bytes <= passing_, "a sink reported more bytes than it took past the buffer");
        written_ += bytes;
        passing_ -= bytes;
        addPending(-static_cast<std::int64_t>(bytes));
    }
    // Completes the flushed writes at the front of which no bytes are left, empty ones too.
    void completeWritten();
    // Fails the flushed writes, in order (W-6: a flush before the channel is connected).
    void failFlushed(const std::exception_ptr& cause);
    // Fails all writes in order: the flushed ones, then the others (C-2 e). Listeners may call this buffer again.
    void failAll(const std::exception_ptr& cause);

    // Sizes plus overheads of all writes that are not complete. Any thread; exact on the loop, a hint elsewhere.
    std::size_t pendingBytes() const noexcept { return pending_.load(std::memory_order_relaxed); }
    std::size_t pendingWrites() const noexcept { return writes_.size(); }
    std::size_t pieces() const noexcept { return pieces_.size(); }
    // Capacities of the blocks that the pieces keep alive; a block that consecutive pieces share counts once. For tests
    // and figures: visits every piece.
    std::size_t heldBytes() const noexcept;
    // Positions in the channel's byte stream: the end of what the kernel has accepted, and of what has been flushed.
    std::uint64_t writtenPosition() const noexcept { return written_; }
    std::uint64_t flushedPosition() const noexcept { return flushed_; }

  private:
    struct Write {
        std::uint64_t end = 0;  // position after its last byte
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

    // The members that a direct write (passedBy(), passingBy()) touches come first.
    std::atomic<std::size_t> pending_{0};  // written by the loop, read by any thread; relaxed: orders no data
    std::uint64_t written_ = 0;            // positions in the channel's byte stream: written_ <= flushed_ <= added_
    std::uint64_t flushed_ = 0;
    std::uint64_t added_ = 0;
    std::size_t passing_ = 0;      // bytes after written_ that are in no piece: the sink took them
    detail::Ring<Buffer> pieces_;  // when bytesOnly()
    detail::Ring<Write> writes_;
    std::uint32_t flushedWrites_ = 0;                  // how many of writes_, from the front, are flushed
    std::uint32_t cancellable_ = 0;                    // unflushed writes with a promise; addFlush() checks them
    std::unique_ptr<detail::Ring<Message>> messages_;  // null: bytesOnly(); one for each write
};

}  // namespace weft
