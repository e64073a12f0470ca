#include <weft/pipeline/buffer_pool.hpp>

#include <bit>
#include <cstdint>
#include <mutex>
#include <new>

#include <weft/scheduler/assert.hpp>
#include <weft/scheduler/detail/in_tray.hpp>

#include "leak_registry.hpp"
#include "sanitizer.hpp"

namespace weft {

namespace detail {

// Other threads return a pool's blocks here. It outlives the pool: the last block of the pool in use deletes it.
class BufferHome {
  public:
    // Any thread. False when the pool is gone: the caller must delete the block and then call settle(-1).
    bool giveBack(BufferBlock* block) noexcept { return returned_.push(*block); }
    // The blocks that were given back since the last call, or null. Context: the pool's thread.
    BufferBlock* takeAll() noexcept { return returned_.takeNewestFirst(); }
    BufferBlock* close() noexcept { return returned_.closeNewestFirst(); }

    // After close(): the pool adds, once, the number of its blocks still in use; each of them subtracts 1 when it is
    // deleted. The call that makes the count 0 deletes this object. Blocks alone cannot: the count starts at 0, so
    // they only make it negative before the pool's call. [C5]
    void settle(std::int64_t blocks) noexcept {
        if (remaining_.fetch_add(blocks, std::memory_order_acq_rel) + blocks == 0) delete this;  // [C5]
    }

  private:
    BasicInTray<NativeAtomics, BufferBlock> returned_;  // linked by BufferBlock::next
    std::atomic<std::int64_t> remaining_{0};            // writers: any thread, by settle()
};

}  // namespace detail

namespace {

using detail::BufferBlock;

constinit thread_local BufferPool* threadPool = nullptr;
constinit thread_local bool threadPoolEnded = false;

struct ThreadPool {
    BufferPool pool;
    ~ThreadPool() {
        threadPool = nullptr;
        threadPoolEnded = true;
    }
};

// Idle blocks per class; 0 after the last class.
constexpr std::array<std::ptrdiff_t, BufferPool::classes.size() + 1> maxIdle = [] {
    std::array<std::ptrdiff_t, BufferPool::classes.size() + 1> most{};
    for (std::size_t i = 0; i < BufferPool::classes.size(); ++i) {
        most[i] = static_cast<std::ptrdiff_t>(BufferPool::maxIdleBytesPerClass / BufferPool::classes[i]);
    }
    return most;
}();

// All pools, and the counts of destroyed pools and of threads without a pool.
std::mutex registryLock;
BufferPool* registered = nullptr;               // guarded by registryLock
std::atomic<std::int64_t> liveOutsidePools{0};  // a statistic: relaxed

BufferBlock* blockOf(std::size_t capacity, std::uint32_t sizeClass, detail::BufferHome* home) {
    if (capacity > PTRDIFF_MAX - sizeof(BufferBlock)) throw std::bad_alloc();  // the sum below must not wrap
    auto* block =
        ::new (::operator new(sizeof(BufferBlock) + capacity, std::align_val_t(alignof(BufferBlock)))) BufferBlock;
    block->sizeClass = sizeClass;
    block->capacity = capacity;
    block->home = home;
    return block;
}

void deleteBlock(BufferBlock* block) noexcept {
    detail::unpoison(block->data(), block->capacity);
    block->~BufferBlock();
    ::operator delete(block, std::align_val_t(alignof(BufferBlock)));
}

// Maps the highest bit of capacity - 1 to a class: the classes are powers of two, but not consecutive ones.
constexpr std::array<std::uint8_t, 64> classByBit = [] {
    std::array<std::uint8_t, 64> table{};
    for (std::size_t bit = 0; bit < table.size(); ++bit) {
        for (const std::size_t size : BufferPool::classes) {
            table[bit] += bit >= static_cast<std::size_t>(std::bit_width(size - 1)) ? 1 : 0;
        }
    }
    return table;
}();

// noClass when no class is large enough, and for 0.
inline std::uint32_t classFor(std::size_t capacity) noexcept {
    return classByBit[63u - static_cast<unsigned>(std::countl_zero((capacity - 1) | 1))];
}

}  // namespace

BufferPool::BufferPool() : home_(new detail::BufferHome) {
    for (std::size_t i = 0; i < free_.size(); ++i) free_[i].room = maxIdle[i];
    std::lock_guard held(registryLock);
    nextPool_ = registered;
    if (registered) registered->previousPool_ = this;
    registered = this;
}

BufferPool::~BufferPool() {
    BufferBlock* returned = home_->close();
    while (returned) {
        BufferBlock* next = returned->next;
        deletePooled(returned);
        returned = next;
    }
    for (FreeList& list : free_) {
        while (BufferBlock* block = list.first) {
            list.first = block->next;
            deletePooled(block);
        }
    }
    home_->settle(pooled_);
    std::lock_guard held(registryLock);
    (previousPool_ ? previousPool_->nextPool_ : registered) = nextPool_;
    if (nextPool_) nextPool_->previousPool_ = previousPool_;
    liveOutsidePools.fetch_add(static_cast<std::int64_t>(allocated() - released()), std::memory_order_relaxed);
}

inline detail::BufferBlock* BufferPool::takeIdle(std::size_t minCapacity) {
    FreeList& list = free_[classFor(minCapacity)];
    BufferBlock* const block = list.first;
    if (!block) [[unlikely]]
        return takeNew(minCapacity);
    list.first = block->next;
    ++list.room;
    detail::unpoison(block->data(), block->capacity);
    block->owners.store(1, std::memory_order_relaxed);  // relaxed: no other thread has the block
    countAllocation();
    return block;
}

detail::BufferBlock* BufferPool::take(std::size_t minCapacity) {
    return takeIdle(minCapacity);
}

// The list is empty: uses a block that another thread has returned, otherwise a new one.
[[gnu::cold, gnu::noinline]] detail::BufferBlock* BufferPool::takeNew(std::size_t minCapacity) {
    if (minCapacity == 0) return take(1);
    const std::uint32_t index = classFor(minCapacity);
    if (index != noClass) {
        collectReturned();
        if (free_[index].first != nullptr) return take(minCapacity);
    }
    BufferBlock* block =
        index == noClass ? blockOf(minCapacity, noClass, nullptr) : blockOf(classes[index], index, home_);
    if (index != noClass) ++pooled_;
    countAllocation();
    return block;
}

// Not inlined: the address of a thread-local must not be kept across a fiber switch.
[[gnu::noinline]] detail::BufferBlock* detail::BufferBlock::take(std::size_t minCapacity) {
    BufferPool* const pool = threadPool;
    if (!pool) [[unlikely]]
        return BufferPool::takeFirst(minCapacity);
    return pool->takeIdle(minCapacity);
}

// The thread has no pool: it has not allocated yet, or has destroyed its pool at its end.
[[gnu::cold, gnu::noinline]] detail::BufferBlock* BufferPool::takeFirst(std::size_t minCapacity) {
    if (BufferPool* pool = current()) return pool->take(minCapacity);
    BufferBlock* block = blockOf(minCapacity, noClass, nullptr);
    liveOutsidePools.fetch_add(1, std::memory_order_relaxed);
    return block;
}

inline void BufferPool::putBack(detail::BufferBlock* block) noexcept {
    FreeList& list = free_[block->sizeClass];
    if (--list.room < 0) [[unlikely]]
        return deleteSurplus(block);
    detail::poison(block->data(), block->capacity);
    block->next = list.first;
    list.first = block;
}

[[gnu::cold, gnu::noinline]] void BufferPool::deleteSurplus(detail::BufferBlock* block) noexcept {
    ++free_[block->sizeClass].room;
    deletePooled(block);
}

void BufferPool::deletePooled(detail::BufferBlock* block) noexcept {
    deleteBlock(block);
    --pooled_;
}

void BufferPool::collectReturned() noexcept {
    BufferBlock* block = home_->takeAll();
    while (block) {
        BufferBlock* next = block->next;
        putBack(block);
        block = next;
    }
}

inline void BufferPool::countAllocation() noexcept {
    allocated_.store(allocated() + 1, std::memory_order_relaxed);  // single writer: no RMW
}

inline void BufferPool::countRelease() noexcept {
    released_.store(released() + 1, std::memory_order_relaxed);
}

std::size_t BufferPool::idleBlocks() const noexcept {
    std::ptrdiff_t idle = 0;
    for (std::size_t i = 0; i < free_.size(); ++i) idle += maxIdle[i] - free_[i].room;
    return static_cast<std::size_t>(idle);
}

// Not inlined: the address of a thread-local must not be kept across a fiber switch.
[[gnu::noinline]] BufferPool* BufferPool::current() {
    if (threadPool || threadPoolEnded) return threadPool;
    static thread_local ThreadPool holder;
    threadPool = &holder.pool;
    return threadPool;
}

std::int64_t BufferPool::liveBlocks() noexcept {
    std::lock_guard held(registryLock);
    std::int64_t live = liveOutsidePools.load(std::memory_order_relaxed);
    for (BufferPool* pool = registered; pool; pool = pool->nextPool_) {
        live += static_cast<std::int64_t>(pool->allocated() - pool->released());
    }
    return live;
}

[[gnu::noinline]] void detail::BufferBlock::recycle(BufferBlock* block) noexcept {
    if constexpr (leakDetectionBuilt) {
        if (LeakRegistry::watching()) LeakRegistry::instance().ended(LeakRegistry::buffers, block);
    }
    BufferPool* const pool = threadPool;
    if (!pool || block->home != pool->home_) [[unlikely]]
        return BufferPool::giveAway(pool, block);
    pool->countRelease();
    pool->putBack(block);
}

// Releases a block of another pool, or of none. `pool` is the calling thread's, or null; it counts the release, so that
// each counter has a single writer. Only the sum over all pools is exact.
[[gnu::noinline]] void BufferPool::giveAway(BufferPool* pool, detail::BufferBlock* block) noexcept {
    if (pool) {
        pool->countRelease();
    } else {
        liveOutsidePools.fetch_sub(1, std::memory_order_relaxed);
    }
    detail::BufferHome* const home = block->home;
    if (!home) return deleteBlock(block);
    if (home->giveBack(block)) return;
    deleteBlock(block);
    home->settle(-1);
}

}  // namespace weft
