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

}  // namespace
}  // namespace weft::http
