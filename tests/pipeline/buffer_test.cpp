#include <weft/pipeline/buffer.hpp>

#include <cstring>
#include <limits>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <weft/pipeline/buffer_pool.hpp>

namespace weft {
namespace {

TEST(Buffer, WritingAndReadingMoveTheTwoIndexes) {
    Buffer buffer = Buffer::allocate(100);
    EXPECT_GE(buffer.writableBytes(), 100u);
    std::memcpy(buffer.writeData(), "hello", 5);
    buffer.produced(5);
    EXPECT_EQ(buffer.view(), "hello");
    buffer.consumed(2);
    EXPECT_EQ(buffer.view(), "llo");
    EXPECT_EQ(buffer.readableBytes(), 3u);
}

TEST(Buffer, WithoutMemoryItIsNullOrThrows) {
    EXPECT_GE(Buffer::tryAllocate(100).writableBytes(), 100u);
    constexpr std::size_t largest = std::numeric_limits<std::size_t>::max();
    for (const std::size_t size : {largest, largest - 16, largest / 2 + 1}) {
        EXPECT_FALSE(Buffer::tryAllocate(size)) << size;
        EXPECT_THROW(Buffer::allocate(size), std::bad_alloc) << size;
        Buffer buffer = Buffer::copyOf("kept");
        EXPECT_THROW(buffer.ensureWritable(size), std::bad_alloc) << size;
        EXPECT_EQ(buffer.view(), "kept");
    }
}

TEST(Buffer, AStaticBufferIsReadOnlyAndIsCopiedByAnAppend) {
    Buffer buffer = Buffer::wrapStatic("literal");
    EXPECT_TRUE(buffer);
    EXPECT_FALSE(buffer.unique());
    EXPECT_EQ(buffer.writableBytes(), 0u);
    buffer.append("!");
    EXPECT_EQ(buffer.view(), "literal!");
    EXPECT_TRUE(buffer.unique());
}

TEST(Buffer, AShareSeesTheSameBytesAndAnAppendToOneLeavesTheOtherAlone) {
    Buffer first = Buffer::copyOf("abc");
    Buffer second = first.share();
    EXPECT_EQ(first.readData(), second.readData());
    EXPECT_FALSE(first.unique());
    first.append("def");
    second.append("xyz");
    EXPECT_EQ(first.view(), "abcdef");
    EXPECT_EQ(second.view(), "abcxyz");
}

TEST(Buffer, AnOwnerThatWasLeftAloneIsUniqueAgain) {
    Buffer first = Buffer::copyOf("abc");
    { const Buffer second = first.share(); }
    EXPECT_TRUE(first.unique());
}

TEST(Buffer, SplitTakesTheFirstBytesOffWithoutCopying) {
    Buffer buffer = Buffer::copyOf("headbody");
    const char* start = buffer.readData();
    Buffer head = buffer.split(4);
    EXPECT_EQ(head.view(), "head");
    EXPECT_EQ(buffer.view(), "body");
    EXPECT_EQ(head.readData(), start);
    EXPECT_EQ(head.writableBytes(), 0u) << "the tail belongs to the buffer that was split";
}

TEST(Buffer, SliceOutlivesTheBufferItWasMadeFrom) {
    Buffer slice;
    {
        const Buffer buffer = Buffer::copyOf("0123456789");
        slice = buffer.slice(3, 4);
    }
    EXPECT_EQ(slice.view(), "3456");
}

TEST(Buffer, AppendGrowsAndKeepsTheBytes) {
    Buffer buffer = Buffer::copyOf(std::string(200, 'a'));
    buffer.append(std::string(100'000, 'b'));
    EXPECT_EQ(buffer.readableBytes(), 100'200u);
    EXPECT_EQ(buffer.view().substr(0, 201), std::string(200, 'a') + "b");
}

TEST(Buffer, EnsureWritableReusesTheConsumedFrontOfASoleOwner) {
    Buffer buffer = Buffer::allocate(256);
    buffer.append(std::string(250, 'x'));
    buffer.consumed(240);
    const std::size_t capacity = buffer.capacity();
    buffer.ensureWritable(200);
    EXPECT_EQ(buffer.capacity(), capacity);
    EXPECT_EQ(buffer.view(), std::string(10, 'x'));
}

TEST(Buffer, AMovedFromBufferIsEmpty) {
    Buffer buffer = Buffer::copyOf("abc");
    const Buffer taken = std::move(buffer);
    EXPECT_FALSE(buffer);
    EXPECT_TRUE(buffer.empty());
    EXPECT_EQ(taken.view(), "abc");
}

TEST(BufferPool, ADroppedBlockIsTheNextOneHandedOut) {
    const char* first = nullptr;
    {
        const Buffer buffer = Buffer::allocate(2048);
        first = buffer.readData();
    }
    const Buffer again = Buffer::allocate(2000);
    EXPECT_EQ(again.readData(), first);
}

TEST(BufferPool, SizesAreRoundedUpToTheClassesAndLargerOnesAreExact) {
    EXPECT_EQ(Buffer::allocate(1).capacity(), 256u);
    EXPECT_EQ(Buffer::allocate(257).capacity(), 2048u);
    EXPECT_EQ(Buffer::allocate(2049).capacity(), 4096u);
    EXPECT_EQ(Buffer::allocate(4097).capacity(), 16u * 1024);
    EXPECT_EQ(Buffer::allocate(20'000).capacity(), 64u * 1024);
    EXPECT_EQ(Buffer::allocate(65'537).capacity(), 65'537u);
}

TEST(BufferPool, CountsWhatIsAlive) {
    const std::int64_t before = BufferPool::liveBlocks();
    {
        const Buffer small = Buffer::allocate(10);
        const Buffer large = Buffer::allocate(1 << 20);
        const Buffer shared = small.share();
        EXPECT_EQ(BufferPool::liveBlocks(), before + 2);
    }
    EXPECT_EQ(BufferPool::liveBlocks(), before);
}

TEST(BufferPool, ABlockThatAnotherThreadDropsComesHome) {
    Buffer buffer = Buffer::allocate(16 * 1024);
    const char* address = buffer.readData();
    std::thread([moved = std::move(buffer)]() mutable { moved = Buffer(); }).join();
    // The pool uses up the free list first; then it takes the returned block.
    std::vector<Buffer> taken;
    bool found = false;
    const std::size_t idle = BufferPool::current()->idleBlocks();
    for (std::size_t i = 0; i <= idle + 1 && !found; ++i) {
        taken.push_back(Buffer::allocate(16 * 1024));
        found = taken.back().readData() == address;
    }
    EXPECT_TRUE(found);
}

TEST(BufferPool, BlocksOutliveThePoolOfAThreadThatHasEnded) {
    const std::int64_t before = BufferPool::liveBlocks();
    std::vector<Buffer> survivors;
    std::thread([&survivors] {
        for (int i = 0; i < 3; ++i) survivors.push_back(Buffer::copyOf("still here"));
    }).join();
    EXPECT_EQ(BufferPool::liveBlocks(), before + 3);
    for (const Buffer& buffer : survivors) EXPECT_EQ(buffer.view(), "still here");
    survivors.clear();
    EXPECT_EQ(BufferPool::liveBlocks(), before);
}

TEST(BufferPool, OwnersOnManyThreadsDropTheLastReferenceExactlyOnce) {
    const std::int64_t before = BufferPool::liveBlocks();
    for (int round = 0; round < 200; ++round) {
        Buffer buffer = Buffer::copyOf("shared");
        Buffer first = buffer.share();
        Buffer second = buffer.share();
        std::thread one([moved = std::move(first)]() mutable { moved = Buffer(); });
        std::thread two([moved = std::move(second)]() mutable { moved = Buffer(); });
        buffer = Buffer();
        one.join();
        two.join();
    }
    EXPECT_EQ(BufferPool::liveBlocks(), before);
}

}  // namespace
}  // namespace weft
