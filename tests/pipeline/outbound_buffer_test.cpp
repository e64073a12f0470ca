#include <weft/pipeline/outbound_buffer.hpp>

#include <string>

#include <gtest/gtest.h>
#include <sys/uio.h>

namespace weft {
namespace {

std::string gathered(const OutboundBuffer& buffer, std::size_t maxBytes = 1 << 20) {
    iovec pieces[32];
    std::string text;
    const std::size_t count = buffer.gather(pieces, 32, maxBytes);
    for (std::size_t i = 0; i < count; ++i)
        text.append(static_cast<const char*>(pieces[i].iov_base), pieces[i].iov_len);
    return text;
}

ChannelPromise listened(std::string& log, char mark) {
    ChannelPromise promise = ChannelPromise::detached();
    promise.addListener(
        [&log, mark](const ChannelFuture& future) { log += future.success() ? mark : char(mark - 32); });
    return promise;
}

TEST(OutboundBuffer, W1_OnlyFlushedBytesAreOffered) {
    OutboundBuffer buffer;
    buffer.add(Buffer::copyOf("first"), {});
    EXPECT_TRUE(buffer.empty());
    buffer.addFlush();
    buffer.add(Buffer::copyOf("second"), {});
    EXPECT_EQ(gathered(buffer), "first");
    EXPECT_EQ(buffer.flushedBytes(), 5u);
    buffer.addFlush();
    EXPECT_EQ(gathered(buffer), "firstsecond");
}

TEST(OutboundBuffer, W1_PromisesCompleteInOrderWhenTheirBytesAreWritten) {
    OutboundBuffer buffer;
    std::string log;
    buffer.add(Buffer::copyOf("aaaa"), listened(log, 'a'));
    buffer.add(Buffer::copyOf(""), listened(log, 'b'));
    buffer.add(Buffer::copyOf("cccc"), listened(log, 'c'));
    buffer.addFlush();
    buffer.consume(3);
    EXPECT_EQ(log, "");
    buffer.consume(1);
    EXPECT_EQ(log, "ab") << "a write of no bytes completes when all before it has";
    EXPECT_EQ(gathered(buffer), "cccc");
    buffer.consume(4);
    EXPECT_EQ(log, "abc");
    EXPECT_TRUE(buffer.empty());
}

TEST(OutboundBuffer, W1_BytesSentPastItArePendingAndBeforeAllOthers) {
    OutboundBuffer buffer;
    std::string log;
    buffer.passingBy(10);
    EXPECT_EQ(buffer.pendingBytes(), 10u);
    EXPECT_FALSE(buffer.empty());
    buffer.add(Buffer::copyOf(""), listened(log, 'a'));
    buffer.add(Buffer::copyOf("bbb"), listened(log, 'b'));
    buffer.addFlush();
    EXPECT_EQ(gathered(buffer), "bbb") << "only what is here";
    EXPECT_EQ(buffer.onlyPiece(), "");
    buffer.consume(4);
    EXPECT_EQ(log, "");
    buffer.consume(8);
    EXPECT_EQ(log, "a");
    EXPECT_EQ(gathered(buffer), "b");
    buffer.consume(1);
    EXPECT_EQ(log, "ab");
    EXPECT_TRUE(buffer.empty());
    EXPECT_EQ(buffer.pendingBytes(), 0u);
}

TEST(OutboundBuffer, W6_BytesSentPastItFailWithTheOthers) {
    OutboundBuffer buffer;
    std::string log;
    buffer.passingBy(10);
    buffer.add(Buffer::copyOf("aaa"), listened(log, 'a'));
    buffer.addFlush();
    buffer.add(Buffer::copyOf("bbb"), listened(log, 'b'));
    buffer.failFlushed(std::make_exception_ptr(SystemError(fromErrno(EPIPE))));
    EXPECT_EQ(log, "A");
    EXPECT_EQ(buffer.pendingBytes(), 3 + OutboundBuffer::entryOverhead);
    buffer.addFlush();
    EXPECT_EQ(gathered(buffer), "bbb");
    buffer.failAll(std::make_exception_ptr(SystemError(fromErrno(EPIPE))));
    EXPECT_EQ(buffer.pendingBytes(), 0u);
}

TEST(OutboundBuffer, W3_PendingCountsSizesAndAnOverheadPerWrite) {
    OutboundBuffer buffer;
    buffer.add(Buffer::copyOf("12345"), {});
    buffer.add(Buffer::copyOf("123"), {});
    EXPECT_EQ(buffer.pendingBytes(), 8 + 2 * OutboundBuffer::entryOverhead);
    buffer.addFlush();
    buffer.consume(4);
    EXPECT_EQ(buffer.pendingBytes(), 8 + 2 * OutboundBuffer::entryOverhead)
        << "a write counts whole until it is complete";
    buffer.consume(1);
    EXPECT_EQ(buffer.pendingBytes(), 3 + OutboundBuffer::entryOverhead);
    buffer.consume(3);
    EXPECT_EQ(buffer.pendingBytes(), 0u);
}

TEST(OutboundBuffer, SmallWritesAreJoinedAndTheirBytesStayInOrder) {
    OutboundBuffer buffer;
    std::string expected;
    for (int i = 0; i < 16; ++i) {
        const std::string answer = "answer " + std::to_string(i) + std::string(120, '.');
        expected += answer;
        buffer.add(Buffer::copyOf(answer), {});
    }
    buffer.addFlush();
    EXPECT_LE(buffer.pieces(), 3u);
    EXPECT_EQ(gathered(buffer), expected);
}

TEST(OutboundBuffer, ASharedPieceIsNeverWrittenInto) {
    OutboundBuffer buffer;
    Buffer cached = Buffer::copyOf("cached");
    buffer.add(cached.share(), {});
    buffer.add(Buffer::copyOf("more"), {});
    buffer.addFlush();
    EXPECT_EQ(gathered(buffer), "cachedmore");
    EXPECT_EQ(cached.view(), "cached");
    cached.append("X");
    EXPECT_EQ(gathered(buffer), "cachedmore");
}

TEST(OutboundBuffer, LargeWritesAreNotCopied) {
    OutboundBuffer buffer;
    Buffer large = Buffer::copyOf(std::string(5000, 'x'));
    const char* bytes = large.readData();
    buffer.add(Buffer::copyOf("small"), {});
    buffer.add(std::move(large), {});
    buffer.addFlush();
    iovec pieces[4];
    ASSERT_EQ(buffer.gather(pieces, 4, 1 << 20), 2u);
    EXPECT_EQ(pieces[1].iov_base, bytes);
}

TEST(OutboundBuffer, GatherKeepsToItsLimits) {
    OutboundBuffer buffer;
    for (int i = 0; i < 3; ++i) buffer.add(Buffer::copyOf(std::string(2000, char('a' + i))), {});
    buffer.addFlush();
    iovec pieces[2];
    EXPECT_EQ(buffer.gather(pieces, 2, 1 << 20), 2u);
    EXPECT_EQ(gathered(buffer, 2500), std::string(2000, 'a') + std::string(500, 'b'));
}

TEST(OutboundBuffer, C2_FailAllFailsFlushedAndUnflushedWritesInOrder) {
    OutboundBuffer buffer;
    std::string log;
    buffer.add(Buffer::copyOf("a"), listened(log, 'a'));
    buffer.addFlush();
    buffer.add(Buffer::copyOf("b"), listened(log, 'b'));
    buffer.failAll(std::make_exception_ptr(std::runtime_error("closed")));
    EXPECT_EQ(log, "AB");
    EXPECT_EQ(buffer.pendingBytes(), 0u);
    EXPECT_TRUE(buffer.empty());
}

TEST(OutboundBuffer, W2_ACancelledUnflushedWriteIsSkippedAndAFlushedOneCannotBeCancelled) {
    OutboundBuffer buffer;
    const ChannelPromise middle = ChannelPromise::detached();
    const ChannelPromise last = ChannelPromise::detached();
    buffer.add(Buffer::copyOf("one "), {});
    buffer.add(Buffer::copyOf("two "), ChannelPromise(middle));
    buffer.add(Buffer::copyOf("three"), ChannelPromise(last));
    EXPECT_TRUE(middle.future().cancel());
    buffer.addFlush();
    EXPECT_EQ(gathered(buffer), "one three");
    EXPECT_EQ(buffer.pendingBytes(), 9 + 2 * OutboundBuffer::entryOverhead);
    EXPECT_FALSE(last.future().cancel());
    buffer.consume(9);
    EXPECT_TRUE(last.future().success());
}

TEST(OutboundBuffer, AListenerMayAddAndFlushWhileBytesAreConsumed) {
    OutboundBuffer buffer;
    const ChannelPromise first = ChannelPromise::detached();
    first.addListener([&](const ChannelFuture&) {
        buffer.add(Buffer::copyOf("again"), {});
        buffer.addFlush();
    });
    buffer.add(Buffer::copyOf("x"), ChannelPromise(first));
    buffer.addFlush();
    buffer.consume(1);
    EXPECT_EQ(gathered(buffer), "again");
}

TEST(OutboundBuffer, WholeMessagesAreTakenOneByOneAndNeverJoined) {
    OutboundBuffer buffer;
    buffer.takeWholeMessages();
    std::string log;
    buffer.add(Buffer::copyOf("a"), listened(log, 'a'));
    buffer.add(std::string("text"), listened(log, 'b'));
    Message message;
    EXPECT_FALSE(buffer.takeMessage(message));
    buffer.addFlush();
    EXPECT_FALSE(buffer.empty());
    EXPECT_TRUE(buffer.takeMessage(message));
    EXPECT_EQ(message.get<Buffer>().view(), "a");
    EXPECT_EQ(log, "a");
    EXPECT_TRUE(buffer.takeMessage(message));
    EXPECT_EQ(message.get<std::string>(), "text");
    EXPECT_TRUE(buffer.empty());
}

}  // namespace
}  // namespace weft
