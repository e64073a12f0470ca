#include <weft/http/header_list.hpp>

#include <string>

#include <gtest/gtest.h>

namespace weft::http {
namespace {

TEST(HeaderList, AnEmptyValueIsFoundAndAnAbsentNameIsNot) {
    HeaderList headers;
    headers.add("Date", "");
    EXPECT_EQ(headers.find("date"), "");
    EXPECT_TRUE(headers.contains("DATE"));
    EXPECT_EQ(headers.find("Dat"), std::nullopt);
    EXPECT_FALSE(headers.contains(""));
    headers.add("X-Long", std::string(1000, 'x'));  // beyond the storage inside the object
    EXPECT_EQ(headers.find("Date"), "");
    EXPECT_EQ(headers.find("x-long")->size(), 1000u);
    EXPECT_EQ(headers.find("X"), std::nullopt);
}

TEST(HeaderList, TheFirstOfSeveralValuesIsFound) {
    HeaderList headers;
    headers.add("A", "");
    headers.add("a", "second");
    EXPECT_EQ(headers.find("a"), "");
}

TEST(HeaderList, AFieldThatIsSetReplacesAllOfItsName) {
    HeaderList headers;
    headers.set("A", "1");
    headers.add("B", "2");
    headers.add("a", "3");
    headers.set("A", "4");
    ASSERT_EQ(headers.size(), 2u);
    EXPECT_EQ(headers.at(0).name, "B");
    EXPECT_EQ(headers.find("a"), "4");
    headers.set("B", std::string(1000, 'x'));
    headers.set("A", "5");
    ASSERT_EQ(headers.size(), 2u);
    EXPECT_EQ(headers.find("B")->size(), 1000u);
    EXPECT_EQ(headers.find("A"), "5");
}

}  // namespace
}  // namespace weft::http
