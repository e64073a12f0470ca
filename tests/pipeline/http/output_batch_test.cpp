// OutputBatch: bytes of several connections share one block; the tests cover when a batch moves out of it.
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <weft/pipeline/buffer_pool.hpp>
#include <weft/pipeline/http/detail/output_batch.hpp>

namespace weft::http::detail {
namespace {

void say(OutputBatch& output, std::string_view text, bool leaving = false) {
    char* const room = output.room(text.size(), leaving);
    ASSERT_NE(room, nullptr) << text.size();
    text.copy(room, text.size());
    output.produced(text.size());
}

struct SharedOutputBatches : testing::Test {
    SharedOutputBatches() {
        for (OutputBatch* output : {&a, &b, &c}) output->share(block);
    }
    OutputBlock block;
    OutputBatch a, b, c;
};

TEST(OutputBatch, SharesNothingBeforeShareIsCalled) {
    OutputBatch alone;
    EXPECT_TRUE(alone.empty());
    say(alone, "x");
    EXPECT_FALSE(alone.shared());
    EXPECT_EQ(alone.take().view(), "x");
}

TEST_F(SharedOutputBatches, AreContiguousInOneBlock) {
    say(a, "one");
    say(b, "two");
    say(c, "three");
    EXPECT_TRUE(a.shared() && b.shared() && c.shared());
    EXPECT_EQ(a.view().data() + 3, b.view().data());
    EXPECT_EQ(b.view().data() + 3, c.view().data());
    EXPECT_EQ(a.view(), "one");
    EXPECT_EQ(b.view(), "two");
    EXPECT_EQ(c.view(), "three");
}

TEST_F(SharedOutputBatches, StartAtTheFrontAgainWhenAllAreEmpty) {
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

// As a transport does that sends later.
TEST_F(SharedOutputBatches, StayUnchangedWhileABufferSharesThem) {
    std::vector<std::pair<Buffer, std::string_view>> kept;
    std::string wanted;
    for (int turn = 0; turn < 1000; ++turn) {
        say(a, std::to_string(turn) + std::string(500, 'x'));
        wanted += a.view();
        kept.emplace_back(a.storage().share(), a.view());
        EXPECT_TRUE(a.shared());
        a.clear();
    }
    std::string all;
    for (const auto& [storage, bytes] : kept) all += bytes;
    EXPECT_EQ(all, wanted);
}

TEST_F(SharedOutputBatches, StartAtTheFrontAgainWhenNoBufferSharesTheBlock) {
    say(a, "one");
    const char* const front = a.view().data();
    {
        const Buffer kept = a.storage().share();
        a.clear();
        say(b, "two");
        EXPECT_EQ(b.view().data(), front + 3);
    }
    b.clear();
    say(c, "three");
    EXPECT_EQ(c.view().data(), front);
}

TEST_F(SharedOutputBatches, TheLastOneGrowsInPlaceAndAnotherOneMoves) {
    say(a, "one");
    say(a, " and");
    EXPECT_TRUE(a.shared());
    say(b, "two");
    say(a, " more");
    EXPECT_FALSE(a.shared());
    EXPECT_EQ(a.view(), "one and more");
    say(b, " still");
    EXPECT_TRUE(b.shared());
    EXPECT_EQ(b.view(), "two still");
}

TEST_F(SharedOutputBatches, LongOnesLeaveTheBlock) {
    std::string said;
    const std::string piece(100, 'p');
    while (a.size() + piece.size() <= OutputBatch::mostShared) {
        say(a, piece);
        said += piece;
        EXPECT_TRUE(a.shared());
    }
    say(a, piece);
    EXPECT_FALSE(a.shared());
    EXPECT_EQ(a.view(), said + piece);
    EXPECT_EQ(a.take().view(), said + piece);
    EXPECT_TRUE(a.empty());
}

TEST_F(SharedOutputBatches, LeaveABlockThatIsFull) {
    std::vector<OutputBatch> many(OutputBlock::size / OutputBatch::mostShared);
    const std::string long_(OutputBatch::mostShared, 'l');
    for (OutputBatch& one : many) {
        one.share(block);
        say(one, long_);
        EXPECT_TRUE(one.shared());
    }
    say(a, "x");
    EXPECT_FALSE(a.shared());
    EXPECT_EQ(a.view(), "x");
    for (OutputBatch& one : many) EXPECT_EQ(one.take().view(), long_);
    say(b, "y");
    EXPECT_TRUE(b.shared());
}

TEST_F(SharedOutputBatches, HaveNoRoomUntilTheirBytesAreTaken) {
    const std::string half(OutputBatch::largeBlock / 2, 'h');
    say(a, half);
    say(a, half);
    EXPECT_EQ(a.room(1), nullptr);
    EXPECT_EQ(a.take().readableBytes(), OutputBatch::largeBlock);
    say(a, "x");
    EXPECT_EQ(a.view(), "x");
}

TEST_F(SharedOutputBatches, GrowToOnePieceWithoutABlock) {
    OutputBatch alone;
    std::string said;
    const std::string piece(300, 'p');
    for (int i = 0; i < 50; ++i) {
        say(alone, piece);
        said += piece;
    }
    EXPECT_EQ(alone.take().view(), said);
}

TEST_F(SharedOutputBatches, LastPiecesAreNeverShared) {
    const char* const place = [&] {
        say(a, "head", true);
        return a.view().data();
    }();
    EXPECT_FALSE(a.shared());
    const Buffer taken = a.take();
    EXPECT_EQ(taken.view(), "head");
    EXPECT_EQ(taken.readData(), place);  // the same bytes, not a copy
}

TEST_F(SharedOutputBatches, ConsumedBytesAreNotTakenAgain) {
    say(a, "taken and left");
    a.consumed(6);
    EXPECT_EQ(a.view(), "and left");
    EXPECT_EQ(a.take().view(), "and left");
    say(b, "taken and left", true);
    b.consumed(6);
    EXPECT_EQ(b.take().view(), "and left");
}

TEST_F(SharedOutputBatches, UnsharedOnesOutliveTheTurn) {
    say(a, "stays");
    a.unshare();
    EXPECT_FALSE(a.shared());
    EXPECT_EQ(block.users(), 0u);
    say(b, "other");
    b.clear();
    say(b, "bytes");
    EXPECT_EQ(a.view(), "stays");
    say(a, " and grows");
    EXPECT_EQ(a.view(), "stays and grows");
    c.unshare();
    EXPECT_TRUE(c.empty());
}

TEST_F(SharedOutputBatches, LeaveNoBlockBehind) {
    const auto live = BufferPool::liveBlocks();
    say(a, "one");
    a.unshare();
    say(b, "two", true);
    say(c, "three");
    c.consumed(5);
    EXPECT_TRUE(c.empty());
    EXPECT_EQ(c.take().readableBytes(), 0u);
    a.clear();
    b.clear();
    EXPECT_EQ(BufferPool::liveBlocks(), live);
    EXPECT_FALSE(a.shared() || b.shared() || c.shared());
}

}  // namespace
}  // namespace weft::http::detail
