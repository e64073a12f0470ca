// JSON bodies and answers, where Boost has them.
#include <boost/version.hpp>
#if BOOST_VERSION >= 107500

#include <boost/json/src.hpp>
#include <weft/http/json.hpp>

#include <stdexcept>
#include <string>
#include <vector>

#include "framework/http/service_bench.hpp"

namespace weft::test {
namespace {

namespace json = boost::json;
using http::Call;
using http::Status;

struct Item {
    std::string name;
    int count = 0;
};
Item tag_invoke(json::value_to_tag<Item>, const json::value& value) {
    Item item{json::value_to<std::string>(value.at("name")), json::value_to<int>(value.at("count"))};
    if (item.count < 0) throw http::Error(Status::unprocessableContent, "count is negative");
    if (item.count == 7) throw std::runtime_error("a secret");
    return item;
}
void tag_invoke(json::value_from_tag, json::value& value, const Item& item) {
    value = {{"name", item.name}, {"count", item.count}};
}

using JsonTest = ServiceBench;

TEST_F(JsonTest, AnswersAreMadeOfValuesAndTypes) {
    service_.get("/value", [] { return json::value{{"a", 1}}; });
    service_.get("/array", [] { return json::array{1, 2}; });
    service_.get("/item", [] { return http::json(Item{"fig", 2}); });
    service_.get("/items", [] { return http::json(Status::accepted, std::vector<Item>{{"fig", 2}}); });
    service_.get("/braces", [] { return http::json(Status::conflict, {{"error", "no"}}); });
    HttpClient client(address());
    const HttpAnswer answer = client.get("/value");
    EXPECT_EQ(answer.body, R"({"a":1})");
    EXPECT_EQ(answer.header("Content-Type"), "application/json");
    EXPECT_EQ(client.get("/array").body, "[1,2]");
    EXPECT_EQ(client.get("/item").body, R"({"name":"fig","count":2})");
    EXPECT_EQ(client.get("/items").body, R"([{"name":"fig","count":2}])");
    EXPECT_EQ(client.get("/items").status, 202);
    EXPECT_EQ(client.get("/braces").body, R"({"error":"no"})");
}

TEST_F(JsonTest, ABodyThatDoesNotFitIs400AndSaysWhy) {
    service_.post("/item", [](Call& call) { return http::fromJson<Item>(call).name; });
    service_.post("/any", [](Call& call) { return json::serialize(http::fromJson(call)); });
    HttpClient client(address());
    const auto answerTo = [&](std::string_view target, const std::string& body) {
        const HttpAnswer answer =
            client.request("POST", target, "Content-Length: " + std::to_string(body.size()) + "\r\n", body);
        return std::to_string(answer.status) + " " + answer.body.substr(answer.body.find(':') + 1);
    };
    EXPECT_EQ(answerTo("/item", R"({"name":"fig","count":2})").substr(0, 3), "200");
    EXPECT_EQ(answerTo("/any", "[1, 2]").substr(0, 3), "200");
    EXPECT_EQ(answerTo("/item", "{}"), "400  the body is not as expected: a member or an element is missing\n");
    EXPECT_EQ(answerTo("/item", R"({"name":1,"count":2})").substr(0, 32), "400  the body is not as expected");
    EXPECT_EQ(answerTo("/item", "[]").substr(0, 32), "400  the body is not as expected");
    EXPECT_EQ(answerTo("/item", ""), "400  the body is no JSON: incomplete JSON\n");
    EXPECT_EQ(answerTo("/item", "{} {}"), "400  the body is no JSON: extra data\n");
    EXPECT_EQ(answerTo("/any", std::string(33, '[')), "400  the body is no JSON: too deep\n");
    EXPECT_EQ(answerTo("/item", R"({"name":"x","count":-1})"), "422  count is negative\n");
    const std::string own = answerTo("/item", R"({"name":"x","count":7})");
    EXPECT_EQ(own.substr(0, 3), "500");
    EXPECT_EQ(own.find("secret"), std::string::npos);
}

}  // namespace
}  // namespace weft::test

#endif
