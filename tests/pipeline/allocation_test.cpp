// The hot path allocates nothing in steady state. The tests count calls of the program's own operator new.
#include <atomic>
#include <cstdlib>
#include <new>
#include <string>

#include <gtest/gtest.h>
#include <sys/uio.h>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/detail/encoded_write.hpp>

#include "heap_calls.hpp"
#include "scripted_sink.hpp"
#include "support/sanitized.hpp"

#ifndef WEFT_SANITIZED

namespace {
std::atomic<std::size_t> allocations{0};
}

void* operator new(std::size_t size) {
    allocations.fetch_add(1, std::memory_order_relaxed);
    if (weft::test::heapIsFull) throw std::bad_alloc();
    if (void* block = std::malloc(size)) return block;
    throw std::bad_alloc();
}
void* operator new(std::size_t size, std::align_val_t align) {
    allocations.fetch_add(1, std::memory_order_relaxed);
    if (weft::test::heapIsFull) throw std::bad_alloc();
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

// ---- without memory ----

// Calls fn() while the heap has no memory. True: it threw std::bad_alloc.
template <class F>
bool throwsWithoutMemory(F fn) {
    test::heapIsFull = true;
    bool thrown = false;
    try {
        fn();
    } catch (const std::bad_alloc&) {
        thrown = true;
    }
    test::heapIsFull = false;
    return thrown;
}

void appendPieces(ChannelOutput& output, int count) {
    for (int i = 0; i < count; ++i) output.append(Buffer::copyOf(std::string(2000, 'x')));
}

std::string firstFlushed(const ChannelOutput& output) {
    iovec pieces[32];
    std::string all;
    for (std::size_t i = 0, count = output.gather(pieces, 32, 1 << 20); i < count; ++i)
        all.append(static_cast<const char*>(pieces[i].iov_base), pieces[i].iov_len);
    return all;
}

TEST(Allocation, AWriteWithoutMemoryLeavesTheOutputAsItWas) {
    ChannelOutput output;
    appendPieces(output, 7);
    output.append(std::string(1000, 't'));
    output.mark(ChannelPromise::detached());
    Message large(Buffer::copyOf(std::string(2000, 'y')));
    ChannelPromise promise = ChannelPromise::detached();
    const std::size_t before = output.pendingBytes();
    EXPECT_TRUE(throwsWithoutMemory([&] { output.write(std::move(large), std::move(promise)); }));
    EXPECT_EQ(output.pendingBytes(), before + ChannelOutput::entryBytes) << "the tail has become a piece";
    output.flush();
    EXPECT_EQ(firstFlushed(output), std::string(14'000, 'x') + std::string(1000, 't'));
    output.consume(15'000);
    EXPECT_EQ(output.pendingBytes(), 0u);
}

TEST(Allocation, AFlushWithoutMemoryToCutACancelledWriteOutDoesNothing) {
    ChannelOutput output;
    appendPieces(output, 6);
    output.append("before ");
    const ChannelPromise cancelled = ChannelPromise::detached();
    output.write(Buffer::copyOf("cancelled"), ChannelPromise(cancelled));
    output.append(" after");
    output.append(Buffer::copyOf(std::string(2000, 'y')));  // eight pieces, the seventh to be cut
    EXPECT_TRUE(cancelled.future().cancel());
    EXPECT_TRUE(throwsWithoutMemory([&] { output.flush(); }));
    EXPECT_EQ(output.flushedBytes(), 0u);
    output.flush();
    EXPECT_EQ(firstFlushed(output), std::string(12'000, 'x') + "before  after" + std::string(2000, 'y'));
}

TEST(Allocation, AnEncodedMessageWithoutMemoryForItsPromiseClosesTheChannel) {
    struct Counts final : ChannelOutboundHandler {
        void write(ChannelHandlerContext& ctx, Message&& message, ChannelPromise promise) override {
            EXPECT_TRUE(throwsWithoutMemory([&] {
                detail::writeEncoded(ctx, std::move(promise), [&](ChannelOutput& out) {
                    out.append(message.get<Buffer>().view());
                    return true;
                });
            }));
            EXPECT_FALSE(promise.isVoid()) << "the caller can fail it";
        }
    };
    test::ScriptedChannel channel;
    channel.pipeline().addLast<Counts>();
    channel.start();
    channel->write(Buffer::copyOf("counted as sent"), channel->newPromise());
    channel->flush();
    channel.run();
    EXPECT_EQ(channel.sink->written, "");
    EXPECT_FALSE(channel->open()) << "its encoder cannot tell that nothing was sent";
}

TEST(Allocation, AnEncodedMessageWithoutMemoryForItsBufferClosesTheChannel) {
    struct Passes final : ChannelOutboundHandler {
        void write(ChannelHandlerContext& ctx, Message&& message, ChannelPromise promise) override {
            ctx.write(std::move(message), std::move(promise));
        }
    };
    struct Counts final : ChannelOutboundHandler {
        void write(ChannelHandlerContext& ctx, Message&&, ChannelPromise promise) override {
            try {
                detail::writeEncodedWhole(ctx, std::move(promise), [&](ChannelOutput& out) {
                    out.append("counted as sent");
                    return test::heapIsFull = true;
                });
                ADD_FAILURE() << "there was memory";
            } catch (const std::bad_alloc&) {
            }
            test::heapIsFull = false;
            EXPECT_FALSE(promise.isVoid()) << "the caller can fail it";
        }
    };
    test::ScriptedChannel channel;
    channel.pipeline().addLast<Passes>().addLast<Counts>();
    channel.start();
    channel->write(Buffer::copyOf("x"), channel->newPromise());
    channel->flush();
    channel.run();
    EXPECT_EQ(channel.sink->written, "");
    EXPECT_FALSE(channel->open());
}

}  // namespace
}  // namespace weft

#endif
