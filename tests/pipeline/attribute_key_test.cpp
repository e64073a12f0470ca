// Channel::attr(): values that handlers store with a channel.
#include <weft/pipeline/attribute_key.hpp>

#include <memory>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/embedded_channel.hpp>

namespace weft {
namespace {

const AttributeKey<std::string> user;
const AttributeKey<int> visits;
const AttributeKey<int> errors;
const AttributeKey<std::shared_ptr<int>> shared;

struct Throws {
    Throws() { throw std::runtime_error("no value"); }
};
const AttributeKey<Throws> throwing;

TEST(ChannelAttributes, EachKeyHasAValueOfItsOwnInEachChannel) {
    EmbeddedChannel one, other;
    one.channel().attr(user) = "ada";
    ++one.channel().attr(visits);
    EXPECT_EQ(one.channel().attr(user), "ada");
    EXPECT_EQ(one.channel().attr(visits), 1);
    EXPECT_EQ(one.channel().attr(errors), 0) << "another key of the same type";
    EXPECT_EQ(other.channel().attr(user), "");
}

TEST(ChannelAttributes, HasAttrMakesNoValue) {
    EmbeddedChannel one;
    EXPECT_FALSE(one.channel().hasAttr(visits));
    EXPECT_FALSE(one.channel().hasAttr(visits));
    static_cast<void>(one.channel().attr(visits));
    EXPECT_TRUE(one.channel().hasAttr(visits));
    EXPECT_FALSE(one.channel().hasAttr(errors));
}

TEST(ChannelAttributes, AReferenceStaysValidWhileOthersAreAdded) {
    EmbeddedChannel one;
    int& first = one.channel().attr(visits);
    static_cast<void>(one.channel().attr(errors));
    static_cast<void>(one.channel().attr(user));
    static_cast<void>(one.channel().attr(shared));
    first = 7;
    EXPECT_EQ(one.channel().attr(visits), 7);
}

TEST(ChannelAttributes, ValuesLiveAsLongAsTheChannel) {
    const auto value = std::make_shared<int>(1);
    {
        EmbeddedChannel one;
        one.channel().attr(shared) = value;
        one.channel().close();
        one.runPendingTasks();
        EXPECT_EQ(value.use_count(), 2) << "a closed channel has its attributes";
    }
    EXPECT_EQ(value.use_count(), 1);
}

TEST(ChannelAttributes, AConstructorThatThrowsAddsNothing) {
    EmbeddedChannel one;
    EXPECT_THROW(static_cast<void>(one.channel().attr(throwing)), std::runtime_error);
    EXPECT_FALSE(one.channel().hasAttr(throwing));
}

}  // namespace
}  // namespace weft
