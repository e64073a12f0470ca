#include <weft/pipeline/detail/thread_cache.hpp>

#include <array>
#include <new>

#include "sanitizer.hpp"

namespace weft::detail {

namespace {

constexpr std::size_t step = 64;        // bytes between two classes
constexpr std::size_t classCount = 16;  // 64 .. 1024 bytes
constexpr unsigned maxIdlePerClass = 256;

struct FreeBlock {
    FreeBlock* next;
};

struct Lists {
    std::array<FreeBlock*, classCount> first{};
    std::array<unsigned, classCount> count{};

    ~Lists();
};

// The pointer outlives the lists: late releases of a dying thread find null and go to the heap.
constinit thread_local Lists* threadLists = nullptr;
constinit thread_local bool threadListsEnded = false;

Lists::~Lists() {
    threadLists = nullptr;
    threadListsEnded = true;
    for (FreeBlock* block : first) {
        while (block) {
            FreeBlock* next = block->next;
            ::operator delete(block);
            block = next;
        }
    }
}

[[gnu::cold]] Lists* makeLists() noexcept {
    if (threadListsEnded) return nullptr;
    static thread_local Lists lists;
    threadLists = &lists;
    return threadLists;
}

// The thread has released nothing yet, or is past its end.
[[gnu::cold, gnu::noinline]] void releaseFirst(void* block, std::size_t size) noexcept {
    makeLists() ? ThreadCache::release(block, size) : ::operator delete(block);
}

constexpr std::size_t classOf(std::size_t size) noexcept {
    return (size - 1) / step;
}

}  // namespace

// Not inlined: the address of a thread-local must not be kept over a fiber switch.
[[gnu::noinline]] void* ThreadCache::allocate(std::size_t size) {
    if (addressSanitizer || size == 0 || size > step * classCount) return ::operator new(size);
    const std::size_t index = classOf(size);
    if (threadLists && threadLists->first[index]) {
        FreeBlock* block = threadLists->first[index];
        threadLists->first[index] = block->next;
        --threadLists->count[index];
        return block;
    }
    return ::operator new((index + 1) * step);
}

[[gnu::noinline]] void ThreadCache::release(void* block, std::size_t size) noexcept {
    if (addressSanitizer || size == 0 || size > step * classCount) return ::operator delete(block);
    Lists* const lists = threadLists;
    if (!lists) [[unlikely]]
        return releaseFirst(block, size);
    const std::size_t index = classOf(size);
    if (lists->count[index] == maxIdlePerClass) [[unlikely]]
        return ::operator delete(block);
    lists->first[index] = ::new (block) FreeBlock{lists->first[index]};
    ++lists->count[index];
}

}  // namespace weft::detail
