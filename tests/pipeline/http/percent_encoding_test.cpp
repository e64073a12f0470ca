#include <weft/http/percent_encoding.hpp>

#include <string>

#include <gtest/gtest.h>

namespace weft::http {
namespace {

TEST(PercentEncoding, EscapesBecomeTheirBytesAndAllElseStays) {
    EXPECT_EQ(percentDecode(""), "");
    EXPECT_EQ(percentDecode("plain+text"), "plain+text");
    EXPECT_EQ(percentDecode("a%20b%2Fc%2fd"), "a b/c/d");
    EXPECT_EQ(percentDecode("%C3%A4"), "\xC3\xA4");
    EXPECT_EQ(percentDecode("%00"), std::string(1, '\0'));
    EXPECT_EQ(percentDecode("%2525"), "%25") << "decoded once";
}

TEST(PercentEncoding, AMalformedEscapeIsRefused) {
    for (const std::string_view text : {"%", "a%", "%2", "%2g", "%g2", "%%20", "% 20", "a%2"})
        EXPECT_EQ(percentDecode(text), std::nullopt) << text;
}

TEST(PercentEncoding, EveryByteSurvivesTheRoundTrip) {
    std::string all;
    for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
    const std::string encoded = percentEncode(all);
    EXPECT_EQ(percentDecode(encoded), all);
    EXPECT_EQ(encoded.find_first_not_of("%-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"),
              std::string::npos);
    EXPECT_EQ(percentEncode("a b/c~"), "a%20b%2Fc~");
}

}  // namespace
}  // namespace weft::http
