#include <weft/scheduler/stack_pool.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <new>
#include <stdexcept>
#include <string>

#include <weft/scheduler/assert.hpp>
#include <weft/scheduler/detail/fiber_context.hpp>
#include <weft/scheduler/detail/outstanding.hpp>
#include <weft/scheduler/errors.hpp>
#include <weft/scheduler/log.hpp>

#include "sanitizers.hpp"

#include <sys/mman.h>

namespace weft {

namespace {

constexpr int madvGuardInstall = 102;  // MADV_GUARD_INSTALL; Debian 12's headers lack it
constexpr std::size_t slabSize = 64 * 1024 * 1024;
constexpr std::size_t smallestClassBits = 14;
constexpr std::uint64_t canaryWord = 0x5745'4654'2d53'4f53;

std::size_t mappingLimit() {
    std::size_t maximum = 65530;
    std::ifstream("/proc/sys/vm/max_map_count") >> maximum;
    return maximum / 2;
}

std::byte* mapMemory(std::size_t size) {
    void* memory =
        ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    ::madvise(memory, size, MADV_NOHUGEPAGE);  // else the first touch of a stack may take 2 MiB
    return static_cast<std::byte*>(memory);
}

bool kernelInstallsGuards() {
    std::byte* page = mapMemory(StackPool::guardSize);
    const bool works = ::madvise(page, StackPool::guardSize, madvGuardInstall) == 0;
    ::munmap(page, StackPool::guardSize);
    return works;
}

StackGuard chooseGuard(StackGuard wanted) {
    if (wanted == StackGuard::mprotect || wanted == StackGuard::canary) return wanted;
    if (kernelInstallsGuards()) return StackGuard::madvise;
    if (wanted == StackGuard::madvise) {
        throw ConfigurationError(
            "stackGuard is 'madvise', which needs Linux 6.13 (MADV_GUARD_INSTALL); accepted here: automatic, mprotect, "
            "canary");
    }
    log(LogLevel::warning, "fiber stacks are guarded by mprotect: this kernel has no MADV_GUARD_INSTALL (Linux 6.13)");
    return StackGuard::mprotect;
}

// The lowest usable word of an unguarded stack; above the page that a guard would take, so that sizes agree.
std::uint64_t* canaryOf(const Stack& stack) noexcept {
    return reinterpret_cast<std::uint64_t*>(stack.low + StackPool::guardSize);
}

}  // namespace

bool Stack::guardContains(const void* address) const noexcept {
    const auto* at = static_cast<const std::byte*>(address);
    return at >= low && at < low + StackPool::guardSize;
}

bool Stack::overflowed() const noexcept {
    return guard == StackGuard::canary && *canaryOf(*this) != canaryWord;
}

StackPool::StackPool(StackGuard guard) : guard_(chooseGuard(guard)), mappingLimit_(mappingLimit()) {}

StackPool::~StackPool() {
    for (auto& sizeClass : classes_) {
        for (auto& stack : sizeClass.free) {
            detail::destroyTsanFiber(stack.tsanFiber);
            detail::deregisterValgrindStack(stack.valgrindId);
        }
    }
    for (const Slab& slab : slabs_) ::munmap(slab.start, slab.size);
}

std::size_t StackPool::classOf(std::size_t size) {
    if (size < minimumSize || size > maximumSize) {
        throw std::length_error("fiber stack size " + std::to_string(size) + " is out of range; accepted: " +
                                std::to_string(minimumSize) + " to " + std::to_string(maximumSize) + " bytes");
    }
    return static_cast<std::size_t>(std::bit_width(size - 1)) - smallestClassBits;
}

Stack StackPool::take(std::size_t size) {
    const std::size_t index = classOf(size);
    std::lock_guard held(lock_);
    auto& sizeClass = classes_[index];
    Stack stack;
    if (sizeClass.free.empty()) {
        stack = cut(sizeClass, minimumSize << index);
    } else {
        stack = sizeClass.free.back();
        sizeClass.free.pop_back();
    }
    detail::tsanTakeOver(stack.low);
    live_.fetch_add(1, std::memory_order_relaxed);  // a figure orders nothing
    detail::outstanding.stacks.fetch_add(1, std::memory_order_relaxed);
    return stack;
}

Stack StackPool::cut(SizeClass& sizeClass, std::size_t size) {
    if (sizeClass.next == sizeClass.end) mapSlab(sizeClass, size);
    Stack stack{sizeClass.next, size, this, nullptr, protect(sizeClass.next)};
    if (stack.guard == StackGuard::canary) *canaryOf(stack) = canaryWord;
    stack.tsanFiber = detail::createTsanFiber();
    stack.valgrindId = detail::registerValgrindStack(stack.low + guardSize, stack.top());
    sizeClass.next += size;
    return stack;
}

void StackPool::mapSlab(SizeClass& sizeClass, std::size_t size) {
    const std::size_t bytes = std::max(slabSize, size);
    slabs_.reserve(slabs_.size() + 1);
    std::byte* start = mapMemory(bytes);
    slabs_.push_back({start, bytes});
    sizeClass.next = start;
    sizeClass.end = start + bytes;
    sizeClass.free.reserve(sizeClass.free.capacity() + bytes / size);  // give() must not allocate
}

// How the page at `low` came to be protected.
StackGuard StackPool::protect(std::byte* low) noexcept {
    if (guard_ == StackGuard::madvise && ::madvise(low, guardSize, madvGuardInstall) == 0) return StackGuard::madvise;
    if (guard_ == StackGuard::mprotect && 2 * protectedByMapping_ < mappingLimit_ &&
        ::mprotect(low, guardSize, PROT_NONE) == 0) {
        if (2 * ++protectedByMapping_ >= mappingLimit_) {
            log(LogLevel::warning,
                "further fiber stacks have no guard page: half of vm.max_map_count is used by guards");
        }
        return StackGuard::mprotect;
    }
    return StackGuard::canary;
}

void StackPool::give(Stack stack) noexcept {
    detail::tsanHandOver(stack.low);
    detail::outstanding.stacks.fetch_sub(1, std::memory_order_relaxed);
    bool last = false;
    {
        std::lock_guard held(lock_);
        classes_[classOf(stack.size)].free.push_back(stack);
        last = live_.fetch_sub(1, std::memory_order_relaxed) == 1 && !owned_;
    }
    if (last) delete this;
}

void StackPool::disown() noexcept {
    bool last = false;
    {
        std::lock_guard held(lock_);
        owned_ = false;
        last = live_.load(std::memory_order_relaxed) == 0;
    }
    if (last) delete this;
}

void StackPool::giveCold(Stack stack) noexcept {
    // The guard survives MADV_DONTNEED; a canary does not, so its page stays.
    const std::size_t kept = stack.guard == StackGuard::canary ? 2 * guardSize : guardSize;
    ::madvise(stack.low + kept, stack.size - kept - guardSize, MADV_DONTNEED);
    give(stack);
}

StackCache::StackCache(StackPool& pool, std::size_t size, std::size_t limit)
    : pool_(pool), size_(std::bit_ceil(size)), limit_(limit) {
    hot_.reserve(2 * limit);
}

StackCache::~StackCache() {
    for (const Stack& stack : hot_) pool_.give(stack);
}

Stack StackCache::take() {
    if (hot_.empty()) return pool_.take(size_);
    const Stack stack = hot_.back();
    hot_.pop_back();
    detail::tsanTakeOver(stack.low);
    return stack;
}

void StackCache::give(Stack stack) noexcept {
    detail::tsanHandOver(stack.low);
    if (stack.size != size_ || hot_.size() == hot_.capacity()) {
        pool_.give(stack);
    } else {
        hot_.push_back(stack);
    }
}

void StackCache::trim() noexcept {
    if (hot_.size() <= limit_) return;
    const auto above = hot_.begin() + static_cast<std::ptrdiff_t>(hot_.size() - limit_);
    for (auto cold = hot_.begin(); cold != above; ++cold) pool_.giveCold(*cold);
    hot_.erase(hot_.begin(), above);
}

}  // namespace weft
