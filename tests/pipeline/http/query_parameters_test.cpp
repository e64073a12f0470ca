#include <weft/http/query_parameters.hpp>

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace weft::http {
namespace {

TEST(QueryParameters, NamesAndValuesAreDecodedInTheirOrder) {
    const auto query = QueryParameters::parse("b=2&a=x%20y+z&b=%26%3D");
    ASSERT_TRUE(query);
    EXPECT_EQ(query->size(), 3u);
    EXPECT_EQ(query->value("a"), "x y z");
    EXPECT_EQ(query->value("b"), "2") << "the first one";
    EXPECT_EQ(query->values("b"), (std::vector<std::string_view>{"2", "&="}));
    EXPECT_EQ(query->begin()->first, "b");
    EXPECT_EQ(query->value("B"), std::nullopt);
}

TEST(QueryParameters, ANameMayHaveNoValueAndAValueMayContainEqualsSigns) {
    const auto query = QueryParameters::parse("flag&&empty=&sum=1=2&=nameless&");
    ASSERT_TRUE(query);
    EXPECT_EQ(query->size(), 4u) << "empty parts are skipped";
    EXPECT_EQ(query->value("flag"), "");
    EXPECT_EQ(query->value("empty"), "");
    EXPECT_EQ(query->value("sum"), "1=2");
    EXPECT_EQ(query->value(""), "nameless");
}

TEST(QueryParameters, AnEscapedPlusIsAPlus) {
    EXPECT_EQ(QueryParameters::parse("q=1%2B1+2")->value("q"), "1+1 2");
}

TEST(QueryParameters, TheNumberOfParametersIsLimited) {
    const auto text = [](std::size_t count) {
        std::string all;
        for (std::size_t i = 0; i < count; ++i) all += "a&&";
        return all;
    };
    constexpr std::size_t most = QueryParameters::defaultMaxParameters;
    EXPECT_EQ(QueryParameters::parse(text(most))->size(), most);
    EXPECT_FALSE(QueryParameters::parse(text(most + 1)));
    EXPECT_EQ(QueryParameters::parse("a=1&b=2", 2)->size(), 2u);
    EXPECT_FALSE(QueryParameters::parse("a=1&b=2&c=3", 2));
    EXPECT_FALSE(QueryParameters::parse("a", 0));
    EXPECT_TRUE(QueryParameters::parse("&&", 0)->empty());
}

TEST(QueryParameters, AMalformedEscapeRefusesTheWholeText) {
    EXPECT_FALSE(QueryParameters::parse("a=1&b=%"));
    EXPECT_FALSE(QueryParameters::parse("%zz=1"));
    EXPECT_TRUE(QueryParameters::parse("")->empty());
}

}  // namespace
}  // namespace weft::http
