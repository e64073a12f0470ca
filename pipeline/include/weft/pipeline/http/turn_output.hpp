// TurnOutput: what a codec has said since the last flush point, mostly in a block that the codecs of a carrier share.
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>

#include <weft/pipeline/buffer.hpp>
#include <weft/scheduler/assert.hpp>

namespace weft::http {

// A few connections answer in each turn, in a hundred bytes or two each: behind one another in one block these touch
// fewer cache lines and pages than in a block for each, and cost no visit to the pool. One per carrier.
class TurnBlock {
  public:
    static constexpr std::size_t size = 64 * 1024;  // bytes

    // Throws std::bad_alloc.
    TurnBlock() : TurnBlock(Buffer::allocate(size)) {}
    // Without room. Lives for ever.
    static TurnBlock& none() noexcept;

    // How many TurnOutputs have something here; what was said before a flush point is gone behind it.
    unsigned users() const noexcept { return users_; }
    // Owns the bytes that are here. To keep some of them for longer than their TurnOutput does, take a share of it.
    const Buffer& memory() const noexcept { return memory_; }

  private:
    friend class TurnOutput;

    explicit TurnBlock(Buffer&& memory) noexcept
        : memory_(std::move(memory)), free_(memory_.writeData()), end_(free_ + memory_.writableBytes()) {}

    // When the last user has left: all of it is free, unless a transport has not sent what was said.
    void reuse() noexcept {
        if (memory_.unique()) [[likely]] {
            free_ = memory_.writeData();
        } else if (static_cast<std::size_t>(end_ - free_) < enough) {
            replace();
        }
    }
    void replace() noexcept;

    static constexpr std::size_t enough = size / 4;  // for a turn

    Buffer memory_;
    char* free_;  // all before it is used
    char* end_;
    unsigned users_ = 0;
};

// Bytes of one connection, in order. In the shared block they may stay until the flush point, when settle() is the
// least that must happen. Context: one carrier. Blocks never; throws std::bad_alloc where said.
class TurnOutput {
  public:
    static constexpr std::size_t mostShared = 4096;       // bytes of one connection in the shared block
    static constexpr std::size_t smallBlock = 2048;       // bytes of the first block of its own
    static constexpr std::size_t largeBlock = 16 * 1024;  // bytes, of the next

    // Before that nothing is shared. Lifetime of `block`: until the last clear(), take() or settle(), one of which must
    // come before this object's end. Call it while nothing is shared.
    void share(TurnBlock& block) noexcept { block_ = &block; }

    bool empty() const noexcept { return begin_ == end_; }
    std::size_t size() const noexcept { return static_cast<std::size_t>(end_ - begin_); }
    std::string_view view() const noexcept { return {begin_, size()}; }
    // Owns the bytes; as TurnBlock::memory() when they are shared.
    const Buffer& storage() const noexcept { return own_ ? own_ : block_->memory(); }
    // In the shared block.
    bool shared() const noexcept { return begin_ != nullptr && !own_; }

    // Room for `bytes` (1 or more) behind the others, until the next call. Null: there is none before the others are
    // taken. `leaving`: they will be taken, and need not be shared for that. Throws std::bad_alloc.
    char* room(std::size_t bytes, bool leaving = false) {
        WEFT_DEBUG_ASSERT(bytes > 0, "TurnOutput::room() for nothing");
        if (leaving && begin_ == nullptr) return roomElsewhere(bytes);
        const bool here = shared() ? end_ == block_->free_ && size() + bytes <= mostShared : begin_ == nullptr;
        if (!here || static_cast<std::size_t>(block_->end_ - block_->free_) < bytes) [[unlikely]]
            return roomElsewhere(bytes);
        if (begin_ == nullptr) {
            begin_ = end_ = block_->free_;
            ++block_->users_;
        }
        return end_;
    }
    // So many bytes have been put into the room.
    void produced(std::size_t bytes) noexcept {
        end_ += bytes;
        if (!own_) block_->free_ = end_;
    }
    // Forgets the first bytes, at most size().
    void consumed(std::size_t bytes) noexcept { begin_ += bytes; }

    // All bytes, and leaves nothing. Throws std::bad_alloc, and then nothing has changed.
    Buffer take();
    // Moves out of the shared block. Throws std::bad_alloc, and then nothing has changed.
    void settle();
    void clear() noexcept {
        if (shared()) [[likely]] {
            leaveBlock();
        } else {
            own_ = Buffer();
        }
        begin_ = end_ = nullptr;
    }

  private:
    char* roomElsewhere(std::size_t bytes);
    void moveInto(Buffer&& larger) noexcept;
    void leaveBlock() noexcept {
        if (--block_->users_ == 0) block_->reuse();
    }

    char* begin_ = nullptr;  // null: nothing, and no room
    char* end_ = nullptr;
    TurnBlock* block_ = &TurnBlock::none();
    Buffer own_;  // its block only: the bytes are between the pointers
};

}  // namespace weft::http
