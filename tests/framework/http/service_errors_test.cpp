// http::Service: what is thrown, deadlines, drains, and clients that leave.
#include <weft/http/service.hpp>

#include <atomic>
#include <stdexcept>
#include <string>

#include "framework/http/service_bench.hpp"
#include "framework/reserved_port.hpp"
#include "support/log_capture.hpp"

namespace weft::test {
namespace {

using http::Call;
using http::Error;
using http::Next;
using http::Response;
using http::Status;

class ServiceErrors : public ServiceBench {
  protected:
    LogCapture log_;
};

TEST_F(ServiceErrors, AnErrorIsTheAnswer) {
    service_.get("/plain", []() -> Response { throw Error(Status::conflict); });
    service_.get("/text", []() -> Response { throw Error(Status::notFound, "no item 7"); });
    service_.get("/fields", []() -> Response {
        throw Error(Status::unauthorized, "no token")
            .with("WWW-Authenticate", "Basic")
            .with("WWW-Authenticate", "Digest");
    });
    HttpClient client(address());
    HttpAnswer answer = client.get("/plain");
    EXPECT_EQ(answer.status, 409);
    EXPECT_EQ(answer.body, "409 Conflict\n");
    EXPECT_EQ(client.get("/text").body, "404 Not Found: no item 7\n");
    answer = client.get("/fields");
    EXPECT_NE(answer.head.find("\r\nWWW-Authenticate: Basic\r\nWWW-Authenticate: Digest\r\n"), std::string::npos);
    EXPECT_EQ(log_.countAt(LogLevel::error, ""), 0) << log_.text();
}

TEST_F(ServiceErrors, TheTextOfAnyOtherExceptionIsOnlyLogged) {
    service_.get("/secret", []() -> Response { throw std::runtime_error("password=x"); });
    service_.get("/number", []() -> Response { throw 7; });
    HttpClient client(address());
    const HttpAnswer answer = client.get("/secret?a=1");
    EXPECT_EQ(answer.status, 500);
    EXPECT_EQ(answer.body.find("password"), std::string::npos);
    const std::string id =
        answer.body.substr(answer.body.rfind(' ') + 1, answer.body.size() - 1 - answer.body.rfind(' ') - 1);
    EXPECT_EQ(log_.countAt(LogLevel::error, "GET /secret?a=1 (request " + id + "): password=x"), 1) << log_.text();
    EXPECT_EQ(client.get("/number").status, 500);
}

TEST_F(ServiceErrors, OneFunctionMakesTheAnswersOfAllErrors) {
    service_.onError([](Call& call, const Error& error) {
        return Response(error.status(), std::string(call.request().methodText()) + "|" + error.what(), "text/x");
    });
    service_.get("/here", []() -> Response { throw std::runtime_error("secret"); });
    service_.get("/known", []() -> Response { throw Error(Status::gone).with("X-Why", "moved"); });
    service_.post("/here", [] {}, {.maxBody = 1});
    HttpClient client(address());
    EXPECT_EQ(client.get("/none").body, "GET|Not Found");
    EXPECT_EQ(client.get("/here").body.find("secret"), std::string::npos);
    const HttpAnswer known = client.get("/known");
    EXPECT_EQ(known.body, "GET|Gone");
    EXPECT_EQ(known.header("X-Why"), "moved");
    const HttpAnswer wrong = client.request("PUT", "/here");
    EXPECT_EQ(wrong.body, "PUT|Method Not Allowed");
    EXPECT_EQ(wrong.header("Allow"), "GET, HEAD, POST, OPTIONS");
    EXPECT_EQ(client.request("POST", "/here", "Content-Length: 2\r\n").body,
              "POST|the body is larger than this server accepts");
}

TEST_F(ServiceErrors, AnOnErrorThatThrowsLeavesThePlainAnswer) {
    service_.onError([](Call&, const Error&) -> Response { throw std::runtime_error("worse"); });
    EXPECT_EQ(get("/none").body, "404 Not Found\n");
    EXPECT_EQ(log_.countAt(LogLevel::error, "GET /none", "worse"), 1);
}

TEST_F(ServiceErrors, MiddlewareSeesTheAnswersOfErrors) {
    std::atomic<int> seen{0};
    const End end(*this);
    service_.use([&](Call& call, Next next) {
        Response response = next(call);
        seen = static_cast<int>(codeOf(response.status));
        return response;
    });
    service_.use([](Call& call, Next next) -> Response {
        if (call.request().path() == "/refused") throw Error(Status::forbidden);
        return next(call);
    });
    service_.get("/refused", [] { return "never"; });
    service_.get("/throws", []() -> Response { throw std::runtime_error("x"); });
    HttpClient client(address());
    EXPECT_EQ(client.get("/refused").status, 403);
    EXPECT_EQ(seen, 403);
    EXPECT_EQ(client.get("/throws").status, 500);
    EXPECT_EQ(seen, 500);
}

TEST_F(ServiceErrors, TheRoutesDeadlineIs504) {
    auto group = service_.group("/slow", {.deadline = 20ms});
    group.get("/sleep", [] { thisFiber::sleepFor(1h); });
    group.get("/own", [] { thisFiber::sleepFor(30ms); }, {.deadline = 1h});
    group.get("/quick", [] { return "quick"; }, {.inLoop = true});
    HttpClient client(address());
    EXPECT_EQ(client.get("/slow/sleep").body, "504 Gateway Timeout: no answer within 20 ms\n");
    EXPECT_EQ(client.get("/slow/own").status, 204);
    EXPECT_EQ(client.get("/slow/quick").body, "quick");
    EXPECT_EQ(log_.countAt(LogLevel::error, ""), 0) << log_.text();
}

TEST_F(ServiceErrors, AFunctionThatADrainEndsIs503) {
    std::atomic<bool> begun{false};
    const End end(*this);
    service_.get("/", [&] {
        begun = true;
        thisFiber::sleepFor(1h);
    });
    HttpClient client(address());
    client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    ASSERT_TRUE(eventually([&] { return begun.load(); }));
    server_.drain(10ms);
    const HttpAnswer answer = client.receive();
    EXPECT_EQ(answer.body, "503 Service Unavailable: the server is shutting down\n");
    EXPECT_EQ(answer.header("Connection"), "close");
    EXPECT_EQ(log_.countAt(LogLevel::error, "GET /"), 0) << log_.text();
}

TEST_F(ServiceErrors, ABackendThatFailsIs502) {
    const ReservedPort unused;
    const End end(*this);
    service_.get("/", [&] { return Buffer(http::get(unused.address(), "/")); });
    const HttpAnswer answer = get("/");
    EXPECT_EQ(answer.status, 502);
    EXPECT_EQ(answer.body.find("refused"), std::string::npos);
    EXPECT_EQ(log_.countAt(LogLevel::warning, "GET /", "Connection refused"), 1) << log_.text();
}

TEST_F(ServiceErrors, AnAbortionThatIsNotOursIs500) {
    service_.get("/", []() -> Response { throw SystemError(operationAborted(), "a queue"); });
    EXPECT_EQ(get("/").status, 500);
    EXPECT_EQ(log_.countAt(LogLevel::error, "a queue"), 1);
}

TEST_F(ServiceErrors, AStatusThatIsNoAnswerIs500) {
    service_.get("/", [] { return Response(Status::processing); });
    service_.get("/loop", [] { return Status::processing; }, {.inLoop = true});
    HttpClient client(address());
    EXPECT_EQ(client.get("/").status, 500);
    EXPECT_EQ(client.get("/loop").status, 500);
    EXPECT_EQ(log_.countAt(LogLevel::error, "the status of an answer is 102"), 2) << log_.text();
}

TEST_F(ServiceErrors, CopiesOfAnErrorHaveFieldsOfTheirOwn) {
    const Error denied = Error(Status::unauthorized).with("A", "1");
    Error other = denied;
    other.with("B", "2");
    EXPECT_EQ(denied.headers().size(), 1u);
    EXPECT_EQ(other.headers().size(), 2u);
}

TEST_F(ServiceErrors, AStreamThatCannotBeginIsAnErrorAsAnyOther) {
    service_.onError([](Call&, const Error&) { return Response(Status::internalServerError, "own"); });
    service_.get("/", [](Call& call) { call.stream(Response(Status::processing)); });
    EXPECT_EQ(get("/").body, "own");
}

TEST_F(ServiceErrors, AStreamThatTheDeadlineCutsIsLogged) {
    service_.get("/",
                 [](Call& call) {
                     call.stream().send("x");
                     thisFiber::sleepFor(1h);
                 },
                 {.deadline = 5ms});
    HttpClient client(address());
    client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_EQ(client.receive().status, 200);
    client.rest();
    EXPECT_TRUE(log_.await("GET /"));
    EXPECT_EQ(log_.countAt(LogLevel::error, "GET /"), 1) << log_.text();
}

TEST_F(ServiceErrors, AClientThatLeavesEndsTheFunction) {
    std::atomic<bool> begun{false};
    std::atomic<bool> ended{false};
    const End end(*this);
    service_.get("/", [&] {
        begun = true;
        try {
            thisFiber::sleepFor(1h);
        } catch (const SystemError&) {
            ended = true;
            throw;
        }
    });
    {
        HttpClient client(address());
        client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        ASSERT_TRUE(eventually([&] { return begun.load(); }));
    }
    EXPECT_TRUE(eventually([&] { return ended.load(); }));
    EXPECT_TRUE(eventually([&] { return server_.liveChildren() == 0; }));
    EXPECT_EQ(log_.countAt(LogLevel::error, ""), 0) << log_.text();
}

}  // namespace
}  // namespace weft::test
