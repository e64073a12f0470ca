#include "held_pieces.hpp"

#include <algorithm>
#include <utility>

namespace weft::http::detail {

namespace {

constexpr std::size_t firstBlock = 256;  // bytes of the first joined block; each consecutive one is 8 times larger
constexpr std::size_t largestBlock = 16 * 1024;

}  // namespace

void HeldPieces::put(Buffer&& data) {
    const std::size_t size = data.readableBytes();
    size <= smallPiece ? join(data) : keep(std::move(data));
    bytes_ += size;
}

Buffer HeldPieces::pop() noexcept {
    Piece piece = pieces_.pop();
    bytes_ -= piece.data.readableBytes();
    held_ -= piece.held;
    return std::move(piece.data);
}

void HeldPieces::clear() noexcept {
    pieces_.clear();
    bytes_ = held_ = 0;
}

void HeldPieces::join(const Buffer& data) {
    std::size_t block = firstBlock;
    if (!pieces_.empty() && pieces_.back().joined) {
        Buffer& last = pieces_.back().data;
        if (last.writableBytes() >= data.readableBytes()) return last.append(data.view());
        block = std::min(last.capacity() * 8, largestBlock);
    }
    Buffer joined = Buffer::allocate(std::max(block, data.readableBytes()));
    joined.append(data.view());
    add({std::move(joined), 0, true});
}

// Neighbours in one block count it once, with the last of them, whose removal frees it.
void HeldPieces::keep(Buffer&& data) {
    const void* const block = weft::detail::storageOf(data);
    const bool neighbour =
        !pieces_.empty() && block != nullptr && block == weft::detail::storageOf(pieces_.back().data);
    add({std::move(data), 0, false});
    if (!neighbour) return;
    Piece& before = pieces_[pieces_.size() - 2];
    held_ -= before.held - sizeof(Piece);
    before.held = sizeof(Piece);
}

void HeldPieces::add(Piece&& piece) {
    const std::size_t block = piece.data.heldBytes();
    piece.held = sizeof(Piece) + (block != 0 ? sizeof(weft::detail::BufferBlock) + block : 0);
    pieces_.push(std::move(piece));
    held_ += pieces_.back().held;
}

}  // namespace weft::http::detail
