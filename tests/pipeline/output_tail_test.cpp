// OutputTail: bytes of several channels share one block; the tests cover when a tail moves out of it.
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <weft/pipeline/buffer_pool.hpp>
#include <weft/pipeline/detail/held_bytes.hpp>
#include <weft/pipeline/detail/output_tail.hpp>

namespace weft::detail {
namespace {

void say(OutputTail& output, std::string_view text) {
    char* const room = output.room(text.size());
    ASSERT_NE(room, nullptr) << text.size();
    text.copy(room, text.size());
    output.produced(text.size());
}

struct SharedOutputTails : testing::Test {
    SharedOutputTails() {
        for (OutputTail* output : {&a, &b, &c}) output->share(block);
    }
    OutputBlock block;
    OutputTail a, b, c;
};

TEST(OutputTail, SharesNothingBeforeShareIsCalled) {
    OutputTail alone;
    EXPECT_TRUE(alone.empty());
    say(alone, "x");
    EXPECT_FALSE(alone.inBlock());
    EXPECT_EQ(alone.take().view(), "x");
}

TEST_F(SharedOutputTails, AreContiguousInOneBlock) {
    say(a, "one");
    say(b, "two");
    say(c, "three");
    EXPECT_TRUE(a.inBlock() && b.inBlock() && c.inBlock());
    EXPECT_EQ(a.view().data() + 3, b.view().data());
    EXPECT_EQ(b.view().data() + 3, c.view().data());
    EXPECT_EQ(a.view(), "one");
    EXPECT_EQ(b.view(), "two");
    EXPECT_EQ(c.view(), "three");
}

TEST_F(SharedOutputTails, StartAtTheFrontAgainWhenAllAreEmpty) {
    say(a, "one");
    const char* const front = a.view().data();
    say(b, "two");
    a.clear();
    say(c, "three");
    EXPECT_EQ(c.view().data(), front + 6);
    b.clear();
    c.clear();
    say(b, "again");
    EXPECT_EQ(b.view().data(), front);
}

// As for a transport that sends later.
TEST_F(SharedOutputTails, PinnedBytesStayWhereTheyAreAndUnchanged) {
    std::vector<std::pair<Buffer, std::string_view>> kept;
    std::string wanted;
    for (int turn = 0; turn < 1000; ++turn) {
        say(a, std::to_string(turn) + std::string(500, 'x'));
        wanted += a.view();
        const std::string_view bytes = a.view();
        a.pin();
        EXPECT_FALSE(a.inBlock());
        a.leaveBlock();
        EXPECT_EQ(a.view().data(), bytes.data());
        EXPECT_EQ(block.users(), 0u);
        kept.emplace_back(a.take(), bytes);
        EXPECT_EQ(kept.back().first.view().data(), bytes.data());
    }
    std::string all;
    for (const auto& [buffer, bytes] : kept) all += bytes;
    EXPECT_EQ(all, wanted);
}

TEST_F(SharedOutputTails, PinnedBytesHaveNoRoomWhereTheyWouldMove) {
    say(a, "one");
    a.pin();
    EXPECT_EQ(a.room(1), nullptr);
    a.consumed(2);
    EXPECT_EQ(a.take().view(), "e");
    OutputTail alone;
    say(alone, "two");
    alone.pin();
    const char* const place = alone.view().data();
    say(alone, std::string(OutputTail::smallBlock - 100, 'x'));
    EXPECT_EQ(alone.view().data(), place) << "its own block has room behind them";
    EXPECT_EQ(alone.room(1000), nullptr);
    EXPECT_EQ(alone.take().readData(), place);
}

TEST_F(SharedOutputTails, StartAtTheFrontAgainWhenNoBufferSharesTheBlock) {
    say(a, "one");
    const char* const front = a.view().data();
    a.pin();
    say(b, "two");
    EXPECT_EQ(b.view().data(), front + 3);
    a.consumed(3);
    b.clear();
    say(c, "three");
    EXPECT_EQ(c.view().data(), front);
}

TEST_F(SharedOutputTails, TheLastOneGrowsInPlaceAndAnotherOneMoves) {
    say(a, "one");
    say(a, " and");
    EXPECT_TRUE(a.inBlock());
    say(b, "two");
    say(a, " more");
    EXPECT_FALSE(a.inBlock());
    EXPECT_EQ(a.view(), "one and more");
    say(b, " still");
    EXPECT_TRUE(b.inBlock());
    EXPECT_EQ(b.view(), "two still");
}

TEST_F(SharedOutputTails, LongOnesLeaveTheBlock) {
    std::string said;
    const std::string piece(100, 'p');
    while (a.size() + piece.size() <= OutputTail::mostShared) {
        say(a, piece);
        said += piece;
        EXPECT_TRUE(a.inBlock());
    }
    say(a, piece);
    EXPECT_FALSE(a.inBlock());
    EXPECT_EQ(a.view(), said + piece);
    EXPECT_EQ(a.take().view(), said + piece);
    EXPECT_TRUE(a.empty());
}

TEST_F(SharedOutputTails, LeaveABlockThatIsFull) {
    std::array<OutputTail, OutputBlock::size / OutputTail::mostShared> many;
    const std::string long_(OutputTail::mostShared, 'l');
    for (OutputTail& one : many) {
        one.share(block);
        say(one, long_);
        EXPECT_TRUE(one.inBlock());
    }
    say(a, "x");
    EXPECT_FALSE(a.inBlock());
    EXPECT_EQ(a.view(), "x");
    for (OutputTail& one : many) EXPECT_EQ(one.take().view(), long_);
    say(b, "y");
    EXPECT_TRUE(b.inBlock());
}

TEST_F(SharedOutputTails, HaveNoRoomUntilTheirBytesAreTaken) {
    const std::string half(OutputTail::largeBlock / 2, 'h');
    say(a, half);
    say(a, half);
    EXPECT_EQ(a.room(1), nullptr);
    EXPECT_EQ(a.take().readableBytes(), OutputTail::largeBlock);
    say(a, "x");
    EXPECT_EQ(a.view(), "x");
}

TEST_F(SharedOutputTails, GrowToOnePieceWithoutABlock) {
    OutputTail alone;
    std::string said;
    const std::string piece(300, 'p');
    for (int i = 0; i < 50; ++i) {
        say(alone, piece);
        said += piece;
    }
    EXPECT_EQ(alone.take().view(), said);
}

TEST_F(SharedOutputTails, ConsumedBytesAreNotTakenAgain) {
    say(a, "taken and left");
    a.consumed(6);
    EXPECT_EQ(a.view(), "and left");
    EXPECT_EQ(a.take().view(), "and left");
    OutputTail alone;
    say(alone, "taken and left");
    alone.consumed(6);
    EXPECT_EQ(alone.take().view(), "and left");
}

TEST_F(SharedOutputTails, CutBytesAreGoneAndTheirRoomIsUsedAgain) {
    for (OutputTail* const tail : {&a, &b}) {
        say(*tail, "one two three");
        if (tail == &b) tail->leaveBlock();
        tail->cut(4, 4);
        EXPECT_EQ(tail->view(), "one three");
        say(*tail, "!");
        EXPECT_EQ(tail->view(), "one three!");
        tail->cut(0, 10);
        EXPECT_TRUE(tail->empty());
    }
    EXPECT_EQ(block.users(), 0u);
}

TEST_F(SharedOutputTails, ThoseThatHaveLeftOutliveTheTurn) {
    say(a, "stays");
    a.leaveBlock();
    EXPECT_FALSE(a.inBlock());
    EXPECT_EQ(block.users(), 0u);
    say(b, "other");
    b.clear();
    say(b, "bytes");
    EXPECT_EQ(a.view(), "stays");
    say(a, " and grows");
    EXPECT_EQ(a.view(), "stays and grows");
    c.leaveBlock();
    EXPECT_TRUE(c.empty());
}

TEST_F(SharedOutputTails, RoomThatIsNotUsedIsGivenBack) {
    a.room(100);
    EXPECT_EQ(block.users(), 1u);
    a.leaveBlock();
    EXPECT_EQ(block.users(), 0u);
}

TEST_F(SharedOutputTails, KeepNoBlockAlive) {
    const auto live = BufferPool::liveBlocks();
    say(a, "one");
    a.leaveBlock();
    say(b, "two");
    b.pin();
    say(c, "three");
    c.consumed(5);
    EXPECT_TRUE(c.empty());
    a.clear();
    b.clear();
    EXPECT_EQ(BufferPool::liveBlocks(), live);
    EXPECT_FALSE(a.inBlock() || b.inBlock() || c.inBlock());
}

TEST_F(SharedOutputTails, TakenBytesKeepNoBlockOfManyTimesTheirSize) {
    say(a, std::string(100, 'x'));
    say(b, "behind it");
    say(a, std::string(230, 'x'));
    EXPECT_GE(a.heldBytes(), OutputTail::largeBlock);
    const Buffer bytes = a.take();
    EXPECT_EQ(bytes.view(), std::string(330, 'x'));
    EXPECT_LE(bytes.heldBytes(), freelyHeldBytes);
}

}  // namespace
}  // namespace weft::detail
