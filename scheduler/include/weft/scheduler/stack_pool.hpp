// StackPool: fiber stacks, cut from 64 MiB slabs, each with a guard, which a group's carriers share. StackCache: a
// carrier's own LIFO cache of stacks. docs/adr/0005.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace weft {

// How the guard, the StackPool::guardSize bytes below a stack, is protected.
enum class StackGuard : unsigned char {
    automatic,  // madvise if the kernel has it, otherwise mprotect with one warning
    madvise,    // MADV_GUARD_INSTALL (Linux 6.13): needs no mapping of its own, so a million stacks are possible
    mprotect,   // two mappings per stack; after half of vm.max_map_count, stacks get a canary instead, with one warning
    canary,     // not protected: the carrier checks a word at the end of the stack when the fiber ends
};

class StackPool;

// One stack: its guard begins at `low`; `size` usable bytes follow.
struct Stack {
    std::byte* low = nullptr;
    std::size_t size = 0;
    StackPool* pool = nullptr;  // lives until the stack has been given back
    void* tsanFiber = nullptr;
    StackGuard guard = StackGuard::madvise;
    unsigned valgrindId = 0;

    explicit operator bool() const noexcept { return low != nullptr; }
    inline std::byte* bottom() const noexcept;
    std::byte* top() const noexcept { return bottom() + size; }
    inline std::size_t sizeWithGuard() const noexcept;
    bool guardContains(const void* address) const noexcept;
    // True if the stack has a canary and the canary has been overwritten.
    bool overflowed() const noexcept { return guard == StackGuard::canary && !canaryIntact(); }
    bool canaryIntact() const noexcept;  // requires a canary
};

class StackPool {
  public:
    // Virtual memory only. Several pages, so that a function with a large frame does not skip the guard. Code compiled
    // with -fstack-clash-protection, such as Weft's, touches every page and cannot skip any guard.
    static constexpr std::size_t guardSize = 64 * 1024;
    static constexpr std::size_t minimumSize = 16 * 1024;
    static constexpr std::size_t maximumSize = 64 * 1024 * 1024;

    // After its owner's end the pool lives until the last stack has been given back: a JoinHandle keeps its fiber's
    // stack.
    struct Disown {
        void operator()(StackPool* pool) const noexcept { pool->disown(); }
    };
    using Owner = std::unique_ptr<StackPool, Disown>;

    // Throws ConfigurationError if `guard` is `madvise` and the kernel does not support it.
    static Owner create(StackGuard guard) { return Owner(new StackPool(guard)); }
    StackPool(const StackPool&) = delete;
    StackPool& operator=(const StackPool&) = delete;

    // Takes a stack of `size` bytes, rounded up to a power of two. Throws std::length_error for a size outside
    // [minimumSize, maximumSize], std::bad_alloc when the kernel has no memory. Context: any thread.
    Stack take(std::size_t size);
    // Gives a stack back. It stays warm (keeps the memory that it has touched) until coolDown(). Context: any thread.
    void give(Stack stack) noexcept;
    // As give(), but returns all memory except the top page to the kernel.
    void giveCold(Stack stack) noexcept;
    // As give() while the pool has less than 16 MiB of warm stacks of that size; otherwise as giveCold(). For threads
    // that have no idle time in which to call coolDown(). Context: any thread.
    void giveFromOutside(Stack stack) noexcept;
    // Returns the memory of up to coolingBatch warm stacks to the kernel, as long as the pool has more than 16 MiB of
    // warm stacks of a size. True if there are more. Context: any thread; makes system calls.
    bool coolDown() noexcept;
    static constexpr std::size_t coolingBatch = 16;

    // Number of stacks taken and not given back. Any thread.
    std::size_t live() const noexcept { return live_.load(std::memory_order_relaxed); }
    StackGuard guard() const noexcept { return guard_; }

  private:
    explicit StackPool(StackGuard guard);
    ~StackPool();
    void disown() noexcept;

    struct SizeClass {
        std::vector<Stack> warm;  // free, with their memory
        std::vector<Stack> cold;  // free, without it
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
    std::atomic<std::size_t> surplus_{0};  // warm stacks above warmLimit(), over all sizes; written under lock_
};

inline std::byte* Stack::bottom() const noexcept {
    return low + StackPool::guardSize;
}
inline std::size_t Stack::sizeWithGuard() const noexcept {
    return StackPool::guardSize + size;
}

// A carrier's free stacks of one size, with their memory: up to `limit`, and up to twice that until trim(). Context:
// its carrier.
class StackCache {
  public:
    StackCache(StackPool& pool, std::size_t size, std::size_t limit);
    ~StackCache();

    // The stack that take() will return.
    const Stack& next() {
        if (hot_.empty()) [[unlikely]]
            refill();
        return hot_.back();
    }
    Stack take() {
        Stack stack = next();
        hot_.pop_back();
        return stack;
    }
    void give(const Stack& stack) noexcept {
        if (stack.size != size_ || hot_.size() == 2 * limit_) [[unlikely]]
            return pool_.give(stack);
        hot_.push_back(stack);
    }
    // Called when the carrier is idle: gives up to StackPool::coolingBatch stacks above `limit` back to the pool, cold;
    // if there are none, calls the pool's coolDown(). True if it should be called again.
    bool trim() noexcept;
    std::size_t stackSize() const noexcept { return size_; }

  private:
    void refill();

    StackPool& pool_;
    const std::size_t size_;
    const std::size_t limit_;
    std::vector<Stack> hot_;
};

}  // namespace weft
