// Url: which origin, which Host header and which target the text of a URL gives. What http::Client refuses:
// client_request_test.cpp.
#include <weft/http/origin.hpp>

#include <gtest/gtest.h>

namespace weft::test {
namespace {

TEST(UrlTest, SplitsIntoItsParts) {
    const auto both = [](const char* text) {
        const http::Url url = http::Url::parse(text);
        return url.origin.toString() + " " + url.origin.authority() + " " + url.target;
    };
    EXPECT_EQ(both("http://127.0.0.1:9000/a?b=/c"), "127.0.0.1:9000 127.0.0.1:9000 /a?b=/c");
    EXPECT_EQ(both("http://shop.test"), "shop.test:80 shop.test /");
    EXPECT_EQ(both("http://shop.test:8080?x"), "shop.test:8080 shop.test:8080 /?x");
    EXPECT_EQ(both("http://[::1]:90/"), "[::1]:90 [::1]:90 /");
    EXPECT_EQ(both("http://[::1]/"), "[::1]:80 [::1]:80 /");
    EXPECT_EQ(both("http://[fe80::1%257]:90/"), "[fe80::1%7]:90 [fe80::1]:90 /");
    EXPECT_EQ(both("http://[fe80::1%7]/"), "[fe80::1%7]:80 [fe80::1]:80 /");
    EXPECT_EQ(both("https://shop.test/a"), "shop.test:443 shop.test /a");
    EXPECT_EQ(both("https://shop.test:80/"), "shop.test:80 shop.test:80 /");
    EXPECT_EQ(both("https://[::1]/"), "[::1]:443 [::1]:443 /");
}

TEST(UrlTest, OriginsOfTwoSchemesDiffer) {
    EXPECT_EQ(http::Url::parse("https://shop.test").origin, http::Origin("shop.test", 443, http::Scheme::https));
    EXPECT_FALSE(http::Url::parse("https://shop.test").origin == http::Origin("shop.test", 443));
    EXPECT_FALSE(http::Url::parse("http://shop.test:443").origin == http::Url::parse("https://shop.test").origin);
}

}  // namespace
}  // namespace weft::test
