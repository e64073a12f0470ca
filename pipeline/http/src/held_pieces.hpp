// HeldPieces: the unread pieces of a body, and the memory that they hold.
#pragma once

#include <cstddef>

#include <weft/pipeline/buffer.hpp>
#include <weft/pipeline/detail/ring.hpp>

namespace weft::http::detail {

// A piece is usually a slice of a receive buffer and keeps the whole buffer: one byte may hold 64 KiB. So a piece
// counts with its block (once for neighbours in the same block), and small pieces are copied into joined blocks.
// Context: one thread at a time.
class HeldPieces {
  public:
    // Pieces of up to this many bytes are copied after the previous joined piece, or into a new block with room for the
    // next ones.
    static constexpr std::size_t smallPiece = 1024;

    bool empty() const noexcept { return pieces_.empty(); }
    std::size_t bytes() const noexcept { return bytes_; }  // readable bytes
    std::size_t held() const noexcept { return held_; }    // bytes of memory held

    // Adds a piece, which must not be empty. If it throws std::bad_alloc, nothing has changed.
    void put(Buffer&& data);
    // Removes and returns the oldest piece. There must be one.
    Buffer pop() noexcept;
    void clear() noexcept;

  private:
    struct Piece {
        Buffer data;
        std::size_t held = 0;  // bytes that its removal frees
        bool joined = false;   // in a joined block, which may have room for more
    };

    void join(const Buffer& data);
    void keep(Buffer&& data);
    void add(Piece&& piece);

    weft::detail::Ring<Piece> pieces_;
    std::size_t bytes_ = 0;
    std::size_t held_ = 0;
};

}  // namespace weft::http::detail
