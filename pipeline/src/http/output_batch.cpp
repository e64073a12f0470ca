#include <weft/pipeline/http/detail/output_batch.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

#include <weft/pipeline/detail/copied_bytes.hpp>

namespace weft::http::detail {

OutputBlock& OutputBlock::none() noexcept {
    static OutputBlock block{Buffer()};
    return block;
}

// Shares keep the old block until its last byte has been sent. If there is no memory for a new block, the rest of the
// old one is used up; then each batch gets a block of its own.
[[gnu::cold, gnu::noinline]] void OutputBlock::replace() noexcept {
    if (!memory_) return;  // none() stays without room
    Buffer next = Buffer::tryAllocate(size);
    if (!next) return;
    memory_ = std::move(next);
    free_ = memory_.writeData();
    end_ = free_ + memory_.writableBytes();
}

// The bytes are in a block of their own, or must move there: another batch has added bytes after them, they are too
// long, or the shared block is full. Copying them once lets a long output leave in one piece.
char* OutputBatch::roomSlow(std::size_t bytes) {
    if (own_) {
        const char* const limit = own_.writeData() + own_.writableBytes();
        if (static_cast<std::size_t>(limit - end_) >= bytes) return end_;
        if (size() + bytes > largeBlock) return nullptr;
    }
    const std::size_t usual = begin_ == nullptr ? smallBlock : largeBlock;
    moveInto(Buffer::allocate(std::max(size() + bytes, usual)));
    return end_;
}

void OutputBatch::moveInto(Buffer&& larger) noexcept {
    const std::size_t bytes = size();
    char* const start = larger.writeData();
    if (bytes > 0) std::memcpy(start, begin_, bytes);
    weft::detail::countCopied(bytes);
    if (shared()) leaveBlock();
    own_ = std::move(larger);
    begin_ = start;
    end_ = start + bytes;
}

void OutputBatch::unshare() {
    if (!shared()) return;
    if (empty()) return clear();
    moveInto(Buffer::allocate(size()));
}

Buffer OutputBatch::take() {
    unshare();
    Buffer all = std::move(own_);
    if (all) {
        const auto before = static_cast<std::size_t>(begin_ - all.writeData());
        all.produced(static_cast<std::size_t>(end_ - all.writeData()));
        all.consumed(before);
    }
    begin_ = end_ = nullptr;
    return all;
}

}  // namespace weft::http::detail
