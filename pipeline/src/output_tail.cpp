#include <weft/pipeline/detail/output_tail.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

#include <weft/pipeline/detail/copied_bytes.hpp>
#include <weft/pipeline/detail/held_bytes.hpp>

namespace weft::detail {

OutputBlock::OutputBlock(Buffer&& memory) noexcept
    : memory_(std::move(memory)), begin_(memory_.writeData()), free_(begin_), end_(begin_ + memory_.writableBytes()) {
    memory_.produced(memory_.writableBytes());
}

OutputBlock& OutputBlock::none() noexcept {
    static OutputBlock block{Buffer()};
    return block;
}

// Shares keep the old block until its last byte has been sent. If there is no memory for a new block, the rest of the
// old one is used up; then each tail gets a block of its own.
[[gnu::cold, gnu::noinline]] void OutputBlock::replace() noexcept {
    if (!memory_) return;  // none() stays without room
    Buffer next = Buffer::tryAllocate(size);
    if (!next) return;
    begin_ = free_ = next.writeData();
    end_ = begin_ + next.writableBytes();
    next.produced(next.writableBytes());
    memory_ = std::move(next);
}

// The bytes are in a block of their own, or must move there: another tail has added bytes after them, they are too
// long, or the shared block is full. Copying them once lets a long output leave in one piece.
char* OutputTail::roomSlow(std::size_t bytes) {
    if (own_) {
        if (static_cast<std::size_t>(limit_ - end_) >= bytes) return end_;
        if (pinned_ || size() + bytes > largeBlock) return nullptr;
    }
    const std::size_t usual = begin_ == nullptr ? smallBlock : largeBlock;
    moveInto(Buffer::allocate(std::max(size() + bytes, usual)));
    return end_;
}

void OutputTail::moveInto(Buffer&& larger) noexcept {
    const std::size_t bytes = size();
    char* const start = larger.writeData();
    if (bytes > 0) std::memcpy(start, begin_, bytes);
    countCopied(bytes);
    if (inBlock_) exitBlock();
    own_ = std::move(larger);
    begin_ = start;
    end_ = start + bytes;
    limit_ = start + own_.writableBytes();
}

void OutputTail::keepShare() noexcept {
    own_ = block_->share(begin_, size());
    limit_ = end_;
    exitBlock();
}

[[gnu::noinline]] void OutputTail::leaveBlockSlow() noexcept {
    if (empty()) return clear();
    if (Buffer own = Buffer::tryAllocate(size())) return moveInto(std::move(own));
    keepShare();
}

void OutputTail::moveTo(OutputTail& other) noexcept {
    if (empty()) return clear();
    pin();
    other.own_ = std::move(own_);
    other.begin_ = begin_;
    other.end_ = end_;
    other.limit_ = limit_;
    other.pinned_ = true;
    forget();
}

void OutputTail::cut(std::size_t offset, std::size_t bytes) noexcept {
    char* const from = begin_ + offset;
    std::memmove(from, from + bytes, size() - offset - bytes);
    if (inBlock() && block_->free_ == end_) block_->free_ -= bytes;
    end_ -= bytes;
    if (begin_ == end_) clear();
}

// A few bytes of a block are copied, so that the bytes that a channel counts bound the memory that it holds.
Buffer OutputTail::take() {
    const std::size_t held = own_.heldBytes();
    const bool isSparse = !pinned_ && held > freelyHeldBytes && size() * mostHeldPerByte < held;
    if (inBlock()) moveInto(Buffer::allocate(size()));
    if (isSparse) {
        if (Buffer dense = Buffer::tryAllocate(size())) moveInto(std::move(dense));
    }
    Buffer all = std::exchange(own_, Buffer());
    if (all.empty()) {
        const auto before = static_cast<std::size_t>(begin_ - all.writeData());
        all.produced(static_cast<std::size_t>(end_ - all.writeData()));
        all.consumed(before);
    } else {  // a share
        all = all.slice(static_cast<std::size_t>(begin_ - all.readData()), size());
    }
    forget();
    return all;
}

}  // namespace weft::detail
