#include <weft/pipeline/outbound_buffer.hpp>

#include <algorithm>
#include <utility>

#include <sys/uio.h>

#include <weft/pipeline/detail/held_bytes.hpp>
#include <weft/scheduler/assert.hpp>

namespace weft {

void OutboundBuffer::add(Message&& message, ChannelPromise&& promise) {
    const std::size_t size = message.estimatedBytes();
    if (bytesOnly()) {
        addBytes(std::move(message.get<Buffer>()));
    } else {
        messages_->push(std::move(message));
    }
    added_ += size;
    if (!promise.isVoid()) ++cancellable_;
    Write& write = writes_.push();
    write.end = added_;
    write.size = size;
    write.promise = std::move(promise);
    addPending(static_cast<std::int64_t>(size + entryOverhead));
}

inline void OutboundBuffer::addBytes(Buffer&& bytes) {
    if (bytes.empty()) return;
    if (!pieces_.empty()) {
        if (join(bytes)) return;
        detail::compactAfter(pieces_.back(), bytes);
    }
    pieces_.push(std::move(bytes));
}

std::size_t OutboundBuffer::heldBytes() const noexcept {
    std::size_t held = 0;
    const void* last = nullptr;
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
        if (detail::storageOf(pieces_[i]) != last) held += pieces_[i].heldBytes();
        last = detail::storageOf(pieces_[i]);
    }
    return held;
}

// Appends a copy of a small write to the last piece. No one uses the bytes after a piece's end, so this is safe even
// while the kernel reads the piece. The second small write in a row opens a block with room for more.
bool OutboundBuffer::join(const Buffer& bytes) {
    if (bytes.readableBytes() > joinLimit) return false;
    Buffer& last = pieces_.back();
    if (!last.unique() || last.writableBytes() < bytes.readableBytes()) {
        if (last.readableBytes() > joinLimit) return false;
        Buffer room = Buffer::allocate(joinBlockBytes);
        room.append(bytes.view());
        pieces_.push(std::move(room));
        return true;
    }
    last.append(bytes.view());
    return true;
}

void OutboundBuffer::addFlush() {
    if (cancellable_ > 0) dropCancelled();
    flushed_ = added_;
    flushedWrites_ = static_cast<std::uint32_t>(writes_.size());
}

// Removes cancelled writes from the unflushed ones, and makes the others uncancellable (W-2).
void OutboundBuffer::dropCancelled() {
    cancellable_ = 0;
    std::size_t kept = flushedWrites_;
    std::size_t piece = flushedWrites_;  // of the write, for whole messages
    std::uint64_t gone = 0;
    for (std::size_t i = flushedWrites_; i < writes_.size(); ++i) {
        Write write = std::move(writes_[i]);
        write.end -= gone;
        if (write.promise.setUncancellable()) {
            writes_[kept++] = std::move(write);
            ++piece;
            continue;
        }
        if (bytesOnly()) {
            removeBytes(write.end - write.size, write.size);
        } else {
            messages_->removeAt(piece);
        }
        gone += write.size;
        addPending(-static_cast<std::int64_t>(write.size + entryOverhead));
    }
    writes_.truncate(kept);
    added_ -= gone;
}

// Cuts the stream positions [from, from + length) out of the pieces. Rare: only for cancelled writes.
void OutboundBuffer::removeBytes(std::uint64_t from, std::uint64_t length) {
    std::uint64_t start = written_ + passing_;
    for (std::size_t i = 0; i < pieces_.size() && length > 0; ++i) {
        Buffer& piece = pieces_[i];
        const std::uint64_t size = piece.readableBytes();
        if (start + size <= from) {
            start += size;
            continue;
        }
        const std::size_t skip = static_cast<std::size_t>(from - start);
        const std::size_t cut = static_cast<std::size_t>(std::min(length, size - skip));
        // Slices, does not copy: the bytes before must stay in place, because a transport may be sending them now.
        Buffer back = piece.slice(skip + cut, static_cast<std::size_t>(size) - skip - cut);
        if (skip == 0) {
            piece = std::move(back);
        } else {
            piece = piece.slice(0, skip);
            if (!back.empty()) pieces_.insertAt(++i, std::move(back));
        }
        length -= cut;
        start += size - cut;
    }
}

std::size_t OutboundBuffer::gather(iovec* into, std::size_t max, std::size_t maxBytes) const noexcept {
    std::size_t left = std::min(flushedBytes() - passing_, maxBytes);
    std::size_t count = 0;
    for (std::size_t i = 0; i < pieces_.size() && count < max && left > 0; ++i) {
        const Buffer& piece = pieces_[i];
        const std::size_t length = std::min(piece.readableBytes(), left);
        if (length == 0) continue;
        into[count++] = {const_cast<char*>(piece.readData()), length};
        left -= length;
    }
    return count;
}

bool OutboundBuffer::takeMessage(Message& into) {
    if (flushedWrites_ == 0) return false;
    into = messages_->pop();
    Write write = popWrite();
    written_ = write.end;
    write.promise.trySuccess();
    return true;
}

void OutboundBuffer::consume(std::size_t bytes) {
    WEFT_ASSERT(bytes <= flushedBytes(), "a sink reported more bytes than were flushed");
    written_ += bytes;
    if (passing_ != 0) [[unlikely]]
        bytes -= stopPassing(bytes);
    releasePieces(bytes);
    completeWritten();
}

std::size_t OutboundBuffer::stopPassing(std::size_t most) noexcept {
    const std::size_t bytes = std::min(passing_, most);
    passing_ -= bytes;
    addPending(-static_cast<std::int64_t>(bytes));
    return bytes;
}

// Re-entrant: a listener may add, flush and fail writes, so each step reads the state again.
void OutboundBuffer::completeWritten() {
    while (flushedWrites_ > 0 && writes_.front().end <= written_) {
        if (const Write& front = writes_.front(); front.promise.isVoid()) {
            addPending(-static_cast<std::int64_t>(front.size + entryOverhead));
            writes_.drop();
            --flushedWrites_;
        } else {
            const Write write = popWrite();
            write.promise.trySuccess();
        }
    }
}

void OutboundBuffer::failFlushed(const std::exception_ptr& cause) {
    std::uint64_t bytes = flushedBytes();
    written_ += bytes;
    bytes -= stopPassing(passing_);
    if (bytesOnly()) releasePieces(bytes);
    // Only the writes that were flushed when this began, not those that listeners add and flush.
    for (std::size_t left = flushedWrites_; left > 0 && flushedWrites_ > 0; --left) {
        if (!bytesOnly()) messages_->drop();
        Write write = popWrite();
        write.promise.tryFailure(cause);
    }
}

void OutboundBuffer::failAll(const std::exception_ptr& cause) {
    pieces_.clear();
    if (messages_) messages_->clear();
    stopPassing(passing_);
    written_ = flushed_ = added_;
    while (!writes_.empty()) {
        Write write = popWrite();
        write.promise.tryFailure(cause);
    }
}

void OutboundBuffer::releasePieces(std::uint64_t bytes) noexcept {
    while (!pieces_.empty()) {
        Buffer& piece = pieces_.front();
        if (piece.readableBytes() > bytes) {
            piece.consumed(static_cast<std::size_t>(bytes));
            return;
        }
        bytes -= piece.readableBytes();
        pieces_.drop();
        if (bytes == 0) return;
    }
}

OutboundBuffer::Write OutboundBuffer::popWrite() noexcept {
    Write write = writes_.pop();
    if (flushedWrites_ > 0) {
        --flushedWrites_;
    } else if (!write.promise.isVoid() && cancellable_ > 0) {
        --cancellable_;
    }
    addPending(-static_cast<std::int64_t>(write.size + entryOverhead));
    return write;
}

}  // namespace weft
