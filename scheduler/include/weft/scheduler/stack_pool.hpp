// StackPool: fiber stacks cut from 64 MiB slabs, each with a guard, shared by a group's carriers; StackCache, a
// carrier's own last-in first-out store in front of it. docs/adr/0005.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace weft {

// How a stack's lowest page is protected.
enum class StackGuard : unsigned char {
    automatic,  // the best that the kernel offers, falling back as below, with one warning
    madvise,    // MADV_GUARD_INSTALL (Linux 6.13): no mapping of its own, so a million stacks are possible
    mprotect,   // two mappings per stack: ends at vm.max_map_count / 2
    canary,     // no guard page; a word at the end of the stack is checked when the fiber ends
};

class StackPool;

// One stack: [low, low + size), the guard page first.
struct Stack {
    std::byte* low = nullptr;
    std::size_t size = 0;
    StackPool* pool = nullptr;  // lives while the stack is not given back
    void* tsanFiber = nullptr;
    StackGuard guard = StackGuard::madvise;
    unsigned valgrindId = 0;

    explicit operator bool() const noexcept { return low != nullptr; }
    std::byte* top() const noexcept { return low + size; }
    bool guardContains(const void* address) const noexcept;
    // True when the word that stands in for a guard page has been written over.
    bool overflowed() const noexcept;
};

class StackPool {
  public:
    static constexpr std::size_t guardSize = 4096;
    static constexpr std::size_t minimumSize = 16 * 1024;
    static constexpr std::size_t maximumSize = 64 * 1024 * 1024;

    // A pool outlives its owner until the last stack is given back: a kept JoinHandle keeps its fiber's.
    struct Disown {
        void operator()(StackPool* pool) const noexcept { pool->disown(); }
    };
    using Owner = std::unique_ptr<StackPool, Disown>;

    // Throws ConfigurationError when `guard` is one that this kernel does not offer.
    static Owner create(StackGuard guard) { return Owner(new StackPool(guard)); }
    StackPool(const StackPool&) = delete;
    StackPool& operator=(const StackPool&) = delete;

    // A stack of at least `size` bytes (rounded up to a power of two). Throws std::length_error for a size outside
    // [minimumSize, maximumSize] and std::bad_alloc when the kernel gives no memory. Context: any thread.
    Stack take(std::size_t size);
    void give(Stack stack) noexcept;
    // As give(), returning all but the top page to the kernel.
    void giveCold(Stack stack) noexcept;

    // Stacks handed out and not given back. Any thread.
    std::size_t live() const noexcept { return live_.load(std::memory_order_relaxed); }
    StackGuard guard() const noexcept { return guard_; }

  private:
    explicit StackPool(StackGuard guard);
    ~StackPool();
    void disown() noexcept;

    struct SizeClass {
        std::vector<Stack> free;
        std::byte* next = nullptr;  // the uncut rest of the newest slab
        std::byte* end = nullptr;
    };

    static std::size_t classOf(std::size_t size);
    void mapSlab(SizeClass& sizeClass, std::size_t size);
    Stack cut(SizeClass& sizeClass, std::size_t size);
    StackGuard protect(std::byte* low) noexcept;

    struct Slab {
        std::byte* start;
        std::size_t size;
    };

    const StackGuard guard_;
    std::size_t protectedByMapping_ = 0;
    const std::size_t mappingLimit_;
    std::mutex lock_;
    std::array<SizeClass, 13> classes_;  // 16 KiB << index
    std::vector<Slab> slabs_;
    bool owned_ = true;
    std::atomic<std::size_t> live_{0};  // written under lock_
};

// Keeps up to `limit` hot stacks of one size; context: its carrier.
class StackCache {
  public:
    StackCache(StackPool& pool, std::size_t size, std::size_t limit);
    ~StackCache();

    Stack take();
    void give(Stack stack) noexcept;
    // Returns what is above the limit to the pool; called when the carrier is idle.
    void trim() noexcept;
    std::size_t stackSize() const noexcept { return size_; }

  private:
    StackPool& pool_;
    const std::size_t size_;
    const std::size_t limit_;
    std::vector<Stack> hot_;
};

}  // namespace weft
