#include "exhaustion/allocation_faults.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

namespace weft::exhaustion {

namespace {

std::atomic<std::int64_t> untilFailure{0};  // 0: no failure is requested
std::atomic<bool> failed{false};
std::atomic<std::size_t> live{0};
std::atomic<std::uint64_t> all{0};  // so far

bool fails() noexcept {
    if (untilFailure.load(std::memory_order_relaxed) <= 0) return false;
    if (untilFailure.fetch_sub(1, std::memory_order_relaxed) != 1) return false;
    failed = true;
    return true;
}

void* allocate(std::size_t size, std::size_t alignment) {
    all.fetch_add(1, std::memory_order_relaxed);
    if (fails()) throw std::bad_alloc();
    void* block = alignment <= alignof(std::max_align_t)
                      ? std::malloc(size == 0 ? 1 : size)
                      : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    if (block == nullptr) throw std::bad_alloc();
    live.fetch_add(1, std::memory_order_relaxed);
    return block;
}

void release(void* block) noexcept {
    if (block == nullptr) return;
    live.fetch_sub(1, std::memory_order_relaxed);
    std::free(block);
}

}  // namespace

FailingAllocation::FailingAllocation(std::uint64_t number) noexcept {
    failed = false;
    untilFailure = static_cast<std::int64_t>(number);
}
FailingAllocation::~FailingAllocation() {
    untilFailure = 0;
}
bool FailingAllocation::hasFailed() const noexcept {
    return failed;
}

CountedAllocations::CountedAllocations() noexcept : before_(all) {}
std::uint64_t CountedAllocations::soFar() const noexcept {
    return all - before_;
}

std::size_t liveAllocations() noexcept {
    return live;
}

}  // namespace weft::exhaustion

void* operator new(std::size_t size) {
    return weft::exhaustion::allocate(size, 0);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
    return weft::exhaustion::allocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* block) noexcept {
    weft::exhaustion::release(block);
}
void operator delete(void* block, std::size_t) noexcept {
    weft::exhaustion::release(block);
}
void operator delete(void* block, std::align_val_t) noexcept {
    weft::exhaustion::release(block);
}
void operator delete(void* block, std::size_t, std::align_val_t) noexcept {
    weft::exhaustion::release(block);
}
