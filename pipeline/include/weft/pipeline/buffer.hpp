// Buffer: a move-only view of a ref-counted, pooled, contiguous block of bytes; what channels read and write.
#pragma once

#include <bit>
#include <cstddef>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>

#include <weft/pipeline/detail/buffer_block.hpp>
#include <weft/pipeline/detail/wire_number.hpp>
#include <weft/scheduler/assert.hpp>

namespace weft {

class Buffer;
namespace detail {
const void* storageOf(const Buffer& buffer) noexcept;  // identifies its block; null: none
}

// Readable bytes lie between the read and the write index; writable bytes follow them. Each Buffer is one owner of its
// block. share(), slice() and split() make further owners of the same bytes, which are read-only while they are shared.
// The writable tail belongs to one owner only: it stays with the Buffer on which the call was made. Context: one thread
// at a time; an owner may be moved to another thread and destroyed there. Never blocks. Allocates only where stated,
// from the pool, which calls malloc when it is empty. Lifetime: pointers and views are valid until the next call that
// is not const, and no longer than the last owner.
class Buffer {
  public:
    Buffer() noexcept = default;
    // Reads all members before it writes any, so that the compiler moves two pointers at a time.
    Buffer(Buffer&& other) noexcept : block_(other.block_), read_(other.read_), write_(other.write_), end_(other.end_) {
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
    // As allocate(), but returns a null buffer (see operator bool) when there is no memory.
    static Buffer tryAllocate(std::size_t minCapacity) noexcept {
        try {
            return allocate(minCapacity);
        } catch (const std::bad_alloc&) {
            return {};
        }
    }
    static Buffer copyOf(std::string_view bytes);
    // Wraps bytes that outlive every owner, such as a literal: never freed, not writable. Does not allocate.
    static Buffer wrapStatic(std::string_view bytes) noexcept {
        // No one writes through this pointer: writableBytes() is 0 and unique() is false.
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

    // Advances the write index past `n` bytes that were written to writeData(); n <= writableBytes().
    void produced(std::size_t n) noexcept {
        WEFT_ASSERT(n <= writableBytes(), "Buffer::produced() beyond the capacity");
        write_ += n;
    }
    // Advances the read index; n <= readableBytes().
    void consumed(std::size_t n) noexcept {
        WEFT_ASSERT(n <= readableBytes(), "Buffer::consumed() beyond the readable bytes");
        read_ += n;
    }
    // Drops all readable bytes. The only owner gets their space back.
    void clear() noexcept;

    // Another owner of the readable bytes.
    Buffer share() const noexcept { return slice(0, readableBytes()); }
    // Another owner of `length` readable bytes from `offset` on; offset + length <= readableBytes().
    Buffer slice(std::size_t offset, std::size_t length) const noexcept;
    // Removes the first `n` readable bytes and returns them, without copying; n <= readableBytes(). The writable tail
    // stays here, also when all are removed.
    Buffer split(std::size_t n) noexcept;
    // Appends a copy of `bytes`; reallocates when shared or full. `bytes` must not lie in this buffer.
    void append(std::string_view bytes);
    // ---- numbers: integers, floating-point values and enumerations of 1, 2, 4 or 8 bytes; not bool ----
    // buffer.read<std::uint32_t>() removes the first readable bytes and returns them as a number, in network byte order
    // unless `order` is std::endian::little. Throws std::out_of_range, and removes nothing, when too few are readable.
    template <detail::WireNumber T>
    T read(std::endian order = std::endian::big) {
        const T number = get<T>(0, order);
        read_ += sizeof(T);
        return number;
    }
    // As read(), from `offset` readable bytes on, and removes nothing.
    template <detail::WireNumber T>
    T get(std::size_t offset, std::endian order = std::endian::big) const {
        if (readableBytes() < sizeof(T) || offset > readableBytes() - sizeof(T)) [[unlikely]]
            throwTooFewBytes(offset, sizeof(T));
        return detail::loadNumber<T>(read_ + offset, order);
    }
    // Appends a number: buffer.write<std::uint16_t>(80). The type must be spelled. As append() otherwise.
    template <detail::WireNumber T>
    void write(std::type_identity_t<T> number, std::endian order = std::endian::big) {
        if (!unique() || writableBytes() < sizeof(T)) ensureWritable(sizeof(T));
        detail::storeNumber<T>(write_, number, order);
        write_ += sizeof(T);
    }
    // The offset of the first occurrence of `bytes` at or after `from`, among the readable bytes; npos when there is
    // none.
    static constexpr std::size_t npos = std::string_view::npos;
    std::size_t indexOf(std::string_view bytes, std::size_t from = 0) const noexcept {
        return view().find(bytes, from);
    }
    std::size_t indexOf(char byte, std::size_t from = 0) const noexcept { return view().find(byte, from); }

    // Makes room for `n` writable bytes: moves the readable bytes to the front of the block, or copies them to a larger
    // one. Throws std::bad_alloc and then changes nothing.
    void ensureWritable(std::size_t n);

    // Capacity of the block that this and its other owners keep alive; 0 for static bytes. A queue of Buffers costs the
    // sum of these over its distinct blocks, not the sum of readableBytes().
    std::size_t heldBytes() const noexcept { return block_ ? block_->capacity : 0; }
    // True when this is the only owner. False for static bytes, which must not change.
    bool unique() const noexcept { return block_ && block_->unique(); }
    // True when it has storage, even if no bytes are readable.
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
    [[noreturn]] void throwTooFewBytes(std::size_t offset, std::size_t size) const;
    const char* begin() const noexcept { return block_ ? block_->data() : read_; }

    detail::BufferBlock* block_ = nullptr;  // null: empty or static
    char* read_ = nullptr;
    char* write_ = nullptr;
    char* end_ = nullptr;
};

}  // namespace weft
