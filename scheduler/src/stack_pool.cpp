#include <weft/scheduler/stack_pool.hpp>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
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
constexpr std::size_t pageSize = 4096;
constexpr std::uint64_t canaryWord = 0x5745'4654'2d53'4f53;

std::size_t mappingLimit() {
    std::size_t maximum = 65530;
    std::ifstream("/proc/sys/vm/max_map_count") >> maximum;
    return maximum / 2;
}

// Unlocked, also after mlockall(MCL_FUTURE): locked memory would be resident as a whole, and takes no guards. The
// kernel does not touch what nothing may access, so the memory becomes accessible only when it is unlocked.
std::byte* mapMemory(std::size_t size) {
    void* memory = ::mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    if (::munlock(memory, size) != 0 || ::mprotect(memory, size, PROT_READ | PROT_WRITE) != 0) {
        ::munmap(memory, size);
        throw std::bad_alloc();
    }
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

// Once in a process, because all stacks fail for the same reason.
void reportMissingGuard(int error) noexcept {
    static std::atomic<bool> reported{false};
    if (reported.exchange(true, std::memory_order_relaxed)) return;  // orders nothing
    log(LogLevel::warning,
        {"fiber stacks have no guard: MADV_GUARD_INSTALL failed (", fromErrno(error).message(), ")"});
}

// The lowest usable word of an unguarded stack. The guard area below exists, too, so that all stacks have the same
// layout.
std::uint64_t* canaryOf(const Stack& stack) noexcept {
    return reinterpret_cast<std::uint64_t*>(stack.bottom());
}

}  // namespace

bool Stack::guardContains(const void* address) const noexcept {
    const auto* at = static_cast<const std::byte*>(address);
    return at >= low && at < low + StackPool::guardSize;
}

bool Stack::canaryIntact() const noexcept {
    return *canaryOf(*this) == canaryWord;
}

StackPool::StackPool(StackGuard guard) : guard_(chooseGuard(guard)), mappingLimit_(mappingLimit()) {}

StackPool::~StackPool() {
    for (auto& sizeClass : classes_) {
        for (const auto* free : {&sizeClass.warm, &sizeClass.cold}) {
            for (const Stack& stack : *free) {
                detail::destroyTsanFiber(stack.tsanFiber);
                detail::deregisterValgrindStack(stack.valgrindId);
            }
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
    auto& free = sizeClass.warm.empty() ? sizeClass.cold : sizeClass.warm;
    Stack stack;
    if (free.empty()) {
        stack = cut(sizeClass, minimumSize << index);
    } else {
        stack = free.back();
        free.pop_back();
        if (&free == &sizeClass.warm && free.size() >= warmLimit(index))
            surplus_.fetch_sub(1, std::memory_order_relaxed);
    }
    detail::tsanTakeOver(stack.low);
    live_.fetch_add(1, std::memory_order_relaxed);  // a statistic orders nothing
    detail::outstanding.stacks.fetch_add(1, std::memory_order_relaxed);
    return stack;
}

Stack StackPool::cut(SizeClass& sizeClass, std::size_t size) {
    const std::size_t whole = guardSize + size;
    if (static_cast<std::size_t>(sizeClass.end - sizeClass.next) < whole) mapSlab(sizeClass, whole);
    StackGuard guard = protect(sizeClass.next);
    if (guard == StackGuard::canary && guard_ == StackGuard::madvise) [[unlikely]] {
        // The program has locked the slab since (mlockall): its rest takes guards again once it is unlocked.
        ::munlock(sizeClass.next, static_cast<std::size_t>(sizeClass.end - sizeClass.next));
        guard = protect(sizeClass.next);
        if (guard == StackGuard::canary) reportMissingGuard(errno);
    }
    Stack stack{sizeClass.next, size, this, nullptr, guard};
    if (stack.guard == StackGuard::canary) *canaryOf(stack) = canaryWord;
    stack.tsanFiber = detail::createTsanFiber();
    stack.valgrindId = detail::registerValgrindStack(stack.bottom(), stack.top());
    sizeClass.next += whole;
    return stack;
}

// The rest of the previous slab, less than one stack, stays unused and untouched.
void StackPool::mapSlab(SizeClass& sizeClass, std::size_t stackAndGuard) {
    const std::size_t bytes = std::max(slabSize, stackAndGuard);
    const std::size_t made = sizeClass.made + bytes / stackAndGuard;
    slabs_.reserve(slabs_.size() + 1);
    for (auto* free : {&sizeClass.warm, &sizeClass.cold}) free->reserve(made);  // so that giving back never allocates
    std::byte* start = mapMemory(bytes);
    slabs_.push_back({start, bytes});
    sizeClass.next = start;
    sizeClass.end = start + bytes;
    sizeClass.made = made;
}

// Protects the guard at `low` and returns how it is protected.
StackGuard StackPool::protect(std::byte* low) noexcept {
    if (guard_ == StackGuard::madvise && ::madvise(low, guardSize, madvGuardInstall) == 0) return StackGuard::madvise;
    if (guard_ == StackGuard::mprotect && 2 * protectedByMapping_ < mappingLimit_ &&
        ::mprotect(low, guardSize, PROT_NONE) == 0) {
        if (2 * ++protectedByMapping_ >= mappingLimit_) {
            log(LogLevel::warning, "further fiber stacks have no guard: guards use half of vm.max_map_count");
        }
        return StackGuard::mprotect;
    }
    return StackGuard::canary;
}

void StackPool::give(Stack stack) noexcept {
    putBack(stack, true);
}

void StackPool::giveCold(Stack stack) noexcept {
    cool(stack);
    putBack(stack, false);
}

void StackPool::giveFromOutside(Stack stack) noexcept {
    bool room = false;
    {
        const std::size_t index = classOf(stack.size);
        std::lock_guard held(lock_);
        room = classes_[index].warm.size() < warmLimit(index);
    }
    room ? give(stack) : giveCold(stack);
}

void StackPool::putBack(const Stack& stack, bool warm) noexcept {
    detail::tsanHandOver(stack.low);
    detail::outstanding.stacks.fetch_sub(1, std::memory_order_relaxed);
    bool last = false;
    {
        const std::size_t index = classOf(stack.size);
        std::lock_guard held(lock_);
        auto& sizeClass = classes_[index];
        if (warm && sizeClass.warm.size() >= warmLimit(index)) surplus_.fetch_add(1, std::memory_order_relaxed);
        (warm ? sizeClass.warm : sizeClass.cold).push_back(stack);
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

// Returns all memory except the top page, where the next fiber's control block will lie, and the page of a canary.
void StackPool::cool(const Stack& stack) noexcept {
    const std::size_t kept = stack.guard == StackGuard::canary ? pageSize : 0;
    ::madvise(stack.bottom() + kept, stack.size - kept - pageSize, MADV_DONTNEED);
}

// Takes the oldest surplus warm stacks of one size out of the pool, so that no other thread uses them while they are
// cooled.
std::size_t StackPool::takeWarm(std::array<Stack, coolingBatch>& batch) noexcept {
    std::lock_guard held(lock_);
    for (std::size_t index = 0; index < classes_.size(); ++index) {
        auto& warm = classes_[index].warm;
        if (warm.size() <= warmLimit(index)) continue;
        const std::size_t count = std::min(batch.size(), warm.size() - warmLimit(index));
        const auto end = warm.begin() + static_cast<std::ptrdiff_t>(count);
        std::copy(warm.begin(), end, batch.begin());
        warm.erase(warm.begin(), end);
        surplus_.fetch_sub(count, std::memory_order_relaxed);
        return count;
    }
    return 0;
}

bool StackPool::coolDown() noexcept {
    if (surplus_.load(std::memory_order_relaxed) == 0) return false;  // may be stale: the next idle carrier tries again
    std::array<Stack, coolingBatch> batch;
    const std::size_t count = takeWarm(batch);
    for (std::size_t i = 0; i < count; ++i) cool(batch[i]);
    {
        std::lock_guard held(lock_);
        for (std::size_t i = 0; i < count; ++i) classes_[classOf(batch[i].size)].cold.push_back(batch[i]);
    }
    return surplus_.load(std::memory_order_relaxed) != 0;
}

StackCache::StackCache(StackPool& pool, std::size_t size, std::size_t limit)
    : pool_(pool), size_(std::bit_ceil(size)), limit_(limit) {
    hot_.reserve(std::max<std::size_t>(1, 2 * limit));  // refill() needs one place
}

StackCache::~StackCache() {
    for (const Stack& stack : hot_) pool_.give(stack);
}

[[gnu::noinline]] void StackCache::refill() {
    hot_.push_back(pool_.take(size_));
}

bool StackCache::trim() noexcept {
    if (hot_.size() <= limit_) return pool_.coolDown();
    const std::size_t count = std::min(StackPool::coolingBatch, hot_.size() - limit_);
    const auto above = hot_.begin() + static_cast<std::ptrdiff_t>(count);
    for (auto cold = hot_.begin(); cold != above; ++cold) pool_.giveCold(*cold);
    hot_.erase(hot_.begin(), above);
    return true;
}

}  // namespace weft
