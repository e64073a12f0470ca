// Buffer: a move-only view of a ref-counted, pooled, contiguous block of bytes; what channels read and write.
#pragma once

#include <cstddef>
#include <new>
#include <string_view>
#include <utility>

#include <weft/pipeline/detail/buffer_block.hpp>
#include <weft/scheduler/assert.hpp>

namespace weft {

class Buffer;
namespace detail {
const void* storageOf(const Buffer& buffer) noexcept;  // which block it is in; null: none
}

// Readable bytes lie between the read and the write index, writable ones behind them. Bytes are appended and consumed
// by one owner; share(), slice() and split() make further owners of the same bytes, which are read-only for as long as
// they are shared. The writable tail always belongs to exactly one of them: the one it was made from. Context: one
// thread at a time; an owner may be moved to, and dropped on, any other thread. Blocks never; allocates only where said
// (from the pool, which calls malloc when it is empty). Lifetime: pointers and views live until the next call that is
// not const, and no longer than the last owner.
class Buffer {
  public:
    Buffer() noexcept = default;
    // All reads before the writes: so the compiler moves two pointers at a time.
    Buffer(Buffer&& other) noexcept
        : block_(other.block_), read_(other.read_), write_(other.write_), end_(other.end_) {
        other.forget();
    }
    Buffer& operator=(Buffer&& other) noexcept {
        if (this == &other) return *this;
        if (block_) block_->release();
        Buffer taken(std::move(other));
        block_ = taken.block_;
        read_ = taken.read_;
        write_ = taken.write_;
        end_ = taken.end_;
        taken.forget();
        return *this;
    }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer() {
        if (block_) block_->release();
    }

    // An empty buffer with at least `minCapacity` writable bytes, from the calling thread's pool. Throws
    // std::bad_alloc.
    static Buffer allocate(std::size_t minCapacity) {
        detail::BufferBlock* const block = detail::BufferBlock::take(minCapacity);
        char* const start = block->data();
        return Buffer(block, start, start, start + block->capacity);
    }
    // As allocate(); without memory the buffer is null (see operator bool).
    static Buffer tryAllocate(std::size_t minCapacity) noexcept {
        try {
            return allocate(minCapacity);
        } catch (const std::bad_alloc&) {
            return {};
        }
    }
    static Buffer copyOf(std::string_view bytes);
    // Bytes that outlive every owner (a literal): never freed, not writable, no allocation.
    static Buffer wrapStatic(std::string_view bytes) noexcept {
        // Never written through: writableBytes() is 0 and unique() is false.
        char* const start = const_cast<char*>(bytes.data() ? bytes.data() : "");
        return Buffer(nullptr, start, start + bytes.size(), start + bytes.size());
    }

    bool empty() const noexcept { return read_ == write_; }
    std::size_t readableBytes() const noexcept { return static_cast<std::size_t>(write_ - read_); }
    std::size_t writableBytes() const noexcept { return static_cast<std::size_t>(end_ - write_); }
    // Bytes from the start of the storage to the end of what this owner may use.
    std::size_t capacity() const noexcept { return static_cast<std::size_t>(end_ - begin()); }
    const char* readData() const noexcept { return read_; }
    char* writeData() noexcept { return write_; }
    std::string_view view() const noexcept { return {read_, readableBytes()}; }

    // Moves the write index over `n` bytes that were put at writeData(); n <= writableBytes().
    void produced(std::size_t n) noexcept {
        WEFT_ASSERT(n <= writableBytes(), "Buffer::produced() beyond the capacity");
        write_ += n;
    }
    // Moves the read index; n <= readableBytes().
    void consumed(std::size_t n) noexcept {
        WEFT_ASSERT(n <= readableBytes(), "Buffer::consumed() beyond the readable bytes");
        read_ += n;
    }
    // Forgets all bytes. Space comes back when this is the only owner.
    void clear() noexcept;

    // A second owner of the readable bytes.
    Buffer share() const noexcept;
    // A second owner of `length` readable bytes from `offset` on; offset + length <= readableBytes().
    Buffer slice(std::size_t offset, std::size_t length) const noexcept;
    // Takes the first `n` readable bytes off, without copying; n <= readableBytes(). Taking all leaves the tail here.
    Buffer split(std::size_t n) noexcept;
    // Adds a copy of `bytes`; reallocates when shared or full. `bytes` must not lie in this buffer.
    void append(std::string_view bytes);
    // Makes room for `n` writable bytes: moves the readable bytes to the front, or to a larger block. Throws
    // std::bad_alloc; then nothing has changed.
    void ensureWritable(std::size_t n);

    // Bytes of the block that this owner keeps alive, with its other owners; 0 for static bytes. What a queue of
    // Buffers costs is the sum of these over its blocks, not of readableBytes().
    std::size_t heldBytes() const noexcept { return block_ ? block_->capacity : 0; }
    // True when nobody else holds these bytes (false for static ones, which nobody may change).
    bool unique() const noexcept { return block_ && block_->unique(); }
    // True when it has storage, even if there is nothing to read.
    explicit operator bool() const noexcept { return read_ != nullptr; }

    void swap(Buffer& other) noexcept {
        std::swap(block_, other.block_);
        std::swap(read_, other.read_);
        std::swap(write_, other.write_);
        std::swap(end_, other.end_);
    }

  private:
    friend const void* detail::storageOf(const Buffer& buffer) noexcept;

    Buffer(detail::BufferBlock* block, char* read, char* write, char* end) noexcept
        : block_(block), read_(read), write_(write), end_(end) {}
    void forget() noexcept {
        block_ = nullptr;
        read_ = write_ = end_ = nullptr;
    }
    const char* begin() const noexcept { return block_ ? block_->data() : read_; }

    detail::BufferBlock* block_ = nullptr;  // null: empty or static
    char* read_ = nullptr;
    char* write_ = nullptr;
    char* end_ = nullptr;
};

}  // namespace weft
