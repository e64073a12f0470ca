// HeadCache: produces the encoder's heads, and knows whether the last one may be reused. The tests set its clock.
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

class HeadCacheTest : public testing::Test {
  protected:
    void SetUp() override {
        second_ = 784'111'777;
        readings_ = 0;
    }

    std::string last(std::uint64_t length, std::uint64_t flushPoint) {
        return std::string(cache.last(Status::ok, headers, name, length, flushPoint));
    }
    std::string head(std::uint64_t length, std::uint64_t flushPoint) {
        return std::string(cache.head(Status::ok, headers, name, length, cache.second(flushPoint)));
    }
    static void setSecond(std::time_t second) { second_ = second; }
    static int readings() { return readings_; }

    HeadCache cache{&read};
    const std::string* const name = cache.serverName("weft");
    const HeaderList headers = plainText();

    static std::time_t read() noexcept {
        ++readings_;
        return second_;
    }

  private:
    static inline std::time_t second_ = 0;
    static inline int readings_ = 0;
};

TEST(HeadCache, TheDefaultClockIsTheSystems) {
    HeadCache cache;
    const std::time_t before = std::time(nullptr);
    const std::time_t read = cache.second(7);
    EXPECT_GE(read, before - 1);
    EXPECT_LE(read, std::time(nullptr));
}

TEST_F(HeadCacheTest, ReadsTheClockOnceBetweenTwoFlushPoints) {
    EXPECT_EQ(cache.second(7), 784'111'777);
    setSecond(784'111'778);
    EXPECT_EQ(cache.second(7), 784'111'777);
    EXPECT_EQ(cache.second(8), 784'111'778);
    const std::string known = head(5, 8);
    EXPECT_EQ(readings(), 2);

    for (int response = 0; response < 16; ++response) EXPECT_EQ(last(5, 9), known);
    EXPECT_EQ(cache.second(9), 784'111'778);
    EXPECT_EQ(readings(), 3) << "a batch of responses pays for one reading";
}

TEST_F(HeadCacheTest, TheLastHeadIsForTheSameResponse) {
    EXPECT_EQ(last(5, 1), "") << "nothing has been asked for";

    const std::string known = head(5, 1);
    ASSERT_NE(known, "");
    EXPECT_EQ(last(5, 1), known);
    EXPECT_EQ(last(6, 1), "");
    EXPECT_EQ(cache.last(Status::notFound, headers, name, 5, 1), "");
    EXPECT_EQ(cache.last(Status::ok, HeaderList(), name, 5, 1), "");
    EXPECT_EQ(cache.last(Status::ok, headers, cache.serverName(""), 5, 1), "");

    head(6, 2);
    EXPECT_EQ(last(5, 2), "");
    EXPECT_NE(last(6, 2), "");
}

TEST_F(HeadCacheTest, TheLastHeadServesOneResponseAfterEachFlushPoint) {
    const std::string known = head(5, 1);
    ASSERT_NE(known, "");
    for (std::uint64_t flushPoint = 2; flushPoint < 10; ++flushPoint) EXPECT_EQ(last(5, flushPoint), known);
}

TEST_F(HeadCacheTest, TheLastHeadEndsWithItsSecond) {
    EXPECT_NE(head(5, 1).find("\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n"), std::string::npos);
    setSecond(784'111'778);
    EXPECT_EQ(last(5, 2), "") << "its date is over";
    EXPECT_EQ(last(5, 2), "");

    const std::string known = head(5, 2);
    EXPECT_NE(known.find("\r\nDate: Sun, 06 Nov 1994 08:49:38 GMT\r\n"), std::string::npos);
    EXPECT_EQ(last(5, 3), known);
    setSecond(784'111'777);
    EXPECT_EQ(last(5, 4), "") << "the clock was set back";
}

TEST_F(HeadCacheTest, AHeaderWithoutAValueIsAHeaderToo) {
    for (const char* own : {"Date", "date", "Content-Length", "Connection", "Transfer-Encoding"}) {
        HeaderList empty;
        empty.add(own, "");
        HeadCache cache{&read};  // of its own: after some misses a cache looks up no more
        EXPECT_EQ(cache.head(Status::ok, empty, name, 5, 784'111'777), "") << own;
        EXPECT_EQ(cache.head(Status::ok, empty, name, 5, 784'111'778), "") << own << " in the next second";
    }
}

TEST_F(HeadCacheTest, AfterManyDifferentHeadsMostAreNotLookedUp) {
    int made = 0;
    for (int i = 0; i < 1000; ++i) {
        HeaderList different;
        different.add("X-Id", std::to_string(1000 + i));
        made += !cache.head(Status::ok, different, name, 5, cache.second(1)).empty();
    }
    EXPECT_GE(made, 8 + 1000 / 40);
    EXPECT_LE(made, 8 + 1000 / 30);

    int responses = 1;
    while (head(5, 2).empty() && responses < 100) ++responses;
    EXPECT_LE(responses, 32);
    EXPECT_NE(last(5, 2), "") << "equal ones are known again";
}

TEST_F(HeadCacheTest, AHeadOfAnotherSecondIsNotTheLastOne) {
    const std::time_t now = cache.second(1);
    cache.head(Status::ok, headers, name, 5, now - 1);
    EXPECT_EQ(last(5, 1), "");
    cache.head(Status::ok, headers, name, 5, now);
    EXPECT_NE(last(5, 1), "");
}

}  // namespace
}  // namespace weft::http::detail
