// OutputBatch: the bytes that a codec has encoded since the last flush point, usually in a block that the codecs of a
// carrier share.
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>

#include <weft/pipeline/buffer.hpp>
#include <weft/scheduler/assert.hpp>

namespace weft::http::detail {

// The shared block, one per carrier. In each turn a few connections write one or two hundred bytes each. In one block,
// these touch fewer cache lines and pages than in separate blocks, and need no allocation from the pool.
class OutputBlock {
  public:
    static constexpr std::size_t size = 64 * 1024;  // bytes

    // Throws std::bad_alloc.
    OutputBlock() : OutputBlock(Buffer::allocate(size)) {}
    // A block without room. Lifetime: the whole program.
    static OutputBlock& none() noexcept;

    // Number of OutputBatches with bytes in this block. Bytes written before a flush point have left the block after
    // it.
    unsigned users() const noexcept { return users_; }
    // Owns the bytes in this block. Share this Buffer to keep bytes for longer than their OutputBatch does.
    const Buffer& memory() const noexcept { return memory_; }

  private:
    friend class OutputBatch;

    explicit OutputBlock(Buffer&& memory) noexcept
        : memory_(std::move(memory)), free_(memory_.writeData()), end_(free_ + memory_.writableBytes()) {}

    // Called when the last user has left. The whole block is free again, unless a transport still holds bytes to send.
    void reuse() noexcept {
        if (memory_.unique()) [[likely]] {
            free_ = memory_.writeData();
        } else if (static_cast<std::size_t>(end_ - free_) < enough) {
            replace();
        }
    }
    void replace() noexcept;

    static constexpr std::size_t enough = size / 4;  // of free space for a turn

    Buffer memory_;
    char* free_;  // all bytes before it are in use
    char* end_;
    unsigned users_ = 0;
};

// The bytes of one connection, in order. Call take(), clear() or unshare() at every flush point: until then the bytes
// may be in the shared block. Context: one carrier. Never blocks. Throws std::bad_alloc where noted.
class OutputBatch {
  public:
    static constexpr std::size_t mostShared = 4096;       // bytes that one connection may have in the shared block
    static constexpr std::size_t smallBlock = 2048;       // bytes of a connection's first block of its own
    static constexpr std::size_t largeBlock = 16 * 1024;  // bytes of its further blocks

    // Uses `block` as the shared block from now on; before the first call, nothing is shared. Call it only while
    // shared() is false. `block` must live until the last clear(), take() or unshare(), one of which must precede the
    // destruction of this object.
    void share(OutputBlock& block) noexcept { block_ = &block; }

    bool empty() const noexcept { return begin_ == end_; }
    std::size_t size() const noexcept { return static_cast<std::size_t>(end_ - begin_); }
    std::string_view view() const noexcept { return {begin_, size()}; }
    // Owns the bytes: OutputBlock::memory() if they are shared.
    const Buffer& storage() const noexcept { return own_ ? own_ : block_->memory(); }
    // True if the bytes are in the shared block.
    bool shared() const noexcept { return begin_ != nullptr && !own_; }

    // Returns room for `bytes` (1 or more) after the present bytes, valid until the next call. Null if the present
    // bytes must be taken first. `leaving`: take() follows, so an empty batch uses a block of its own. Throws
    // std::bad_alloc.
    char* room(std::size_t bytes, bool leaving = false) {
        WEFT_DEBUG_ASSERT(bytes > 0, "OutputBatch::room() called with 0 bytes");
        if (leaving && begin_ == nullptr) return roomSlow(bytes);
        const bool here = shared() ? end_ == block_->free_ && size() + bytes <= mostShared : begin_ == nullptr;
        if (!here || static_cast<std::size_t>(block_->end_ - block_->free_) < bytes) [[unlikely]]
            return roomSlow(bytes);
        if (begin_ == nullptr) {
            begin_ = end_ = block_->free_;
            ++block_->users_;
        }
        return end_;
    }
    // Adds the first `bytes` of the room to the batch.
    void produced(std::size_t bytes) noexcept {
        end_ += bytes;
        if (!own_) block_->free_ = end_;
    }
    // Removes the first `bytes`, at most size().
    void consumed(std::size_t bytes) noexcept { begin_ += bytes; }

    // Returns all bytes and leaves the batch empty. If it throws std::bad_alloc, nothing has changed.
    Buffer take();
    // Moves the bytes out of the shared block. If it throws std::bad_alloc, nothing has changed.
    void unshare();
    void clear() noexcept {
        if (shared()) [[likely]] {
            leaveBlock();
        } else {
            own_ = Buffer();
        }
        begin_ = end_ = nullptr;
    }

  private:
    char* roomSlow(std::size_t bytes);
    void moveInto(Buffer&& larger) noexcept;
    void leaveBlock() noexcept {
        if (--block_->users_ == 0) block_->reuse();
    }

    char* begin_ = nullptr;  // null: no bytes and no room
    char* end_ = nullptr;
    OutputBlock* block_ = &OutputBlock::none();
    Buffer own_;  // only owns the block; the bytes are in [begin_, end_)
};

}  // namespace weft::http::detail
