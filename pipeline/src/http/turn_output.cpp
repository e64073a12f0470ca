#include <weft/pipeline/http/turn_output.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

#include <weft/pipeline/detail/copied_bytes.hpp>

namespace weft::http {

TurnBlock& TurnBlock::none() noexcept {
    static TurnBlock block{Buffer()};
    return block;
}

// The shares of the old block keep it until its last byte has been sent. Without memory for a new one the rest of the old
// one is used up, and after that each output has a block of its own.
[[gnu::cold, gnu::noinline]] void TurnBlock::replace() noexcept {
    if (!memory_) return;  // the one without room
    Buffer next = Buffer::tryAllocate(size);
    if (!next) return;
    memory_ = std::move(next);
    free_ = memory_.writeData();
    end_ = free_ + memory_.writableBytes();
}

// It is in a block of its own, or must go there: others have said something behind it, it is long, or the shared block
// is full. Long output is worth a copy, once, to leave in one piece.
char* TurnOutput::roomElsewhere(std::size_t bytes) {
    if (own_) {
        const char* const limit = own_.writeData() + own_.writableBytes();
        if (static_cast<std::size_t>(limit - end_) >= bytes) return end_;
        if (size() + bytes > largeBlock) return nullptr;
    }
    const std::size_t usual = begin_ == nullptr ? smallBlock : largeBlock;
    moveInto(Buffer::allocate(std::max(size() + bytes, usual)));
    return end_;
}

void TurnOutput::moveInto(Buffer&& larger) noexcept {
    const std::size_t bytes = size();
    char* const start = larger.writeData();
    if (bytes > 0) std::memcpy(start, begin_, bytes);
    weft::detail::countCopied(bytes);
    if (shared()) leaveBlock();
    own_ = std::move(larger);
    begin_ = start;
    end_ = start + bytes;
}

void TurnOutput::settle() {
    if (!shared()) return;
    if (empty()) return clear();
    moveInto(Buffer::allocate(size()));
}

Buffer TurnOutput::take() {
    settle();
    Buffer all = std::move(own_);
    if (all) {
        const auto before = static_cast<std::size_t>(begin_ - all.writeData());
        all.produced(static_cast<std::size_t>(end_ - all.writeData()));
        all.consumed(before);
    }
    begin_ = end_ = nullptr;
    return all;
}

}  // namespace weft::http
