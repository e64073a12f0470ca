#include <weft/pipeline/detail/thread_cache.hpp>

#include <array>
#include <utility>

#include "sanitizer.hpp"

namespace weft::detail {

namespace {

constexpr std::size_t step = 64;        // bytes between two classes
constexpr std::size_t classCount = 16;  // 64 .. 1024 bytes
constexpr int maxIdlePerClass = 256;

struct FreeBlock {
    FreeBlock* next;
};

// Has no room, and so no blocks, before the thread's first release and after the thread's end.
struct Lists {
    std::array<FreeBlock*, classCount> first{};
    std::array<int, classCount> room{};  // how many more blocks each may take
    bool open = false;
    bool ended = false;
};
constinit thread_local Lists lists;

struct ListsEnd {
    ~ListsEnd() {
        const Lists left = std::exchange(lists, Lists{.ended = true});
        for (FreeBlock* block : left.first) {
            while (block) {
                FreeBlock* next = block->next;
                ::operator delete(block);
                block = next;
            }
        }
    }
};

bool openLists() noexcept {
    if (lists.open || lists.ended) return false;
    static thread_local ListsEnd end;
    lists.room.fill(maxIdlePerClass);
    return lists.open = true;
}

constexpr std::size_t classOf(std::size_t size) noexcept {
    return (size - 1) / step;
}

}  // namespace

// Not inlined: the address of a thread-local must not be kept across a fiber switch.
[[gnu::noinline]] void* ThreadCache::take(std::size_t size) {
    static_assert(largest == step * classCount);
    if (addressSanitizer) return ::operator new(size);
    const std::size_t index = classOf(size);
    FreeBlock* const block = lists.first[index];
    if (!block) [[unlikely]]
        return ::operator new((index + 1) * step);
    lists.first[index] = block->next;
    ++lists.room[index];
    return block;
}

[[gnu::noinline]] void ThreadCache::put(void* block, std::size_t size) noexcept {
    if (addressSanitizer) return ::operator delete(block);
    const std::size_t index = classOf(size);
    if (--lists.room[index] < 0) [[unlikely]]
        return putWithoutRoom(block, size);
    lists.first[index] = ::new (block) FreeBlock{lists.first[index]};
}

// There is no room: this is the thread's first release, the list is full, or the thread has ended.
[[gnu::cold, gnu::noinline]] void ThreadCache::putWithoutRoom(void* block, std::size_t size) noexcept {
    ++lists.room[classOf(size)];
    openLists() ? put(block, size) : ::operator delete(block);
}

}  // namespace weft::detail
