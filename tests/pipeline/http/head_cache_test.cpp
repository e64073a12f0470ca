// HeadCache: produces the encoder's heads, and knows when the last one may be reused without reading the clock.
#include <gtest/gtest.h>

#include <ctime>
#include <string>

#include <weft/pipeline/http/detail/head_cache.hpp>

namespace weft::http::detail {
namespace {

HeaderList plainText() {
    HeaderList headers;
    headers.add("Content-Type", "text/plain");
    return headers;
}

TEST(HeadCache, LooksAtTheClockOnceBetweenTwoFlushPoints) {
    HeadCache cache;
    const std::time_t before = std::time(nullptr);
    const std::time_t first = cache.second(7);
    EXPECT_GE(first, before - 1);
    EXPECT_LE(first, std::time(nullptr));
    EXPECT_EQ(cache.second(7), first);
    EXPECT_GE(cache.second(8), first);
}

TEST(HeadCache, TheLastHeadIsForTheSameAnswerBetweenTheSameFlushPoints) {
    HeadCache cache;
    const std::string* const name = cache.serverName("weft");
    const HeaderList headers = plainText();
    EXPECT_EQ(cache.last(Status::ok, headers, name, 5, 1), "") << "nothing has been asked for";

    const std::string head(cache.head(Status::ok, headers, name, 5, cache.second(1)));
    ASSERT_NE(head, "");
    EXPECT_EQ(cache.last(Status::ok, headers, name, 5, 1), head);
    EXPECT_EQ(cache.last(Status::ok, headers, name, 6, 1), "");
    EXPECT_EQ(cache.last(Status::notFound, headers, name, 5, 1), "");
    EXPECT_EQ(cache.last(Status::ok, HeaderList(), name, 5, 1), "");
    EXPECT_EQ(cache.last(Status::ok, headers, cache.serverName(""), 5, 1), "");
    EXPECT_EQ(cache.last(Status::ok, headers, name, 5, 2), "") << "the date may have changed";

    cache.head(Status::ok, headers, name, 6, cache.second(2));
    EXPECT_EQ(cache.last(Status::ok, headers, name, 5, 2), "");
    EXPECT_NE(cache.last(Status::ok, headers, name, 6, 2), "");
}

TEST(HeadCache, AHeadOfAnotherSecondIsNotTheLastOne) {
    HeadCache cache;
    const std::string* const name = cache.serverName("weft");
    const std::time_t now = cache.second(1);
    cache.head(Status::ok, plainText(), name, 5, now - 1);
    EXPECT_EQ(cache.last(Status::ok, plainText(), name, 5, 1), "");
    cache.head(Status::ok, plainText(), name, 5, now);
    EXPECT_NE(cache.last(Status::ok, plainText(), name, 5, 1), "");
}

}  // namespace
}  // namespace weft::http::detail
