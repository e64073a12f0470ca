#include <weft/pipeline/channel_output.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

#include <sys/uio.h>

#include <weft/pipeline/detail/held_bytes.hpp>
#include <weft/scheduler/assert.hpp>

namespace weft {

void ChannelOutput::share(detail::OutputBlock& block, EventLoop& loop, FlushPointListener& channel) noexcept {
    tail_.share(block);
    loop_ = &loop;
    channel_ = &channel;
}

void ChannelOutput::unshare() noexcept {
    tail_.leaveBlock();
    tail_.share(detail::OutputBlock::none());
    loop_ = nullptr;
    channel_ = nullptr;
}

// ---- appending ----

char* ChannelOutput::roomSlow(std::size_t bytes) {
    sealTail();
    return room(bytes);
}

void ChannelOutput::append(std::string_view bytes) {
    if (bytes.empty()) return;
    std::memcpy(room(bytes.size()), bytes.data(), bytes.size());
    produced(bytes.size());
}

void ChannelOutput::append(Buffer&& bytes) {
    const std::size_t size = bytes.readableBytes();
    if (size <= joinLimit) return append(bytes.view());
    sealTail();
    if (!pieces_.empty()) detail::compactAfter(pieces_.back(), bytes);
    pieces_.push(std::move(bytes));
    added_.store(position() + size, std::memory_order_relaxed);
    countEntries();
}

// Makes the tail a piece.
void ChannelOutput::sealTail() {
    if (tail_.empty()) return tail_.clear();
    Buffer& piece = pieces_.push();
    try {
        piece = tail_.take();
    } catch (...) {
        pieces_.truncate(pieces_.size() - 1);
        throw;
    }
    countEntries();
}

bool ChannelOutput::cutTo(std::uint64_t to) noexcept {
    if (to < flushed_ || (!marks_.empty() && marks_.back().end > to)) return false;
    std::uint64_t extra = position() - to;
    if (const std::uint64_t last = std::min<std::uint64_t>(extra, tail_.size()); last > 0) {
        tail_.cut(tail_.size() - static_cast<std::size_t>(last), static_cast<std::size_t>(last));
        extra -= last;
    }
    while (extra > 0) {
        Buffer& piece = pieces_.back();
        const std::size_t kept =
            piece.readableBytes() - static_cast<std::size_t>(std::min<std::uint64_t>(extra, piece.readableBytes()));
        extra -= piece.readableBytes() - kept;
        kept > 0 ? void(piece = piece.slice(0, kept)) : pieces_.truncate(pieces_.size() - 1);
    }
    added_.store(to, std::memory_order_relaxed);
    countEntries();
    return true;
}

detail::Ring<Buffer> ChannelOutput::takePieces() {
    sealTail();
    detail::Ring<Buffer> all;
    std::swap(all, pieces_);
    failAll(nullptr);
    return all;
}

void ChannelOutput::mark(ChannelPromise&& promise) {
    if (promise.isVoid()) return;
    Mark& mark = marks_.push();
    mark.begin = mark.end = position();
    mark.promise = std::move(promise);
    countEntries();
}

// The mark is made first, so that nothing has changed when there is no memory.
void ChannelOutput::write(Message&& message, ChannelPromise&& promise) {
    if (bytesOnly() && promise.isVoid()) return append(std::move(message.get<Buffer>()));
    Mark& mark = marks_.push();
    mark.begin = position();
    try {
        bytesOnly() ? append(std::move(message.get<Buffer>())) : appendMessage(std::move(message));
    } catch (...) {
        marks_.truncate(marks_.size() - 1);
        countEntries();  // the tail may have become a piece
        throw;
    }
    mark.end = position();
    mark.cancellable = !promise.isVoid();
    mark.promise = std::move(promise);
    cancellable_ += mark.cancellable;
    countEntries();
}

void ChannelOutput::appendMessage(Message&& message) {
    const std::size_t size = message.estimatedBytes();
    messages_->push(std::move(message));
    added_.store(position() + size, std::memory_order_relaxed);
}

// ---- flushing ----

// Makes the unflushed writes uncancellable (W-2); those that stay cancellable were cancelled before.
void ChannelOutput::settleCancellable() {
    std::size_t cancelled = 0;
    for (std::size_t i = flushedMarks_; i < marks_.size(); ++i) {
        Mark& mark = marks_[i];
        mark.cancellable = mark.cancellable && !mark.promise.setUncancellable();
        cancelled += mark.cancellable;
    }
    if (cancelled > 0) dropCancelled(cancelled);
    cancellable_ = 0;
}

// Removes the unflushed writes that were cancelled.
void ChannelOutput::dropCancelled(std::size_t cancelled) {
    if (bytesOnly()) pieces_.reserve(cancelled);  // each cut may split a piece; nothing fails after this
    std::size_t kept = flushedMarks_;
    std::uint64_t gone = 0;
    for (std::size_t i = flushedMarks_; i < marks_.size(); ++i) {
        Mark mark = std::move(marks_[i]);
        mark.begin -= gone;
        mark.end -= gone;
        if (!mark.cancellable) {
            marks_[kept++] = std::move(mark);
            continue;
        }
        if (bytesOnly()) {
            removeBytes(mark.begin, mark.end - mark.begin);
        } else {
            messages_->removeAt(kept);
        }
        gone += mark.end - mark.begin;
    }
    marks_.truncate(kept);
    added_.store(position() - gone, std::memory_order_relaxed);
    countEntries();
}

// Cuts the stream positions [from, from + length) out of the pieces and the tail. Rare: only for cancelled writes.
void ChannelOutput::removeBytes(std::uint64_t from, std::uint64_t length) {
    std::uint64_t start = writtenPosition();
    for (std::size_t i = 0; i < pieces_.size() && length > 0;) {
        Buffer& piece = pieces_[i];
        const std::uint64_t size = piece.readableBytes();
        if (start + size <= from) {
            start += size;
            ++i;
            continue;
        }
        const std::size_t skip = static_cast<std::size_t>(from - start);
        const std::size_t cut = static_cast<std::size_t>(std::min(length, size - skip));
        // Slices, does not copy: the bytes before must stay in place, because a transport may be sending them now.
        Buffer front = piece.slice(0, skip);
        Buffer back = piece.slice(skip + cut, static_cast<std::size_t>(size) - skip - cut);
        pieces_.removeAt(i);
        if (!front.empty()) pieces_.insertAt(i++, std::move(front));
        if (!back.empty()) pieces_.insertAt(i++, std::move(back));
        length -= cut;
        start += size - cut;
    }
    if (length > 0) tail_.cut(static_cast<std::size_t>(from - start), static_cast<std::size_t>(length));
}

// ---- sending ----

std::size_t ChannelOutput::gather(iovec* into, std::size_t max, std::size_t most) const noexcept {
    std::size_t left = std::min(flushedBytes(), most);
    std::size_t count = 0;
    const auto add = [&](std::string_view run) {
        const std::size_t length = std::min(run.size(), left);
        if (length > 0) into[count++] = {const_cast<char*>(run.data()), length};
        left -= length;
    };
    for (std::size_t i = 0; i < pieces_.size() && count < max && left > 0; ++i) add(pieces_[i].view());
    if (count < max && left > 0) add(tail_.view());
    return count;
}

bool ChannelOutput::takeMessage(Message& into) {
    if (flushedMarks_ == 0) return false;
    into = messages_->pop();
    const Mark mark = popMark();
    written_.store(mark.end, std::memory_order_relaxed);
    mark.promise.trySuccess();
    return true;
}

void ChannelOutput::consume(std::size_t bytes) {
    WEFT_ASSERT(bytes <= flushedBytes(), "a sink reported more bytes than were flushed");
    releaseBytes(bytes);
    completeWritten();
}

void ChannelOutput::releaseBytes(std::uint64_t bytes) noexcept {
    written_.store(writtenPosition() + bytes, std::memory_order_relaxed);
    while (!pieces_.empty()) {
        Buffer& piece = pieces_.front();
        if (piece.readableBytes() > bytes) {
            piece.consumed(static_cast<std::size_t>(bytes));
            return;
        }
        bytes -= piece.readableBytes();
        pieces_.drop();
        countEntries();
        if (bytes == 0) return;
    }
    if (bytes > 0) tail_.consumed(static_cast<std::size_t>(bytes));
}

// Re-entrant: a listener may append, flush and fail everything, so each step reads the state again.
void ChannelOutput::completeWritten() {
    while (flushedMarks_ > 0 && marks_.front().end <= writtenPosition()) {
        const Mark mark = popMark();
        mark.promise.trySuccess();
    }
}

ChannelOutput::Mark ChannelOutput::popMark() noexcept {
    Mark mark = marks_.pop();
    if (flushedMarks_ > 0) {
        --flushedMarks_;
    } else {
        cancellable_ -= mark.cancellable;
    }
    countEntries();
    return mark;
}

// ---- filters ----

void ChannelOutput::passTo(ChannelOutput& encoded, std::size_t bytes) noexcept {
    if (isPlain()) {
        if (bytes > 0) consumePlain(bytes);
        return;
    }
    releaseBytes(bytes);
    while (flushedMarks_ > 0 && marks_.front().end <= writtenPosition()) encoded.mark(popMark().promise);
}

void ChannelOutput::moveTo(ChannelOutput& other) noexcept {
    tail_.moveTo(other.tail_);
    std::swap(pieces_, other.pieces_);
    std::swap(marks_, other.marks_);
    std::swap(cancellable_, other.cancellable_);
    std::swap(flushedMarks_, other.flushedMarks_);
    other.written_.store(writtenPosition(), std::memory_order_relaxed);
    other.added_.store(position(), std::memory_order_relaxed);
    other.flushed_ = flushed_;
    other.countEntries();
    flushed_ = position();
    written_.store(flushed_, std::memory_order_relaxed);
    countEntries();
}

// ---- failing ----

void ChannelOutput::failFlushed(const std::exception_ptr& cause) {
    if (bytesOnly()) {
        releaseBytes(flushedBytes());
    } else {
        written_.store(flushed_, std::memory_order_relaxed);
    }
    // Only the marks that were flushed when this began, not those that listeners add and flush.
    for (std::size_t left = flushedMarks_; left > 0 && flushedMarks_ > 0; --left) {
        if (!bytesOnly()) messages_->drop();
        const Mark mark = popMark();
        mark.promise.tryFailure(cause);
    }
}

void ChannelOutput::failAll(const std::exception_ptr& cause) {
    pieces_.clear();
    tail_.clear();
    if (messages_) messages_->clear();
    flushed_ = position();
    written_.store(flushed_, std::memory_order_relaxed);
    countEntries();
    while (!marks_.empty()) {
        const Mark mark = popMark();
        mark.promise.tryFailure(cause);
    }
}

std::size_t ChannelOutput::heldBytes() const noexcept {
    std::size_t held = tail_.heldBytes();
    const void* last = nullptr;
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
        if (detail::storageOf(pieces_[i]) != last) held += pieces_[i].heldBytes();
        last = detail::storageOf(pieces_[i]);
    }
    return held;
}

}  // namespace weft
