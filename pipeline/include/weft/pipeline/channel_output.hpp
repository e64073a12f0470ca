// ChannelOutput: the bytes that a channel has still to send. Encoders and the channel append them, a sink sends them.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string_view>
#include <type_traits>

#include <weft/pipeline/channel_promise.hpp>
#include <weft/pipeline/detail/output_tail.hpp>
#include <weft/pipeline/detail/ring.hpp>
#include <weft/pipeline/message.hpp>
#include <weft/scheduler/assert.hpp>
#include <weft/scheduler/event_loop.hpp>

struct iovec;

namespace weft {

// A byte stream with marks: pieces, which it owns, then a tail, into which small writes are copied. Usually the tail is
// all there is, and lies in a block that the channels of a carrier share until the flush point. A mark is a promise at
// a position; it completes when all bytes before that have been sent. Of pieces of up to 4 KiB that are less than a
// quarter of their block, the bytes are kept and not the block, unless it is the first piece or follows another piece
// of that block. So memory held here is at most four times pendingBytes(), plus the block of the first piece, those of
// larger pieces and of pieces that a sink has pinned or a cancellation has cut, and the tail's own, of up to 16 KiB.
// Context: the channel's loop; pendingBytes(): any thread. Never blocks. Allocates when its rings grow and for a tail
// outside the shared block. Throws std::bad_alloc where noted, and then the bytes and marks are as before.
class ChannelOutput {
  public:
    static constexpr std::size_t entryBytes = 96;   // what each piece and each mark counts, besides the bytes (W-3)
    static constexpr std::size_t joinLimit = 1024;  // Buffers of up to this size are copied

    ChannelOutput() = default;
    ChannelOutput(const ChannelOutput&) = delete;
    ChannelOutput& operator=(const ChannelOutput&) = delete;

    // ---- for encoders ----
    // Room for `bytes` (1 or more) after all present bytes, valid until the next call. Throws std::bad_alloc.
    char* room(std::size_t bytes) {
        char* const room = tail_.room(bytes, [this] { loop_->requestFlushPoint(*channel_); });
        return room != nullptr ? room : roomSlow(bytes);
    }
    // Appends the first `bytes` of the room.
    void produced(std::size_t bytes) noexcept {
        tail_.produced(bytes);
        added_.store(position() + bytes, std::memory_order_relaxed);
    }
    // Appends a copy. Throws std::bad_alloc.
    void append(std::string_view bytes);
    // Appends the bytes, without a copy if they are more than joinLimit. Throws std::bad_alloc.
    void append(Buffer&& bytes);
    // Appends a number, as Buffer::write(): output.write<std::uint16_t>(80). Throws std::bad_alloc.
    template <detail::WireNumber T>
    void write(std::type_identity_t<T> number, std::endian order = std::endian::big) {
        detail::storeNumber<T>(room(sizeof(T)), number, order);
        produced(sizeof(T));
    }
    // Removes what has been appended since position() was `position`. False, and nothing is removed: a part has been
    // flushed or marked.
    bool cutTo(std::uint64_t position) noexcept;
    // The end of what has been appended, in the channel's byte stream.
    std::uint64_t position() const noexcept { return added_.load(std::memory_order_relaxed); }
    // The promise completes when all bytes up to here have been sent. The void promise adds nothing. Throws
    // std::bad_alloc.
    void mark(ChannelPromise&& promise);

    // Removes all bytes and returns them. There are no marks. Throws std::bad_alloc.
    detail::Ring<Buffer> takePieces();

    // ---- for sinks ----
    // True when no flushed bytes are left (for a sink that takes messages: no flushed messages).
    bool empty() const noexcept { return flushedBytes() == 0 && (bytesOnly() || flushedMarks_ == 0); }
    std::size_t flushedBytes() const noexcept { return static_cast<std::size_t>(flushed_ - writtenPosition()); }
    // The flushed bytes if they are in one run; else an empty view. Valid as those of gather().
    std::string_view single() const noexcept {
        const std::size_t bytes = flushedBytes();
        if (pieces_.empty()) return {tail_.view().data(), bytes};
        const std::string_view first = pieces_.front().view();
        return first.size() >= bytes ? first.substr(0, bytes) : std::string_view();
    }
    // Points `into` at flushed bytes, in order, at most `max` runs and `most` bytes; returns how many runs. The
    // pointers are valid until the sink reports those bytes or returns to the channel, or after pin() until it reports
    // them or the channel has closed.
    std::size_t gather(iovec* into, std::size_t max, std::size_t most) const noexcept;
    // For a sink that sends later: the flushed bytes stay where they are.
    void pin() noexcept {
        if (!tail_.empty()) tail_.pin();
    }
    // For sinks that take messages: moves the first flushed message out and completes its promise. False: there is
    // none.
    bool takeMessage(Message& into);

    // ---- for the channel ----
    // Small writes of `channel` go to `block` from now on; it must live until leaveBlock() after the last of them.
    void share(detail::OutputBlock& block, EventLoop& loop, FlushPointListener& channel) noexcept;
    // Leaves the block for good, and requests no more flush points.
    void unshare() noexcept;
    // Switches to whole messages. Call it before the first write. Throws std::bad_alloc.
    void takeWholeMessages() { messages_ = std::make_unique<detail::Ring<Message>>(); }
    bool bytesOnly() const noexcept { return messages_ == nullptr; }
    // A message at the head of the pipeline; a Buffer when bytesOnly(). Throws std::bad_alloc.
    void write(Message&& message, ChannelPromise&& promise);
    // Marks everything appended so far as flushed. Drops cancelled writes; the others can no longer be cancelled.
    // Throws std::bad_alloc when there are cancelled writes.
    void flush() {
        if (cancellable_ > 0) [[unlikely]]
            settleCancellable();
        flushed_ = position();
        flushedMarks_ = static_cast<std::uint32_t>(marks_.size());
    }
    // Call it at each flush point, after the channel's flush.
    void leaveBlock() noexcept { tail_.leaveBlock(); }
    // The kernel has accepted `bytes` flushed bytes: releases them and completes the promises of the marks that they
    // reach, in order. Their listeners may append, flush, and fail everything.
    void consume(std::size_t bytes);
    // For a filter: makes room for the flushed marks of `plain`. Throws std::bad_alloc.
    void reserveMarksOf(const ChannelOutput& plain) { marks_.reserve(plain.flushedMarks_); }
    // The first `bytes` flushed bytes have been encoded at the end of `encoded`: releases them. Their marks move there,
    // which has room for them.
    void passTo(ChannelOutput& encoded, std::size_t bytes) noexcept;
    // Moves everything that it has to `other`, which is new: bytes, which stay at their addresses, marks and positions.
    void moveTo(ChannelOutput& other) noexcept;
    // True when there is nothing but a tail, so that no promise depends on it.
    bool isPlain() const noexcept { return overhead_.load(std::memory_order_relaxed) == 0; }
    // True when isPlain() and the tail lies in the shared block: a flush point has been requested, and nothing waits
    // for a sink.
    bool isShared() const noexcept { return isPlain() && tail_.inBlock(); }
    // As flush(), when isPlain().
    void flushPlain() noexcept { flushed_ = position(); }
    // As consume(), when isPlain(). True: no flushed bytes are left.
    bool consumePlain(std::size_t bytes) noexcept {
        const std::uint64_t written = writtenPosition();
        WEFT_ASSERT(bytes <= flushed_ - written, "a sink reported more bytes than were flushed");
        written_.store(written + bytes, std::memory_order_relaxed);
        return tail_.consumed(bytes) || flushedBytes() == 0;
    }
    // Completes the flushed marks at the front that no bytes precede.
    void completeWritten();
    // Drops the flushed bytes and fails their marks, in order (W-6: a flush before the channel is connected).
    void failFlushed(const std::exception_ptr& cause);
    // Drops everything and fails all marks, in order (C-2 e). Listeners may call this object again.
    void failAll(const std::exception_ptr& cause);

    // Bytes that are not sent, plus entryBytes for each piece and mark. Any thread; exact on the loop, a hint
    // elsewhere.
    std::size_t pendingBytes() const noexcept {
        const std::uint64_t added = position(), written = writtenPosition();  // elsewhere, perhaps of different times
        const std::uint64_t bytes = added > written ? added - written : 0;
        return static_cast<std::size_t>(bytes) + overhead_.load(std::memory_order_relaxed);
    }
    std::size_t pieces() const noexcept { return pieces_.size(); }
    // Memory that the bytes keep in use; a block that consecutive pieces share counts once. For tests and figures:
    // visits every piece.
    std::size_t heldBytes() const noexcept;
    // Positions in the channel's byte stream: the end of what the kernel has accepted, and of what has been flushed.
    std::uint64_t writtenPosition() const noexcept { return written_.load(std::memory_order_relaxed); }
    std::uint64_t flushedPosition() const noexcept { return flushed_; }

  private:
    struct Mark {
        std::uint64_t begin = 0;  // of the bytes that a cancellation removes
        std::uint64_t end = 0;
        bool cancellable = false;  // until the flush
        ChannelPromise promise;
    };

    void countEntries() noexcept {
        overhead_.store((pieces_.size() + marks_.size()) * entryBytes, std::memory_order_relaxed);
    }
    char* roomSlow(std::size_t bytes);
    void appendMessage(Message&& message);
    void sealTail();
    Mark popMark() noexcept;
    void settleCancellable();
    void dropCancelled(std::size_t cancelled);
    void removeBytes(std::uint64_t from, std::uint64_t length);
    void releaseBytes(std::uint64_t bytes) noexcept;

    // Positions in the channel's byte stream: written_ <= flushed_ <= added_. Those that any thread reads are written
    // by the loop only; relaxed, because they order no data.
    std::atomic<std::uint64_t> written_{0};
    std::atomic<std::uint64_t> added_{0};
    std::uint64_t flushed_ = 0;
    std::atomic<std::size_t> overhead_{0};  // entryBytes for each piece and mark
    detail::OutputTail tail_;               // follows the pieces
    EventLoop* loop_ = nullptr;             // null: does not share
    FlushPointListener* channel_ = nullptr;
    detail::Ring<Buffer> pieces_;
    detail::Ring<Mark> marks_;                         // for whole messages: one for each, also with a void promise
    std::uint32_t cancellable_ = 0;                    // unflushed marks whose promise may be cancelled
    std::uint32_t flushedMarks_ = 0;                   // how many of marks_, from the front, are flushed
    std::unique_ptr<detail::Ring<Message>> messages_;  // null: bytesOnly()
};

}  // namespace weft
