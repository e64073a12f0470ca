// http::Service: routes, what their functions return, parameters, groups and middleware.
#include <weft/http/service.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include "framework/http/service_bench.hpp"
#include "support/log_capture.hpp"

namespace weft::test {
namespace {

using http::Call;
using http::Next;
using http::Response;
using http::Status;

struct Ripeness {
    int percent;
};

}  // namespace
}  // namespace weft::test

template <>
struct weft::http::ResponseFrom<weft::test::Ripeness> {
    static Response make(weft::test::Ripeness ripeness) { return ok(std::to_string(ripeness.percent) + " %"); }
};

namespace weft::test {
namespace {

using ServiceTest = ServiceBench;

TEST_F(ServiceTest, WhatAFunctionReturnsIsTheAnswer) {
    service_.get("/text", [] { return "text"; });
    service_.get("/string", [](Call& call) { return "at " + std::string(call.request().path()); });
    service_.get("/status", [] { return Status::accepted; });
    service_.get("/buffer", [] { return Buffer::copyOf("bytes"); });
    service_.get("/response", [] { return Response(Status::created, "made", "text/html").with("Location", "/1"); });
    service_.get("/nothing", [] {});
    service_.get("/own", [] { return Ripeness{80}; });
    HttpClient client(address());
    HttpAnswer answer = client.get("/text");
    EXPECT_EQ(answer.body, "text");
    EXPECT_EQ(answer.header("Content-Type"), "text/plain");
    EXPECT_EQ(client.get("/string").body, "at /string");
    EXPECT_EQ(client.get("/status").status, 202);
    answer = client.get("/buffer");
    EXPECT_EQ(answer.body, "bytes");
    EXPECT_EQ(answer.header("Content-Type"), "application/octet-stream");
    answer = client.get("/response");
    EXPECT_EQ(answer.status, 201);
    EXPECT_EQ(answer.header("Content-Type"), "text/html");
    EXPECT_EQ(answer.header("Location"), "/1");
    EXPECT_EQ(client.get("/nothing").status, 204);
    EXPECT_EQ(client.get("/own").body, "80 %");
}

struct Site {
    std::string name = "site";
    std::string greet(Call& call) const { return name + " greets " + call.query("who"); }
};

TEST_F(ServiceTest, FunctionsOfManyKindsAreTaken) {
    const Site site;
    const std::string text = "reference";
    const End end(*this);
    service_.get("/bound", [&site](auto& call) { return site.greet(call); });
    service_.get("/view", [] { return std::string_view("view"); });
    service_.get("/reference", [&]() -> const std::string& { return text; });
    service_.get("/const", []() -> const Response { return Response(Status::ok, "const"); });
    service_.get("/moved", [owner = std::make_unique<int>(7)] { return std::to_string(*owner); });
    service_.get("/member", &Call::route);
    const auto middleware = [](Call& call, Next next) { return next(call); };
    service_.use(middleware);
    HttpClient client(address());
    EXPECT_EQ(client.get("/bound?who=me").body, "site greets me");
    EXPECT_EQ(client.get("/view").body, "view");
    EXPECT_EQ(client.get("/reference").body, "reference");
    EXPECT_EQ(client.get("/const").body, "const");
    EXPECT_EQ(client.get("/moved").body, "7");
    EXPECT_EQ(client.get("/member").body, "/member");
}

TEST_F(ServiceTest, AFunctionBlocksInItsOwnFiber) {
    sync::Oneshot<std::string> later;
    const End end(*this);
    service_.get("/wait", [&] { return *later.receive(); });
    service_.get("/send", [&] {
        later.send("sent");
        return Status::ok;
    });
    HttpClient waits(address());
    waits.send("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_EQ(get("/send").status, 200);
    EXPECT_EQ(waits.receive().body, "sent");
}

TEST_F(ServiceTest, AFunctionInTheLoopMustNotBlock) {
    LogCapture log;
    service_.get("/quick", [] { return std::string(thisFiber::name()); }, {.inLoop = true});
    service_.get("/usual", [] { return std::string(thisFiber::name()); });
    service_.get("/slow", [] { thisFiber::sleepFor(1ms); }, {.inLoop = true});
    HttpClient client(address());
    EXPECT_NE(client.get("/quick").body, "/quick");
    EXPECT_EQ(client.get("/usual").body, "/usual") << "the name of its fiber";
    EXPECT_EQ(client.get("/slow").status, 500);
    EXPECT_EQ(log.countAt(LogLevel::error, "GET /slow", "would block"), 1);
}

TEST_F(ServiceTest, PathAndQueryHaveTypes) {
    service_.get("/users/{id}/files/{path...}", [](Call& call) {
        return std::to_string(call.path<int>("id")) + " " + call.path("path") + " " + call.path<std::string>("id") +
               " " + call.route();
    });
    service_.get("/list", [](Call& call) {
        return std::to_string(call.query("offset", 7)) + " " + call.query("name", "none") + " " +
               std::to_string(call.query("ratio", 0.5)) + " " + (call.query("all", false) ? "all" : "some") + " " +
               std::to_string(call.query("small", std::uint8_t{3}));
    });
    service_.get("/needs", [](Call& call) { return call.query<std::string>("a") + call.query<std::string>("b"); });
    HttpClient client(address());
    EXPECT_EQ(client.get("/users/-12/files/a%20b/c").body, "-12 a b/c -12 /users/{id}/files/{path...}");
    EXPECT_EQ(client.get("/list").body, "7 none 0.500000 some 3");
    EXPECT_EQ(client.get("/list?offset=-1&name=a+b%2F&ratio=1e3&all&small=255").body, "-1 a b/ 1000.000000 all 255");
    EXPECT_EQ(client.get("/needs?a=1&b=2").body, "12");
    EXPECT_EQ(client.get("/needs?a=1").body, "400 Bad Request: query parameter 'b' is missing\n");
    EXPECT_EQ(client.get("/list?small=256").body,
              "400 Bad Request: query parameter 'small' is '256'; accepted: a whole number from 0 to 255\n");
    EXPECT_EQ(client.get("/list?ratio=inf").status, 400);
    EXPECT_EQ(client.get("/list?all=2").status, 400);
    EXPECT_EQ(client.get("/list?offset=1x").status, 400);
    EXPECT_EQ(client.get("/list?offset=").status, 400);
    EXPECT_EQ(client.get("/list?name=%").body,
              "400 Bad Request: the query has a malformed escape, or too many parameters\n");
    EXPECT_EQ(client.get("/users/x/files/").body,
              "400 Bad Request: path parameter 'id' is 'x'; accepted: a whole number from -2147483648 to 2147483647\n");
}

TEST_F(ServiceTest, ARequestWithoutARouteIsAnswered) {
    service_.get("/here", [] { return "here"; }).post("/here", [] { return "posted"; });
    HttpClient client(address());
    EXPECT_EQ(client.get("/there").status, 404);
    HttpAnswer answer = client.request("DELETE", "/here");
    EXPECT_EQ(answer.status, 405);
    EXPECT_EQ(answer.header("Allow"), "GET, HEAD, POST, OPTIONS");
    answer = client.request("OPTIONS", "/here");
    EXPECT_EQ(answer.status, 204);
    EXPECT_EQ(answer.header("Allow"), "GET, HEAD, POST, OPTIONS");
    EXPECT_EQ(client.request("OPTIONS", "*").header("Allow"), "GET, HEAD, POST, OPTIONS");
    EXPECT_EQ(client.request("BREW", "/here").status, 501);
    EXPECT_EQ(client.get("/%zz").status, 400);
    EXPECT_EQ(client.request("HEAD", "/here").header("Content-Length"), "4");
    EXPECT_EQ(client.get("/here").body, "here") << "the connection went on";
}

TEST_F(ServiceTest, AnyTakesTheMethodsThatAreLeft) {
    service_.any("/x", [](Call& call) { return "any " + std::string(call.request().methodText()); });
    service_.get("/x", [] { return "get"; });  // after any(): the order does not matter
    HttpClient client(address());
    EXPECT_EQ(client.get("/x").body, "get");
    for (const char* method : {"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"})
        EXPECT_EQ(client.request(method, "/x").body, std::string("any ") + method);
    EXPECT_EQ(client.request("HEAD", "/x").header("Content-Length"), "3") << "of get()";
}

TEST_F(ServiceTest, ARouteThatWaitsIsNotInTheLoopOfItsGroup) {
    auto quick = service_.group("/quick", {.inLoop = true});
    quick.post("/streamed", [](Call& call) { return call.body().take(); }, {.streamed = true});
    quick.get("/deadline", [] { thisFiber::sleepFor(1h); }, {.deadline = 5ms});
    HttpClient client(address());
    EXPECT_EQ(client.get("/quick/deadline").status, 504);
    client.send("POST /quick/streamed HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
    EXPECT_EQ(client.receive().status, 100);
    client.send("ok");
    EXPECT_EQ(client.receive().body, "ok");
}

TEST_F(ServiceTest, AnInterimResponseComesBeforeTheAnswer) {
    const auto hints = [](Call& call) {
        call.sendInterim(Response(Status::earlyHints).with("Link", "</a>"));
        EXPECT_THROW(call.sendInterim(Response(Status::ok)), std::invalid_argument);
        return "answer";
    };
    service_.get("/fiber", hints).get("/loop", hints, {.inLoop = true}).post("/streamed", hints, {.streamed = true});
    HttpClient client(address());
    for (const char* request : {"GET /fiber", "GET /loop", "POST /streamed"}) {
        client.send(std::string(request) + " HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx");
        const HttpAnswer interim = client.receive();
        EXPECT_EQ(interim.status, 103) << request;
        EXPECT_EQ(interim.header("Link"), "</a>");
        EXPECT_EQ(client.receive().body, "answer") << request;
    }
}

TEST_F(ServiceTest, GroupsHavePrefixesOptionsAndMiddleware) {
    const auto append = [](const char* text) {
        return [text](Call& call, Next next) {
            Response response = next(call);
            response.body.append(text);
            return response;
        };
    };
    auto items = service_.group("/items", {.maxBody = 4});
    auto parts = items.group("/{id}/parts");
    items.get("", [] { return "items"; });
    parts.post("/{part}",
               [](Call& call) { return call.path("id") + call.path("part") + std::string(call.body().view()); });
    parts.post("", [](Call& call) { return std::string(call.body().view()); }, {.maxBody = 5});
    service_.get("/", [] { return "root"; });
    parts.use(append(" parts"));
    service_.use(append(" one"), append(" two"));  // after the routes: the order does not matter
    items.use(append(" items"));
    HttpClient client(address());
    EXPECT_EQ(client.get("/items").body, "items items two one");
    EXPECT_EQ(client.get("/").body, "root two one");
    EXPECT_EQ(client.request("POST", "/items/1/parts/2", "Content-Length: 4\r\n", "body").body,
              "12body parts items two one");
    EXPECT_EQ(client.request("POST", "/items/1/parts", "Content-Length: 5\r\n", "five!").status, 200);
    EXPECT_EQ(client.get("/none").body, "404 Not Found\n two one");
    HttpAnswer answer = client.request("POST", "/items/1/parts/2", "Content-Length: 5\r\n");
    EXPECT_EQ(answer.status, 413);
    EXPECT_EQ(answer.body, "413 Content Too Large: the body is larger than this server accepts\n parts items two one");
    EXPECT_TRUE(client.ended());
}

TEST_F(ServiceTest, MiddlewareAnswersInPlaceAndHandsValuesOn) {
    static const AttributeKey<std::string> user;
    service_.use([](Call& call, Next next) -> Response {
        const auto given = call.request().header("User");
        if (!given) return Response(Status::unauthorized, "no user");
        call.attr(user) = *given;
        call.addHeader("X-Seen", "yes");
        return next(call);
    });
    service_.get("/", [](Call& call) { return "hello " + call.attr(user); });
    service_.get("/stream", [](Call& call) { call.stream().send("x"); });
    HttpClient client(address());
    EXPECT_EQ(client.get("/").body, "no user");
    HttpAnswer answer = client.request("GET", "/", "User: ann\r\n");
    EXPECT_EQ(answer.body, "hello ann");
    EXPECT_EQ(answer.header("X-Seen"), "yes");
    EXPECT_EQ(client.request("GET", "/none", "User: ann\r\n").header("X-Seen"), "yes");
    EXPECT_EQ(client.request("GET", "/stream", "User: ann\r\n").header("X-Seen"), "yes");
}

TEST_F(ServiceTest, PipelinedRequestsAreAnsweredInTheirOrder) {
    sync::Oneshot<int> first;
    const End end(*this);
    service_.get("/first", [&] { return std::to_string(*first.receive()); });
    service_.get("/second", [&] {
        first.send(1);
        return "2";
    });
    HttpClient client(address());
    client.send("GET /first HTTP/1.1\r\nHost: x\r\n\r\nGET /second HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_EQ(client.receive().body, "1");
    EXPECT_EQ(client.receive().body, "2");
}

std::string errorOf(const std::function<void()>& call) {
    try {
        call();
    } catch (const std::logic_error& error) {
        return error.what();
    }
    return "";
}

TEST_F(ServiceTest, WhatIsWrongIsSaidWhenItIsAdded) {
    const auto fine = [] { return "fine"; };
    service_.get("/a/{id}", fine);
    EXPECT_EQ(errorOf([&] { service_.get("/a/{other}", fine); }),
              "http: route pattern '/a/{other}': it already has a route for this method");
    EXPECT_EQ(errorOf([&] { service_.get("a", fine); }), "http: route pattern 'a': it must begin with '/'");
    EXPECT_EQ(errorOf([&] { service_.any("/{a}/{a}", fine); }),
              "http: route pattern '/{a}/{a}': two parameters have the same name");
    EXPECT_EQ(errorOf([&] { service_.get("/b", fine, {.deadline = 999us}); }),
              "http: route '/b': the deadline is 999000 ns; accepted: 1 ms or longer, or none");
    EXPECT_EQ(errorOf([&] { service_.get("/b", fine, {.maxBody = (std::size_t{2} << 30) + 1}); }),
              "http: route '/b': maxBody is 2147483649; accepted: 0 to 2147483648");
    EXPECT_NE(errorOf([&] { service_.get("/b", fine, {.streamed = true, .inLoop = true}); }), "");
    EXPECT_NE(errorOf([&] { service_.group("/b/"); }), "");
    EXPECT_NE(errorOf([&] { service_.group("b"); }), "");
    EXPECT_NE(errorOf([] { throw http::Error(Status::found); }), "");
    EXPECT_EQ(errorOf([] { http::Service({.maxInFlight = 0}); }),
              "http::ServiceOptions: maxInFlight is 0; accepted: 1 to 1024");
    EXPECT_NE(errorOf([] { http::Service({.routes = {.maxBody = 3'000'000'000}}); }), "");
    int number = 0;
    EXPECT_EQ(errorOf([&] { service_.option("number", number); }),
              "http::Service::option: 'number' is not a name; accepted: \"--name\", of letters, digits and '-'");
    service_.option("--number", number);
    EXPECT_EQ(errorOf([&] { service_.option("--number", number); }),
              "http::Service::option: '--number' is taken; choose another name");
    EXPECT_NE(errorOf([&] { service_.option("--listen", number); }), "");
    address();
    EXPECT_EQ(errorOf([&] { service_.get("/late", fine); }), "http::Service::add called after run() or bind()");
    EXPECT_NE(errorOf([&] { service_.use([](Call& call, Next next) { return next(call); }); }), "");
    EXPECT_NE(errorOf([&] { service_.onError([](Call&, const http::Error&) { return ""; }); }), "");
}

TEST_F(ServiceTest, OneServiceServesAtSeveralAddresses) {
    service_.get("/", [] { return "here"; });
    const Server other = service_.bind(group_, "127.0.0.1:0");
    EXPECT_EQ(HttpClient(other.localAddress()).get("/").body, "here");
    EXPECT_EQ(get("/").body, "here");
    EXPECT_THROW(service_.bind(group_, other.localAddress()), SystemError);
}

}  // namespace
}  // namespace weft::test
