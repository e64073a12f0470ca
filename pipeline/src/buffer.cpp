#include <weft/pipeline/buffer.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>

#include <weft/pipeline/detail/copied_bytes.hpp>
#include <weft/scheduler/assert.hpp>

namespace weft {

const void* detail::storageOf(const Buffer& buffer) noexcept {
    return buffer.block_;
}

Buffer Buffer::copyOf(std::string_view bytes) {
    Buffer buffer = allocate(bytes.size());
    if (!bytes.empty()) std::memcpy(buffer.write_, bytes.data(), bytes.size());
    buffer.write_ += bytes.size();
    detail::countCopied(bytes.size());
    return buffer;
}

void Buffer::clear() noexcept {
    if (unique()) {
        read_ = write_ = block_->data();
    } else {
        read_ = write_;
    }
}

Buffer Buffer::slice(std::size_t offset, std::size_t length) const noexcept {
    WEFT_ASSERT(offset <= readableBytes() && length <= readableBytes() - offset, "Buffer::slice() out of range");
    if (block_) block_->retain();
    return Buffer(block_, read_ + offset, read_ + offset + length, read_ + offset + length);
}

Buffer Buffer::split(std::size_t n) noexcept {
    Buffer first = slice(0, n);
    read_ += n;
    return first;
}

void Buffer::append(std::string_view bytes) {
    if (bytes.empty()) return;
    if (!unique() || writableBytes() < bytes.size()) ensureWritable(bytes.size());
    std::memcpy(write_, bytes.data(), bytes.size());
    write_ += bytes.size();
    detail::countCopied(bytes.size());
}

void Buffer::ensureWritable(std::size_t n) {
    const std::size_t readable = readableBytes();
    if (unique()) {
        if (writableBytes() >= n) return;
        // The only owner may use the whole block, including what former owners used after its own end.
        if (block_->capacity - readable >= n && readable <= block_->capacity / 2) {
            if (readable > 0) std::memmove(block_->data(), read_, readable);
            detail::countCopied(readable);
            read_ = block_->data();
            write_ = read_ + readable;
            end_ = block_->data() + block_->capacity;
            return;
        }
    }
    const std::size_t more = std::max(n, readable);
    Buffer larger = allocate(more > SIZE_MAX - readable ? SIZE_MAX : readable + more);  // throws for that much
    if (readable > 0) std::memcpy(larger.write_, read_, readable);
    larger.write_ += readable;
    detail::countCopied(readable);
    swap(larger);
}

[[gnu::cold]] void Buffer::throwTooFewBytes(std::size_t offset, std::size_t size) const {
    throw std::out_of_range("a Buffer of " + std::to_string(readableBytes()) + " readable bytes has no integer of " +
                            std::to_string(size) + " bytes at offset " + std::to_string(offset));
}

}  // namespace weft
