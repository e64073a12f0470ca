#include <weft/pipeline/channel_output.hpp>

#include <string>

#include <gtest/gtest.h>
#include <sys/uio.h>

namespace weft {
namespace {

std::string gathered(const ChannelOutput& output, std::size_t maxBytes = 1 << 20) {
    iovec pieces[32];
    std::string text;
    const std::size_t count = output.gather(pieces, 32, maxBytes);
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

TEST(ChannelOutput, W1_OnlyFlushedBytesAreOffered) {
    ChannelOutput output;
    output.write(Buffer::copyOf("first"), {});
    EXPECT_TRUE(output.empty());
    output.flush();
    output.write(Buffer::copyOf("second"), {});
    EXPECT_EQ(gathered(output), "first");
    EXPECT_EQ(output.flushedBytes(), 5u);
    output.flush();
    EXPECT_EQ(gathered(output), "firstsecond");
}

TEST(ChannelOutput, W1_PromisesCompleteInOrderWhenTheirBytesAreWritten) {
    ChannelOutput output;
    std::string log;
    output.write(Buffer::copyOf("aaaa"), listened(log, 'a'));
    output.write(Buffer::copyOf(""), listened(log, 'b'));
    output.write(Buffer::copyOf("cccc"), listened(log, 'c'));
    output.flush();
    output.consume(3);
    EXPECT_EQ(log, "");
    output.consume(1);
    EXPECT_EQ(log, "ab") << "a write of no bytes completes when all before it has";
    EXPECT_EQ(gathered(output), "cccc");
    output.consume(4);
    EXPECT_EQ(log, "abc");
    EXPECT_TRUE(output.empty());
}

TEST(ChannelOutput, W3_PendingCountsBytesAndAnOverheadPerPieceAndMark) {
    ChannelOutput output;
    std::string log;
    output.write(Buffer::copyOf("12345"), {});
    output.write(Buffer::copyOf("123"), {});
    EXPECT_EQ(output.pendingBytes(), 8u) << "copied";
    output.write(Buffer::copyOf(std::string(2000, 'x')), listened(log, 'a'));
    EXPECT_EQ(output.pendingBytes(), 2008 + 3 * ChannelOutput::entryBytes) << "two pieces and a promise";
    output.flush();
    output.consume(4);
    EXPECT_EQ(output.pendingBytes(), 2004 + 3 * ChannelOutput::entryBytes);
    output.consume(4);
    EXPECT_EQ(output.pendingBytes(), 2000 + 2 * ChannelOutput::entryBytes);
    output.consume(2000);
    EXPECT_EQ(output.pendingBytes(), 0u);
    EXPECT_EQ(log, "a");
}

TEST(ChannelOutput, SmallWritesAreJoinedAndTheirBytesStayInOrder) {
    ChannelOutput output;
    std::string expected;
    for (int i = 0; i < 16; ++i) {
        const std::string answer = "answer " + std::to_string(i) + std::string(120, '.');
        expected += answer;
        output.write(Buffer::copyOf(answer), {});
    }
    output.flush();
    EXPECT_EQ(output.pieces(), 0u);
    EXPECT_EQ(output.single(1 << 20), expected);
}

TEST(ChannelOutput, ASharedPieceIsNeverWrittenInto) {
    ChannelOutput output;
    Buffer cached = Buffer::copyOf("cached");
    output.write(cached.share(), {});
    output.write(Buffer::copyOf("more"), {});
    output.flush();
    EXPECT_EQ(gathered(output), "cachedmore");
    EXPECT_EQ(cached.view(), "cached");
    cached.append("X");
    EXPECT_EQ(gathered(output), "cachedmore");
}

TEST(ChannelOutput, LargeWritesAreNotCopied) {
    ChannelOutput output;
    Buffer large = Buffer::copyOf(std::string(5000, 'x'));
    const char* bytes = large.readData();
    output.write(Buffer::copyOf("small"), {});
    output.write(std::move(large), {});
    output.flush();
    iovec pieces[4];
    ASSERT_EQ(output.gather(pieces, 4, 1 << 20), 2u);
    EXPECT_EQ(pieces[1].iov_base, bytes);
}

TEST(ChannelOutput, GatherKeepsToItsLimits) {
    ChannelOutput output;
    for (int i = 0; i < 3; ++i) output.write(Buffer::copyOf(std::string(2000, char('a' + i))), {});
    output.flush();
    iovec pieces[2];
    EXPECT_EQ(output.gather(pieces, 2, 1 << 20), 2u);
    EXPECT_EQ(gathered(output, 2500), std::string(2000, 'a') + std::string(500, 'b'));
}

TEST(ChannelOutput, C2_FailAllFailsFlushedAndUnflushedWritesInOrder) {
    ChannelOutput output;
    std::string log;
    output.write(Buffer::copyOf("a"), listened(log, 'a'));
    output.flush();
    output.write(Buffer::copyOf("b"), listened(log, 'b'));
    output.failAll(std::make_exception_ptr(std::runtime_error("closed")));
    EXPECT_EQ(log, "AB");
    EXPECT_EQ(output.pendingBytes(), 0u);
    EXPECT_TRUE(output.empty());
}

TEST(ChannelOutput, W2_ACancelledUnflushedWriteIsSkippedAndAFlushedOneCannotBeCancelled) {
    ChannelOutput output;
    const ChannelPromise middle = ChannelPromise::detached();
    const ChannelPromise last = ChannelPromise::detached();
    output.write(Buffer::copyOf("one "), {});
    output.write(Buffer::copyOf("two "), ChannelPromise(middle));
    output.write(Buffer::copyOf("three"), ChannelPromise(last));
    EXPECT_TRUE(middle.future().cancel());
    output.flush();
    EXPECT_EQ(gathered(output), "one three");
    EXPECT_EQ(output.pendingBytes(), 9 + ChannelOutput::entryBytes);
    EXPECT_FALSE(last.future().cancel());
    output.consume(9);
    EXPECT_TRUE(last.future().success());
}

TEST(ChannelOutput, AListenerMayAddAndFlushWhileBytesAreConsumed) {
    ChannelOutput output;
    const ChannelPromise first = ChannelPromise::detached();
    first.addListener([&](const ChannelFuture&) {
        output.write(Buffer::copyOf("again"), {});
        output.flush();
    });
    output.write(Buffer::copyOf("x"), ChannelPromise(first));
    output.flush();
    output.consume(1);
    EXPECT_EQ(gathered(output), "again");
}

TEST(ChannelOutput, WholeMessagesAreTakenOneByOneAndNeverJoined) {
    ChannelOutput output;
    output.takeWholeMessages();
    std::string log;
    output.write(Buffer::copyOf("a"), listened(log, 'a'));
    output.write(std::string("text"), listened(log, 'b'));
    Message message;
    EXPECT_FALSE(output.takeMessage(message));
    output.flush();
    EXPECT_FALSE(output.empty());
    EXPECT_TRUE(output.takeMessage(message));
    EXPECT_EQ(message.get<Buffer>().view(), "a");
    EXPECT_EQ(log, "a");
    EXPECT_TRUE(output.takeMessage(message));
    EXPECT_EQ(message.get<std::string>(), "text");
    EXPECT_TRUE(output.empty());
}

}  // namespace
}  // namespace weft
