// http::Service: onServed(), accessLog() and requestId().
#include <weft/http/service.hpp>

#include <atomic>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include <weft/http/middleware.hpp>

#include "framework/http/service_bench.hpp"
#include "support/log_capture.hpp"

namespace weft::test {
namespace {

using http::Call;
using http::Error;
using http::Response;
using http::Served;
using http::Status;

class ServiceObservers : public ServiceBench {
  protected:
    // "GET /a /a 200 2": method, target, route, status, bytes; then what was thrown.
    auto record() {
        return [this](const Served& served) {
            std::string line = std::string(served.method) + " " + std::string(served.target) + " " +
                               std::string(served.route) + " " + std::to_string(codeOf(served.status)) + " " +
                               std::to_string(served.bytes) + (served.cut ? " cut" : "");
            if (served.error) line += " " + describe(served.error);
            std::lock_guard held(lock_);
            served_.push_back(line);
        };
    }
    std::vector<std::string> served(std::size_t count) {
        EXPECT_TRUE(eventually([&] {
            std::lock_guard held(lock_);
            return served_.size() >= count;
        }));
        std::lock_guard held(lock_);
        return served_;
    }

    LogCapture log_;

  private:
    void TearDown() override { EXPECT_TRUE(group_.shutdown(20s)); }  // before what record() uses ends

    std::mutex lock_;
    std::vector<std::string> served_;
};

TEST_F(ServiceObservers, EveryAnswerIsToldOnce) {
    service_.onServed(record());
    service_.get("/a/{id}", [] { return "ok"; });
    service_.get("/stream", [](Call& call) { call.stream().send("abc"); });
    service_.get("/cut", [](Call& call) {
        call.stream().send("abcd");
        throw std::runtime_error("broken");
    });
    service_.get("/throws", []() -> Response { throw Error(Status::conflict, "no"); });
    service_.post("/small", [] {}, {.maxBody = 1});
    HttpClient client(address());
    client.get("/a/1?x=2");
    client.request("HEAD", "/a/1");
    client.get("/throws");
    client.get("/none");
    client.request("POST", "/small", "Content-Length: 2\r\n");
    HttpClient streams(address());
    streams.get("/stream");
    HttpClient(address()).get("/cut");
    HttpClient malformed(address());
    malformed.send("GET / HTTP/1.1\r\nHost: x\r\nBad Header: x\r\n\r\n");
    EXPECT_EQ(malformed.receive().status, 400);
    const std::vector<std::string> all = served(8);
    ASSERT_EQ(all.size(), 8u);
    EXPECT_EQ(all[0], "GET /a/1?x=2 /a/{id} 200 2");
    EXPECT_EQ(all[1], "HEAD /a/1 /a/{id} 200 0");
    EXPECT_EQ(all[2], "GET /throws /throws 409 17 no");
    EXPECT_EQ(all[3], "GET /none  404 14 Not Found");
    EXPECT_EQ(all[4].substr(0, 29), "POST /small /small 413 67 the");
    EXPECT_EQ(all[5], "GET /stream /stream 200 3");
    EXPECT_EQ(all[6], "GET /cut /cut 200 4 cut broken");
    EXPECT_EQ(all[7].substr(0, 8), "   400 0");
}

TEST_F(ServiceObservers, ABodyThatTheCodecRefusesIsToldOnce) {
    service_.onServed(record());
    service_.post("/", [](Call& call) { return call.body().take(); }, {.streamed = true});
    service_.post("/whole", [](Call& call) { return call.body().take(); });
    for (const char* target : {"/", "/whole"}) {
        HttpClient client(address());
        client.send("POST " + std::string(target) + " HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nz\r\n");
        EXPECT_EQ(client.receive().status, 400);
        EXPECT_TRUE(client.ended());
    }
    EXPECT_TRUE(eventually([&] { return server_.liveChildren() == 0; }));
    EXPECT_EQ(served(2).size(), 2u);
}

TEST_F(ServiceObservers, AGroupIsToldOfItsOwnRequests) {
    auto group = service_.group("/group");
    group.onServed(record()).get("/in", [] { return "x"; });
    service_.get("/out", [] { return "x"; });
    HttpClient client(address());
    client.get("/out");
    client.get("/none");
    client.get("/group/in");
    EXPECT_EQ(served(1), std::vector<std::string>{"GET /group/in /group/in 200 1"});
}

struct Counter {
    std::atomic<int>* calls;
    std::atomic<int>* answers;
    Response operator()(Call& call, http::Next next) const {
        ++*calls;
        return next(call);
    }
    void onServed(const Served&) const { ++*answers; }
};

TEST_F(ServiceObservers, AMiddlewareMayHookBoth) {
    std::atomic<int> calls{0};
    std::atomic<int> answers{0};
    const End end(*this);
    service_.use(Counter{&calls, &answers}, [](Call& call, http::Next next) { return next(call); });
    service_.get("/", [] { return "x"; });
    get("/");
    EXPECT_TRUE(eventually([&] { return answers == 1; }));
    EXPECT_EQ(calls, 1);
}

TEST_F(ServiceObservers, AHookThatThrowsIsLogged) {
    service_.onServed([](const Served&) { throw std::runtime_error("hook"); });
    service_.get("/", [] { return "x"; });
    EXPECT_EQ(get("/").body, "x");
    EXPECT_TRUE(log_.await("onServed", "hook"));
}

TEST_F(ServiceObservers, TheAccessLogIsOneLineAnAnswer) {
    service_.use(http::requestId(), http::accessLog());
    service_.get("/a", [] { return "ok"; });
    const HttpAnswer answer = HttpClient(address()).request("GET", "/a?x", "X-Request-Id: mine-1\r\n");
    EXPECT_EQ(answer.header("X-Request-Id"), "mine-1");
    EXPECT_TRUE(log_.await("127.0.0.1:", " \"GET /a?x\" 200 2 bytes ", " ms mine-1")) << log_.text();
    for (const std::string& wrong : {std::string("a b"), std::string("a\"b"), std::string(129, 'x')}) {
        const HttpAnswer own = HttpClient(address()).request("GET", "/a", "X-Request-Id: " + wrong + "\r\n");
        EXPECT_NE(own.header("X-Request-Id"), wrong);
        EXPECT_TRUE(log_.await(" ms " + own.header("X-Request-Id"))) << log_.text();
    }
    HttpClient(address()).get("/none\x1b");
    EXPECT_TRUE(log_.await("127.0.0.1:", " \"\" 400 0 bytes ")) << log_.text();
}

}  // namespace
}  // namespace weft::test
