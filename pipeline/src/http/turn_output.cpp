#include <weft/pipeline/http/turn_output.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

#include <weft/pipeline/detail/copied_bytes.hpp>

namespace weft::http {

// Others have said something behind it, or it is long, or much has been said by all.
char* TurnOutput::roomElsewhere(std::size_t bytes) {
    if (own_) return static_cast<std::size_t>(own_.writeData() + own_.writableBytes() - end_) < bytes ? nullptr : end_;
    const std::size_t usual = shared() ? ownBlock : mostShared;
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
