// The numbers and truth values of paths, queries and command lines.
#include <weft/http/detail/parameter_value.hpp>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include <gtest/gtest.h>

namespace weft::http::detail {
namespace {

template <class T>
std::optional<T> value(std::string_view text) {
    return parameterValue<T>(text);
}

TEST(ParameterValue, AWholeNumberIsOneOfItsType) {
    EXPECT_EQ(value<std::uint8_t>("0"), 0);
    EXPECT_EQ(value<std::uint8_t>("255"), 255);
    EXPECT_EQ(value<std::int8_t>("-128"), -128);
    EXPECT_EQ(value<std::uint64_t>("18446744073709551615"), std::numeric_limits<std::uint64_t>::max());
    EXPECT_EQ(value<std::int64_t>("-9223372036854775808"), std::numeric_limits<std::int64_t>::min());
    for (const char* wrong : {"", "-", "+1", " 1", "1 ", "1.0", "0x1", "1e2", "a", "256", "-1"})
        EXPECT_EQ(value<std::uint8_t>(wrong), std::nullopt) << wrong;
    EXPECT_EQ(value<std::int8_t>("128"), std::nullopt);
    EXPECT_EQ(value<std::int8_t>("-129"), std::nullopt);
    EXPECT_EQ(value<std::uint64_t>("18446744073709551616"), std::nullopt);
    EXPECT_EQ(value<int>(std::string_view("1\0", 2)), std::nullopt);
}

TEST(ParameterValue, ARealNumberIsFinite) {
    EXPECT_EQ(value<double>("-1.5e3"), -1500);
    EXPECT_EQ(value<float>("0.25"), 0.25F);
    for (const char* wrong : {"", "nan", "inf", "-infinity", "1e999", "1,5", "0x1p3"})
        EXPECT_EQ(value<double>(wrong), std::nullopt) << wrong;
    EXPECT_EQ(value<float>("1e39"), std::nullopt);
}

TEST(ParameterValue, ATruthValueHasFewSpellings) {
    for (const char* yes : {"", "1", "true"}) EXPECT_EQ(value<bool>(yes), true) << yes;
    for (const char* no : {"0", "false"}) EXPECT_EQ(value<bool>(no), false) << no;
    for (const char* wrong : {"yes", "TRUE", "2", " "}) EXPECT_EQ(value<bool>(wrong), std::nullopt) << wrong;
}

TEST(ParameterValue, AWrongOneIsQuotedAndCut) {
    EXPECT_EQ(notAccepted("x", "a\nb", acceptedValues<bool>()), "x is 'a\\x0ab'; accepted: true, false, 1 or 0");
    EXPECT_LT(notAccepted("x", std::string(1000, 'y'), acceptedValues<int>()).size(), 200u);
    EXPECT_EQ(acceptedValues<std::int8_t>(), "a whole number from -128 to 127");
}

}  // namespace
}  // namespace weft::http::detail
