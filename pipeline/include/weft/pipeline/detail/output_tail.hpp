// OutputTail: the bytes at the end of a channel's output, in one run, usually in a block that the channels of a carrier
// share.
#pragma once

#include <cstddef>
#include <string_view>

#include <weft/pipeline/buffer.hpp>
#include <weft/scheduler/assert.hpp>

namespace weft::detail {

// The shared block, one per carrier. In each turn a few connections write one or two hundred bytes each. In one block,
// these touch fewer cache lines and pages than in separate blocks, and need no allocation from the pool.
class OutputBlock {
  public:
    static constexpr std::size_t size = 64 * 1024;  // bytes

    // Throws std::bad_alloc.
    OutputBlock() : OutputBlock(Buffer::allocate(size)) {}
    // A block without room. Lifetime: the whole program.
    static OutputBlock& none() noexcept;

    // Number of OutputTails in this block. None is left after a flush point.
    unsigned users() const noexcept { return users_; }

  private:
    friend class OutputTail;

    explicit OutputBlock(Buffer&& memory) noexcept;

    Buffer share(const char* begin, std::size_t bytes) const noexcept {
        return memory_.slice(static_cast<std::size_t>(begin - memory_.readData()), bytes);
    }
    std::size_t room() const noexcept { return static_cast<std::size_t>(end_ - free_); }
    // The whole block is free again when the last user has left, unless a transport still holds bytes to send.
    void leave() noexcept {
        if (--users_ == 0) reuse();
    }
    void reuse() noexcept {
        if (memory_.unique()) [[likely]] {
            free_ = begin_;
        } else if (room() < enough) {
            replace();
        }
    }
    void replace() noexcept;

    static constexpr std::size_t enough = size / 4;  // of free space for a turn

    Buffer memory_;  // all of it is readable
    char* begin_;
    char* free_;  // all bytes before it are in use
    char* end_;
    unsigned users_ = 0;
};

// The bytes of one channel. Call leaveBlock() at every flush point, since until then they may be in the shared block.
// Context: one carrier. Never blocks. Throws std::bad_alloc where noted.
class OutputTail {
  public:
    static constexpr std::size_t mostShared = 4096;       // bytes that one channel may have in the shared block
    static constexpr std::size_t smallBlock = 2048;       // bytes of a channel's first block of its own
    static constexpr std::size_t largeBlock = 16 * 1024;  // bytes of its further blocks

    OutputTail() = default;
    OutputTail(const OutputTail&) = delete;
    OutputTail& operator=(const OutputTail&) = delete;
    ~OutputTail() { clear(); }

    // Uses `block` as the shared block from now on; before the first call, nothing is shared. Call it only while the
    // tail is not in a block. `block` must outlive the tail, or the call of share(OutputBlock::none()).
    void share(OutputBlock& block) noexcept { block_ = &block; }

    bool empty() const noexcept { return begin_ == end_; }
    std::size_t size() const noexcept { return static_cast<std::size_t>(end_ - begin_); }
    std::string_view view() const noexcept { return {begin_, size()}; }
    // True if the bytes are in the shared block, and must leave it at the flush point.
    bool inBlock() const noexcept { return inBlock_; }
    // Bytes of memory that it keeps from being used otherwise.
    std::size_t heldBytes() const noexcept { return own_ ? own_.heldBytes() : size(); }

    // Returns room for `bytes` (1 or more) after the present bytes, valid until the next call. Null if the present
    // bytes must be taken first. Calls entersBlock() when they are the first in the shared block. Throws
    // std::bad_alloc.
    template <class EntersBlock>
    char* room(std::size_t bytes, EntersBlock entersBlock) {
        WEFT_DEBUG_ASSERT(bytes > 0, "OutputTail::room() called with 0 bytes");
        if (begin_ == nullptr) {
            if (bytes > mostShared || block_->room() < bytes) [[unlikely]]
                return roomSlow(bytes);
            begin_ = end_ = block_->free_;
            ++block_->users_;
            inBlock_ = true;
            entersBlock();
            return end_;
        }
        const bool here = inBlock_ && end_ == block_->free_ && size() + bytes <= mostShared && block_->room() >= bytes;
        return here ? end_ : roomSlow(bytes);
    }
    char* room(std::size_t bytes) {
        return room(bytes, [] {});
    }
    // Adds the first `bytes` of the room.
    void produced(std::size_t bytes) noexcept {
        end_ += bytes;
        if (inBlock_) block_->free_ = end_;
    }
    // Removes the first `bytes`, at most size(). True: none are left.
    bool consumed(std::size_t bytes) noexcept {
        if (bytes == size()) return clear(), true;
        begin_ += bytes;
        return false;
    }
    // Removes `bytes` from `offset` on; they are not pinned.
    void cut(std::size_t offset, std::size_t bytes) noexcept;

    // The bytes stay at their addresses until they are consumed, or as long as a Buffer that take() has returned.
    void pin() noexcept {
        pinned_ = true;
        if (inBlock()) keepShare();
    }
    // Removes all bytes, 1 or more, and returns them. Throws std::bad_alloc, and then nothing has changed.
    Buffer take();
    // Moves all bytes to `other`, which is empty; they stay at their addresses, as after pin().
    void moveTo(OutputTail& other) noexcept;
    // Moves the bytes out of the shared block; if there is no memory, shares it for as long as it has them.
    void leaveBlock() noexcept {
        if (inBlock()) [[unlikely]]
            leaveBlockSlow();
    }
    void clear() noexcept {
        if (inBlock_) [[likely]] {
            exitBlock();
            begin_ = end_ = nullptr;
        } else {
            own_ = Buffer();
            forget();
        }
    }

  private:
    void exitBlock() noexcept {
        block_->leave();
        inBlock_ = false;
    }
    void forget() noexcept {
        begin_ = end_ = limit_ = nullptr;
        pinned_ = false;
    }
    char* roomSlow(std::size_t bytes);
    void moveInto(Buffer&& larger) noexcept;
    void keepShare() noexcept;
    void leaveBlockSlow() noexcept;

    char* begin_ = nullptr;  // null: no bytes and no room
    char* end_ = nullptr;
    OutputBlock* block_ = &OutputBlock::none();
    bool inBlock_ = false;
    bool pinned_ = false;
    Buffer own_;             // only owns the memory; the bytes are in [begin_, end_)
    char* limit_ = nullptr;  // the end of the room in own_
};

}  // namespace weft::detail
