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

// How the memory below a stack is protected: StackPool::guardSize bytes.
enum class StackGuard : unsigned char {
    automatic,  // the best that the kernel offers, falling back as below, with one warning
    madvise,    // MADV_GUARD_INSTALL (Linux 6.13): no mapping of its own, so a million stacks are possible
    mprotect,   // two mappings per stack: ends at vm.max_map_count / 2
    canary,     // not protected; a word at the end of the stack is checked when the fiber ends
};

class StackPool;

// One stack: its guard from `low`, then `size` bytes to use.
struct Stack {
    std::byte* low = nullptr;
    std::size_t size = 0;
    StackPool* pool = nullptr;  // lives while the stack is not given back
    void* tsanFiber = nullptr;
    StackGuard guard = StackGuard::madvise;
    unsigned valgrindId = 0;

    explicit operator bool() const noexcept { return low != nullptr; }
    inline std::byte* bottom() const noexcept;
    std::byte* top() const noexcept { return bottom() + size; }
    inline std::size_t sizeWithGuard() const noexcept;
    bool guardContains(const void* address) const noexcept;
    // True when the word that stands in for a guard has been written over.
    bool overflowed() const noexcept;
};

class StackPool {
  public:
    // More than one page, so that a function with a large frame does not step over it; virtual memory only. Code that
    // is compiled with -fstack-clash-protection, as Weft's is, touches every page and cannot step over any.
    static constexpr std::size_t guardSize = 64 * 1024;
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
    // The memory that the stack has touched stays with it, to be used again, until coolDown().
    void give(Stack stack) noexcept;
    // As give(), returning all but the top page to the kernel.
    void giveCold(Stack stack) noexcept;
    // give() as long as the pool keeps fewer than a few stacks of that size with their memory, else giveCold(). For
    // threads that have no idle time in which they would call coolDown(). Context: any thread.
    void giveFromOutside(Stack stack) noexcept;
    // Returns the memory of some stacks (up to coolingBatch) that were given warm and that the pool need not keep so;
    // true when there are more. At rest the pool keeps up to 16 MiB of stacks per size. Context: any thread; makes
    // system calls.
    bool coolDown() noexcept;
    static constexpr std::size_t coolingBatch = 16;

    // Stacks handed out and not given back. Any thread.
    std::size_t live() const noexcept { return live_.load(std::memory_order_relaxed); }
    StackGuard guard() const noexcept { return guard_; }

  private:
    explicit StackPool(StackGuard guard);
    ~StackPool();
    void disown() noexcept;

    struct SizeClass {
        std::vector<Stack> warm;  // given back with their memory
        std::vector<Stack> cold;  // without
        std::size_t made = 0;
        std::byte* next = nullptr;  // the uncut rest of the newest slab
        std::byte* end = nullptr;
    };

    static std::size_t classOf(std::size_t size);
    static std::size_t warmLimit(std::size_t index) noexcept { return warmBytes / (minimumSize << index); }
    static void cool(const Stack& stack) noexcept;
    void putBack(const Stack& stack, bool warm) noexcept;
    std::size_t takeWarm(std::array<Stack, coolingBatch>& batch) noexcept;
    void mapSlab(SizeClass& sizeClass, std::size_t stackAndGuard);
    Stack cut(SizeClass& sizeClass, std::size_t size);
    StackGuard protect(std::byte* low) noexcept;

    struct Slab {
        std::byte* start;
        std::size_t size;
    };

    static constexpr std::size_t warmBytes = 16 * 1024 * 1024;

    const StackGuard guard_;
    std::size_t protectedByMapping_ = 0;
    const std::size_t mappingLimit_;
    std::mutex lock_;
    std::array<SizeClass, 13> classes_;  // 16 KiB << index
    std::vector<Slab> slabs_;
    bool owned_ = true;
    std::atomic<std::size_t> live_{0};     // written under lock_
    std::atomic<std::size_t> surplus_{0};  // warm stacks above warmLimit(), of all sizes; written under lock_
};

inline std::byte* Stack::bottom() const noexcept {
    return low + StackPool::guardSize;
}
inline std::size_t Stack::sizeWithGuard() const noexcept {
    return StackPool::guardSize + size;
}

// Keeps up to `limit` hot stacks of one size; context: its carrier.
class StackCache {
  public:
    StackCache(StackPool& pool, std::size_t size, std::size_t limit);
    ~StackCache();

    Stack take();
    void give(Stack stack) noexcept;
    // Called when the carrier is idle: returns the memory of some stacks (up to StackPool::coolingBatch) above the
    // limits, this cache's and the pool's; true when there are more.
    bool trim() noexcept;
    std::size_t stackSize() const noexcept { return size_; }

  private:
    StackPool& pool_;
    const std::size_t size_;
    const std::size_t limit_;
    std::vector<Stack> hot_;
};

}  // namespace weft
