// ThreadCache: which blocks it keeps, which it returns to the heap, and the end of its thread.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <thread>

#include <weft/pipeline/detail/thread_cache.hpp>

#include "heap_calls.hpp"
#include "support/sanitized.hpp"

namespace weft::detail {
namespace {

// Runs `body` on a new thread, whose cache is empty.
template <class Body>
void onFreshThread(Body body) {
    std::thread(body).join();
}

#ifndef WEFT_SANITIZED_ADDRESS  // which watches the heap itself
TEST(ThreadCache, AReleasedBlockServesTheNextRequestOfItsClass) {
    onFreshThread([] {
        void* const block = ThreadCache::allocate(65);
        ThreadCache::release(block, 65);
        void* const smaller = ThreadCache::allocate(64);
        EXPECT_NE(smaller, block);
        EXPECT_EQ(ThreadCache::allocate(128), block);
        ThreadCache::release(block, 128);
        ThreadCache::release(smaller, 64);
    });
}

TEST(ThreadCache, AClassKeeps256BlocksAndTheRestGoesToTheHeap) {
    onFreshThread([] {
        constexpr std::size_t kept = 256;
        std::array<void*, kept + 10> blocks{};
        for (int round = 0; round < 2; ++round) {
            for (void*& block : blocks) block = ThreadCache::allocate(1024);
            for (void* block : blocks) ThreadCache::release(block, 1024);
            for (std::size_t i = kept; i-- > 0;) EXPECT_EQ(ThreadCache::allocate(1000), blocks[i]);
            for (std::size_t i = 0; i < kept; ++i) ThreadCache::release(blocks[i], 1000);
        }
    });
}
#endif

TEST(ThreadCache, EverySizeIsServedAlignedAndWritable) {
    for (const std::size_t size : {0, 1, 63, 64, 65, 1023, 1024, 1025, 5000}) {
        auto* const block = static_cast<std::byte*>(ThreadCache::allocate(size));
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 16, 0u) << size;
        for (std::size_t i = 0; i < size; ++i) block[i] = std::byte{0x55};
        ThreadCache::release(block, size);
    }
}

// Constructed before the thread's cache, so it is destroyed after it.
struct Late {
    void* block = nullptr;
    ~Late() {
        void* const another = ThreadCache::allocate(64);
        [[maybe_unused]] const std::size_t before = test::blocksReturned;
        ThreadCache::release(block, 64);
        ThreadCache::release(another, 64);
#ifndef WEFT_SANITIZED  // which needs operators of its own
        EXPECT_EQ(test::blocksReturned - before, 2u) << "nothing returns what the cache keeps now";
#endif
    }
};

TEST(ThreadCache, WhatIsReleasedPastTheEndOfItsThreadGoesToTheHeap) {
    onFreshThread([] {
        static thread_local Late late;
        late.block = ThreadCache::allocate(64);
        ThreadCache::release(ThreadCache::allocate(64), 64);
    });
}

}  // namespace
}  // namespace weft::detail
