// HeadCache: produces the encoder's heads, and knows whether the last one may be reused. The tests set its clock.
#include <gtest/gtest.h>

#include <ctime>
#include <initializer_list>
#include <random>
#include <span>
#include <string>

#include <weft/http/detail/head_cache.hpp>

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
        return written(Status::ok, headers, length, cache.second(flushPoint));
    }
    // "" if there is no model, or the head cannot be made from it.
    std::string written(Status status, const HeaderList& list, std::uint64_t length, std::time_t now) {
        HeadCache::Model* const model = cache.find(status, list, name, now);
        if (model == nullptr) return "";
        std::string text(model->bound(list), '\0');
        text.resize(cache.write(*model, list, length, text.data()));
        return text;
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
        EXPECT_EQ(written(Status::ok, empty, 5, 784'111'777), "") << own;
        EXPECT_EQ(written(Status::ok, empty, 5, 784'111'778), "") << own << " in the next second";
    }
}

// What the encoder writes for such a response; "" if it refuses.
std::string encoded(Status status, const HeaderList& headers, std::uint64_t length, std::string_view date) {
    ResponseHead head;
    head.status = status;
    head.contentLength = length;
    head.date = date;
    return headers.visit({"Server", "weft"}, [&](std::span<const HeaderView> all) {
        head.headers = all;
        std::string text(headBound(head), '\0');
        const EncodedHead made = encodeHead(head, text);
        text.resize(made.error == EncodeError::none ? made.size : 0);
        return text;
    });
}

// Lists that are mostly alike: the same names, values of the same or of another length, then any other header.
HeaderList similarHeaders(std::mt19937& random) {
    const auto oneOf = [&](std::initializer_list<const char*> texts) { return texts.begin()[random() % texts.size()]; };
    HeaderList list;
    const char* const type = random() % 32 == 0 ? "text\nplain" : oneOf({"text/plain", "text/plain", "text/html"});
    if (random() % 16 != 0) list.add("Content-Type", type);
    list.add("X-Request-Id", std::to_string(10'000 + random() % 100'000));
    if (random() % 4 == 0) list.add("ETag", oneOf({"\"1\"", "\"2\"", ""}));
    if (random() % 8 == 0)
        list.add(oneOf({"Vary", "vary", "Var y", "", "Date", "Connection", "V:"}), oneOf({"a", "b"}));
    if (random() % 8 == 0) list.add("X-Text", oneOf({"good", "bad\n", "b\r", "\x7f", std::string(250, 'x').c_str()}));
    return list;
}

TEST_F(HeadCacheTest, EveryHeadIsTheEncoders) {
    const std::uint32_t seed = std::random_device()();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    DateCache dates;
    std::time_t now = 784'111'777;
    int made = 0;
    for (int i = 0; i < 20'000; ++i) {
        if (random() % 100 == 0) ++now;
        setSecond(now);
        cache.second(static_cast<std::uint64_t>(i));
        const Status status = random() % 8 == 0 ? Status::notFound : Status::ok;
        const HeaderList list = similarHeaders(random);
        const std::uint64_t length = random() % 3 * 97;
        const std::string expected = encoded(status, list, length, dates.at(now));
        const std::string known(cache.last(status, list, name, length, static_cast<std::uint64_t>(i)));
        ASSERT_TRUE(known.empty() || known == expected) << known << "\ninstead of\n" << expected;
        const std::string head = written(status, list, length, now);
        made += !head.empty();
        ASSERT_TRUE(head.empty() || head == expected) << head << "\ninstead of\n" << expected;
    }
    EXPECT_GE(made, 20'000 * 7 / 10);
}

TEST_F(HeadCacheTest, AfterManyOtherHeadersTheModelIsANewOne) {
    head(5, 1);
    HeaderList other;
    other.add("X-Other", "x");
    int responses = 0;
    do {
        ASSERT_NE(written(Status::ok, other, 5, cache.second(1)), "");
    } while (cache.last(Status::ok, other, name, 5, 1).empty() && ++responses < 100);
    EXPECT_GE(responses, 30);
    EXPECT_LE(responses, 34);
}

// As an id in each response: the model would not be better for another one.
TEST_F(HeadCacheTest, AValueOfTheSameLengthLeavesTheModel) {
    const auto withId = [](int id) {
        HeaderList list;
        list.add("X-Request-Id", std::to_string(1000 + id));
        return list;
    };
    written(Status::ok, withId(0), 5, cache.second(1));
    for (int i = 1; i < 200; ++i) ASSERT_NE(written(Status::ok, withId(i), 5, cache.second(1)), "");
    written(Status::ok, withId(0), 5, cache.second(1));
    EXPECT_NE(cache.last(Status::ok, withId(0), name, 5, 1), "");
}

TEST_F(HeadCacheTest, AHeadOfAnotherSecondIsNotTheLastOne) {
    const std::time_t now = cache.second(1);
    written(Status::ok, headers, 5, now - 1);
    EXPECT_EQ(last(5, 1), "");
    written(Status::ok, headers, 5, now);
    EXPECT_NE(last(5, 1), "");
}

}  // namespace
}  // namespace weft::http::detail
