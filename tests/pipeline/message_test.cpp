#include <weft/pipeline/message.hpp>

#include <array>
#include <memory>
#include <string>
#include <thread>

#include <gtest/gtest.h>

namespace weft {
namespace {

struct Large {
    std::array<int, 60> numbers{};
    std::shared_ptr<int> life;
};
struct Base {};
struct Derived : Base {};

TEST(Message, HoldsABufferAndCountsItsBytes) {
    Message message(Buffer::copyOf("12345"));
    EXPECT_TRUE(message.is<Buffer>());
    EXPECT_EQ(message.estimatedBytes(), 5u);
    EXPECT_EQ(message.take<Buffer>().view(), "12345");
    EXPECT_TRUE(message.empty());
}

TEST(Message, HoldsMoveOnlyAndSelfReferringTypes) {
    Message pointer(std::make_unique<int>(7));
    Message text(std::string("short"));  // a short std::string points into itself
    Message movedPointer(std::move(pointer));
    Message movedText(std::move(text));
    EXPECT_EQ(*movedPointer.get<std::unique_ptr<int>>(), 7);
    EXPECT_EQ(movedText.get<std::string>(), "short");
    EXPECT_TRUE(text.empty());
}

TEST(Message, HoldsLargeTypesAndDestroysThemOnce) {
    auto life = std::make_shared<int>(1);
    {
        Message message(Large{{1, 2, 3}, life});
        Message moved;
        moved = std::move(message);
        EXPECT_EQ(moved.get<Large>().numbers[2], 3);
        EXPECT_EQ(life.use_count(), 2);
    }
    EXPECT_EQ(life.use_count(), 1);
}

TEST(Message, EmplaceReleasesTheOldValueAndMakesTheNewOneInItsPlace) {
    auto life = std::make_shared<int>(1);
    Message message(Large{{}, life});
    message.emplace<std::string>(3, 'x');
    EXPECT_EQ(life.use_count(), 1);
    EXPECT_EQ(message.get<std::string>(), "xxx");
    message.emplace<Large>(Large{{1, 2}, life});
    EXPECT_EQ(message.get<Large>().numbers[1], 2);
    message.reset();
    EXPECT_EQ(life.use_count(), 1);
}

TEST(Message, AnEmplaceThatThrowsLeavesItEmpty) {
    struct Throws {
        explicit Throws(int) { throw 1; }
    };
    auto life = std::make_shared<int>(1);
    Message message{std::shared_ptr<int>(life)};
    EXPECT_THROW(message.emplace<Throws>(7), int);
    EXPECT_TRUE(message.empty());
    EXPECT_EQ(life.use_count(), 1);
}

TEST(Message, ALargeMessageMayBeDroppedOnAnotherThread) {
    auto life = std::make_shared<int>(1);
    std::thread([message = Message(Large{{}, life})]() mutable { message.reset(); }).join();
    EXPECT_EQ(life.use_count(), 1);
}

TEST(Message, ALentValueStaysWhereItIs) {
    auto life = std::make_shared<int>(1);
    Large value{{1, 2, 3}, life};
    {
        Message lent = Message::lend(value);
        EXPECT_TRUE(lent.is<Large>());
        EXPECT_EQ(&lent.get<Large>(), &value);
        Message unused = Message::lend(value);
        unused.reset();
    }
    EXPECT_EQ(value.life, life);
    EXPECT_EQ(life.use_count(), 2);
}

TEST(Message, MovingALentMessageTransfersTheValue) {
    auto life = std::make_shared<int>(1);
    Message kept;
    {
        Large value{{1, 2, 3}, life};
        Message lent = Message::lend(value);
        kept = std::move(lent);
        EXPECT_TRUE(lent.empty());
        EXPECT_EQ(value.life, nullptr);
    }
    Message further(std::move(kept));
    EXPECT_EQ(further.get<Large>().numbers[2], 3);
    EXPECT_EQ(life.use_count(), 2);
    further.reset();
    EXPECT_EQ(life.use_count(), 1);
}

TEST(Message, ALentValueCanBeKeptBeforeAMoveThatMustNotFail) {
    auto life = std::make_shared<int>(1);
    Large value{{1, 2, 3}, life};
    Message lent = Message::lend(value);
    lent.keep();
    EXPECT_EQ(value.life, nullptr);
    Large* const kept = &lent.get<Large>();
    EXPECT_NE(kept, &value);
    lent.keep();
    const Message moved = std::move(lent);
    EXPECT_EQ(&moved.get<Large>(), kept);
    Message small(1);
    small.keep();
    Message().keep();
    EXPECT_EQ(small.get<int>(), 1);
}

TEST(Message, ConstantsAreCopiedAndNotLent) {
    static_assert(LendableValue<Large&&> && !LendableValue<Large&> && !LendableValue<Message&&>);
    static_assert(MessageValue<const Large&&> && !LendableValue<const Large&&>);
    const auto life = std::make_shared<int>(1);
    const Large value{{1, 2, 3}, life};
    const Message message(std::move(value));  // NOLINT(performance-move-const-arg)
    EXPECT_EQ(message.get<Large>().life, life);
    EXPECT_EQ(value.life, life);
}

TEST(Message, ALentValueMayBeTaken) {
    auto life = std::make_shared<int>(1);
    Large value{{1, 2, 3}, life};
    Message lent = Message::lend(value);
    const Large taken = lent.take<Large>();
    EXPECT_TRUE(lent.empty());
    EXPECT_EQ(taken.life, life);
    EXPECT_EQ(value.life, nullptr);
}

TEST(Message, ASmallValueIsNotLentButMoved) {
    auto life = std::make_shared<int>(1);
    Message message = Message::lend(life);
    EXPECT_EQ(life, nullptr);
    EXPECT_EQ(*message.get<std::shared_ptr<int>>(), 1);
}

TEST(Message, TypesAreComparedExactly) {
    const Message message(Derived{});
    EXPECT_TRUE(message.is<Derived>());
    EXPECT_FALSE(message.is<Base>());
    EXPECT_FALSE(Message().is<Derived>());
}

TEST(Message, NamesItsTypeForDiagnostics) {
    EXPECT_EQ(Message(Buffer()).typeName(), "weft::Buffer");
    EXPECT_EQ(Message(42).typeName(), "int");
    EXPECT_EQ(Message().typeName(), "(empty)");
}

TEST(Message, AssignmentReleasesWhatWasHeld) {
    auto life = std::make_shared<int>(1);
    Message message(std::shared_ptr<int>{life});
    message = Message(1);
    EXPECT_EQ(life.use_count(), 1);
}

TEST(Message, GetOfAnotherTypeIsAProgramBug) {
    Message message(1);
    EXPECT_DEATH(message.get<std::string>(), "another type");
}

}  // namespace
}  // namespace weft
