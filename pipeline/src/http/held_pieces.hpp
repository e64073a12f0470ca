// HeldPieces: the pieces of a body that nobody has read yet, and the memory that they hold.
#pragma once

#include <cstddef>

#include <weft/pipeline/buffer.hpp>
#include <weft/pipeline/detail/ring.hpp>

namespace weft::http::detail {

// A piece is mostly a slice of a receive buffer and keeps all of it: one byte may hold 64 KiB. So a piece counts with
// its block, once for neighbours in the same one, and small pieces are copied together. Context: one thread at a time.
class HeldPieces {
  public:
    // A piece of up to so many bytes is copied behind the piece before it, or into a block for it and the next ones.
    static constexpr std::size_t smallPiece = 1024;

    bool empty() const noexcept { return pieces_.empty(); }
    std::size_t bytes() const noexcept { return bytes_; }  // that can be read
    std::size_t held() const noexcept { return held_; }    // bytes of memory

    // Adds a piece that is not empty. Throws std::bad_alloc, and then nothing has changed.
    void put(Buffer&& data);
    // The oldest piece; there is one.
    Buffer pop() noexcept;
    void clear() noexcept;

  private:
    struct Piece {
        Buffer data;
        std::size_t held = 0;  // what its leaving frees
        bool joined = false;   // in a block of ours, with room for more
    };

    static std::size_t heldBy(const Buffer& data) noexcept;
    void join(const Buffer& data);
    void keep(Buffer&& data);
    void add(Piece&& piece);

    weft::detail::Ring<Piece> pieces_;
    std::size_t bytes_ = 0;
    std::size_t held_ = 0;
};

}  // namespace weft::http::detail
