// The hot path allocates nothing in steady state. The tests count calls of the program's own operator new.
#include <atomic>
#include <cstdlib>
#include <new>
#include <string>

#include <gtest/gtest.h>

#include <weft/pipeline/channel.hpp>

#include "heap_calls.hpp"
#include "scripted_sink.hpp"
#include "support/sanitized.hpp"

#ifndef WEFT_SANITIZED

namespace {
std::atomic<std::size_t> allocations{0};
}

void* operator new(std::size_t size) {
    allocations.fetch_add(1, std::memory_order_relaxed);
    if (void* block = std::malloc(size)) return block;
    throw std::bad_alloc();
}
void* operator new(std::size_t size, std::align_val_t align) {
    allocations.fetch_add(1, std::memory_order_relaxed);
    const std::size_t alignment = static_cast<std::size_t>(align);
    if (void* block = std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment)) return block;
    throw std::bad_alloc();
}
void operator delete(void* block) noexcept {
    ++weft::test::blocksReturned;
    std::free(block);
}
void operator delete(void* block, std::size_t) noexcept {
    operator delete(block);
}
void operator delete(void* block, std::align_val_t) noexcept {
    operator delete(block);
}
void operator delete(void* block, std::size_t, std::align_val_t) noexcept {
    operator delete(block);
}

namespace weft {
namespace {

struct Echo final : ChannelInboundHandler {
    void channelRead(ChannelHandlerContext& ctx, Message&& message) override {
        ctx.writeAndFlush(std::move(message), listened ? ctx.newPromise() : ChannelPromise());
    }
    bool listened = false;
};

struct LargeMessage {
    char bytes[300] = {};
};

// Stands in for a codec: passes a small object down the pipeline and a large one up.
struct Wraps final : ChannelInboundHandler {
    void channelRead(ChannelHandlerContext& ctx, Message&& message) override {
        Message large = Message::of<LargeMessage>();
        Message moved = std::move(large);
        if (moved.is<LargeMessage>()) ctx.fireChannelRead(std::move(message));
    }
};

std::size_t allocationsOfRounds(test::ScriptedChannel& channel, int rounds) {
    const std::size_t before = allocations.load();
    for (int i = 0; i < rounds; ++i) {
        Buffer request = Buffer::allocate(channel->readBufferSize());
        request.append("GET / HTTP/1.1");
        channel->onRead(std::move(request));
        channel->onReadComplete();
        channel.loop.runFlushPoint();
    }
    return allocations.load() - before;
}

TEST(Allocation, AnEchoOfABufferAllocatesNothingInSteadyState) {
    test::ScriptedChannel channel;
    channel.pipeline().addLast<Wraps>().addLast<Echo>();
    channel.start();
    channel.sink->written.reserve(1 << 20);
    channel.sink->calls.reserve(4096);
    EXPECT_GT(allocationsOfRounds(channel, 16), 0u) << "the pools are filled here; else this counts nothing";
    EXPECT_EQ(allocationsOfRounds(channel, 1000), 0u);
}

TEST(Allocation, APromisePerWriteComesFromThePoolToo) {
    test::ScriptedChannel channel;
    channel.pipeline().addLast<Echo>();
    channel.start();
    channel.pipeline().get<Echo>()->listened = true;
    channel.sink->written.reserve(1 << 20);
    channel.sink->calls.reserve(4096);
    allocationsOfRounds(channel, 16);
    EXPECT_EQ(allocationsOfRounds(channel, 1000), 0u);
}

}  // namespace
}  // namespace weft

#endif
