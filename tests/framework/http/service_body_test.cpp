// http::Service: bodies of requests, whole and streamed, and answers in pieces.
#include <weft/http/service.hpp>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <stdexcept>
#include <string>

#include "framework/http/service_bench.hpp"
#include "support/log_capture.hpp"

namespace weft::test {
namespace {

using http::Call;
using http::Response;
using http::Status;

class ServiceBody : public ServiceBench {
  protected:
    void send(HttpClient& client, std::string_view target, std::string_view headers, std::string_view body = {}) {
        client.send("POST " + std::string(target) + " HTTP/1.1\r\nHost: x\r\n" + std::string(headers) + "\r\n" +
                    std::string(body));
    }
    LogCapture log_;
};

std::string chunk(std::string_view text) {
    char size[16];
    std::snprintf(size, sizeof size, "%zx\r\n", text.size());
    return size + std::string(text) + "\r\n";
}

TEST_F(ServiceBody, AWholeBodyIsReadInAnyWay) {
    service_.post("/view",
                  [](Call& call) { return std::string(call.body().view()) + std::string(call.body().view()); });
    service_.post("/take", [](Call& call) { return call.body().take(); });
    service_.post("/read", [](Call& call) {
        std::string pieces;
        while (const auto piece = call.body().read()) pieces += "<" + std::string(piece->view()) + ">";
        return pieces;
    });
    service_.post("/trailers", [](Call& call) {
        return std::string(call.body().view()) + std::string(call.body().trailers().find("Sum").value_or("none"));
    });
    HttpClient client(address());
    const std::string length = "Content-Length: 3\r\n";
    EXPECT_EQ(client.request("POST", "/view", length, "abc").body, "abcabc");
    EXPECT_EQ(client.request("POST", "/take", length, "abc").body, "abc");
    EXPECT_EQ(client.request("POST", "/read", length, "abc").body, "<abc>");
    EXPECT_EQ(client.request("POST", "/read", "Content-Length: 0\r\n").body, "");
    send(client, "/trailers", "Transfer-Encoding: chunked\r\n", chunk("ab") + chunk("c") + "0\r\nSum: 6\r\n\r\n");
    EXPECT_EQ(client.receive().body, "abc6");
}

TEST_F(ServiceBody, AStreamedBodyArrivesWhileTheFunctionRuns) {
    sync::Oneshot<std::string> firstPiece;
    const End end(*this);
    service_.post("/",
                  [&](Call& call) {
                      firstPiece.send(std::string(call.body().read()->view()));
                      return std::string(call.body().view());
                  },
                  {.streamed = true});
    HttpClient client(address());
    send(client, "/", "Content-Length: 6\r\n", "abc");
    EXPECT_EQ(group_.spawn([&] { return *firstPiece.receive(); }).join(), "abc");
    client.send("def");
    EXPECT_EQ(client.receive().body, "def");
}

TEST_F(ServiceBody, AClientThatWaitsFor100GetsIt) {
    service_.post("/whole", [](Call& call) { return call.body().take(); });
    service_.post("/streamed", [](Call& call) { return call.body().take(); }, {.streamed = true});
    service_.post("/small", [](Call& call) { return call.body().take(); }, {.maxBody = 1});
    for (const char* target : {"/whole", "/streamed"}) {
        HttpClient client(address());
        send(client, target, "Content-Length: 2\r\nExpect: 100-continue\r\n");
        EXPECT_EQ(client.receive().status, 100);
        client.send("ok");
        EXPECT_EQ(client.receive().body, "ok");
    }
    HttpClient client(address());
    send(client, "/small", "Content-Length: 2\r\nExpect: 100-continue\r\n");
    EXPECT_EQ(client.receive().status, 413);
    EXPECT_TRUE(client.ended());
    HttpClient other(address());
    send(other, "/whole", "Content-Length: 2\r\nExpect: magic\r\n");
    EXPECT_EQ(other.receive().status, 417);
}

TEST_F(ServiceBody, ABodyThatIsTooLongIsRefusedWithoutIt) {
    std::atomic<int> calls{0};
    const End end(*this);
    service_.post("/", [&] { ++calls; }, {.maxBody = 4});
    const auto readAll = [](Call& call) {
        while (call.body().read()) {
        }
    };
    service_.post("/streamed", readAll, {.maxBody = 4, .streamed = true});
    HttpClient announced(address());
    send(announced, "/", "Content-Length: 5\r\n");
    EXPECT_EQ(announced.receive().status, 413);
    HttpClient chunked(address());
    send(chunked, "/", "Transfer-Encoding: chunked\r\n", chunk("abc") + chunk("de"));
    EXPECT_EQ(chunked.receive().status, 413);
    EXPECT_TRUE(chunked.ended());
    HttpClient streamed(address());
    send(streamed, "/streamed", "Transfer-Encoding: chunked\r\n", chunk("abc") + chunk("de") + "0\r\n\r\n");
    EXPECT_EQ(streamed.receive().status, 413);
    EXPECT_EQ(calls, 0);
    HttpClient fits(address());
    send(fits, "/", "Content-Length: 4\r\n", "abcd");
    EXPECT_EQ(fits.receive().status, 204);
}

TEST_F(ServiceBody, AStreamedBodyThatIsReadAsAWholeHasALimit) {
    service_.post("/", [](Call& call) { return std::to_string(call.body().view().size()); }, {.streamed = true});
    service_.post("/twice",
                  [](Call& call) {
                      for (int time = 0; time < 2; ++time) {
                          try {
                              call.body().view();
                              return "read";
                          } catch (const http::Error& error) {
                              EXPECT_EQ(error.status(), Status::contentTooLarge);
                          }
                      }
                      return "refused twice";
                  },
                  {.maxBody = 4, .streamed = true});
    HttpClient fits(address());
    send(fits, "/", "Content-Length: 3\r\n", "abc");
    EXPECT_EQ(fits.receive().body, "3");
    HttpClient client(address());
    constexpr std::size_t limit = 8 << 20;
    send(client, "/", "Content-Length: " + std::to_string(limit + 1) + "\r\n", std::string(limit + 1, '#'));
    EXPECT_EQ(client.receive().status, 413);
    HttpClient twice(address());
    send(twice, "/twice", "Transfer-Encoding: chunked\r\n", chunk("abc") + chunk("de"));
    EXPECT_EQ(twice.receive().body, "refused twice");
    EXPECT_TRUE(twice.ended()) << "the rest would have been read";
}

TEST_F(ServiceBody, AnEarlyAnswerEndsALongUpload) {
    service_.post("/", [] { return "early"; }, {.streamed = true});
    HttpClient client(address());
    send(client, "/", "Content-Length: 5\r\n", "abcde");
    EXPECT_EQ(client.receive().body, "early");
    send(client, "/", "Content-Length: 65537\r\n", "abc");
    const HttpAnswer answer = client.receive();
    EXPECT_EQ(answer.body, "early");
    EXPECT_EQ(answer.header("Connection"), "close");
}

TEST_F(ServiceBody, AfterASendThatFailedTheAnswerIsCut) {
    service_.get("/", [](Call& call) {
        auto out = call.stream("text/plain");
        const std::string much(http::BodyWriter::window, '#');
        try {
            const DeadlineScope soon(5ms);
            for (;;) out.send(much);
        } catch (const SystemError&) {
            EXPECT_THROW(out.send("[skipped]"), std::logic_error);
        }
    });
    HttpClient client(address());
    client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_TRUE(log_.await("GET /"));
    const std::string all = client.rest();
    EXPECT_EQ(all.find("skipped"), std::string::npos);
    EXPECT_FALSE(all.ends_with("0\r\n\r\n"));
}

TEST_F(ServiceBody, AnAnswerWithoutItsBodyKeepsShortUploadsOnly) {
    service_.get("/", [] { return "here"; });
    HttpClient client(address());
    send(client, "/none", "Content-Length: 3\r\n", "abc");
    EXPECT_EQ(client.receive().status, 404);
    EXPECT_EQ(client.get("/").body, "here");
    send(client, "/none", "Content-Length: 65537\r\n");
    EXPECT_EQ(client.receive().status, 404);
    EXPECT_TRUE(client.ended());
}

TEST_F(ServiceBody, ABodyThatEndsEarlyIsAnErrorInTheFunction) {
    std::atomic<int> status{0};
    const End end(*this);
    service_.post("/",
                  [&](Call& call) {
                      try {
                          return call.body().take();
                      } catch (const http::Error& error) {
                          status = static_cast<int>(codeOf(error.status()));
                          throw;
                      }
                  },
                  {.streamed = true});
    HttpClient client(address());
    send(client, "/", "Transfer-Encoding: chunked\r\n", chunk("abc") + "z\r\n");
    EXPECT_EQ(client.receive().status, 400);
    EXPECT_TRUE(eventually([&] { return status == 400; }));
}

TEST_F(ServiceBody, AnAnswerInPiecesEndsWithItsFunction) {
    service_.get("/", [](Call& call) {
        auto out = call.stream("text/x");
        auto copy = out;
        out.send("a");
        copy.send(Buffer::copyOf("b"));
        out.send(std::string("c"));
    });
    service_.get("/trailers", [](Call& call) {
        http::HeaderList sum;
        sum.add("Sum", "1");
        auto out = call.stream(Response(Status::created));
        out.send("x");
        out.end(std::move(sum));
        EXPECT_THROW(out.send("y"), std::logic_error);
        EXPECT_THROW(call.stream(), std::logic_error);
    });
    service_.get("/empty", [](Call& call) { call.stream(); });
    HttpClient one(address());
    one.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    const HttpAnswer answer = one.receive();
    EXPECT_EQ(answer.header("Content-Type"), "text/x");
    EXPECT_EQ(answer.header("Transfer-Encoding"), "chunked");
    EXPECT_EQ(one.rest(), chunk("a") + chunk("b") + chunk("c") + "0\r\n\r\n");
    HttpClient two(address());
    two.send("GET /trailers HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    EXPECT_EQ(two.receive().status, 201);
    EXPECT_EQ(two.rest(), chunk("x") + "0\r\nSum: 1\r\n\r\n");
    HttpClient three(address());
    three.send("GET /empty HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    EXPECT_EQ(three.receive().status, 200);
    EXPECT_EQ(three.rest(), "0\r\n\r\n");
}

TEST_F(ServiceBody, ShortTextsAreGatheredUntilTheFiberWaits) {
    sync::Oneshot<int> goOn;
    const End end(*this);
    service_.get("/", [&](Call& call) {
        auto out = call.stream("text/plain");
        out.send("a");
        out.send("b");
        static_cast<void>(goOn.receive());
        out.send("c");
        out.send(std::string(16 * 1024, '#'));
        out.send("d");
    });
    HttpClient client(address());
    client.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    client.receive();
    EXPECT_EQ(client.bytes(7), chunk("ab")) << "before the function goes on";
    group_.spawn([&] { goOn.send(1); }).join();
    EXPECT_EQ(client.rest(), chunk("c") + chunk(std::string(16 * 1024, '#')) + chunk("d") + "0\r\n\r\n");
}

TEST_F(ServiceBody, ALongAnswerIsBoundedByTheClient) {
    constexpr std::size_t total = 32 << 20;  // more than the sockets take
    std::atomic<std::size_t> sent{0};
    std::atomic<std::size_t> mostPending{0};
    const End end(*this);
    service_.get("/", [&](Call& call) {
        auto out = call.stream("text/plain");
        for (const std::string line(100, '#'); sent < total; sent += line.size()) {
            out.send(line);
            mostPending = std::max(mostPending.load(), call.context().channel().pendingBytes());
            if (sent % 16'000 == 0) thisFiber::sleepFor(1us);  // the rest of what is gathered is sent by the loop
        }
    });
    service_.get("/turn", [] { thisFiber::sleepFor(1us); });
    HttpClient client(address());
    client.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    client.receive();
    EXPECT_TRUE(eventually([&] { return mostPending > http::BodyWriter::window / 2; })) << "the sockets are full";
    HttpClient other(address());
    for (int turn = 0; turn < 200; ++turn) EXPECT_EQ(other.get("/turn").status, 204);  // the fiber could go on in each
    EXPECT_LT(sent, total);
    const std::string rest = client.rest();
    EXPECT_LE(mostPending, http::BodyWriter::window + 4 * 16 * 1024) << "with the overhead of the writes";
    EXPECT_GT(rest.size(), total);
}

TEST_F(ServiceBody, AFunctionThatThrowsCutsItsAnswer) {
    service_.get("/", [](Call& call) {
        call.stream().send("a");
        throw std::runtime_error("broken");
    });
    HttpClient client(address());
    client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_EQ(client.receive().status, 200);
    EXPECT_EQ(client.rest().find("0\r\n\r\n"), std::string::npos);
    EXPECT_EQ(log_.countAt(LogLevel::error, "GET /", "broken"), 1) << log_.text();
}

TEST_F(ServiceBody, AResponseAfterAStreamIsLoggedAndDropped) {
    service_.get("/", [](Call& call) {
        call.stream().send("a");
        return "b";
    });
    HttpClient client(address());
    client.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    client.receive();
    EXPECT_EQ(client.rest(), chunk("a") + "0\r\n\r\n");
    EXPECT_TRUE(log_.await("a Response was returned after Call::stream()"));
}

TEST_F(ServiceBody, AClientThatLeavesEndsTheStream) {
    std::atomic<bool> ended{false};
    const End end(*this);
    service_.get("/", [&](Call& call) {
        auto out = call.stream("text/plain");
        try {
            for (;;) out.send("endless\n");
        } catch (...) {
            ended = true;
            throw;
        }
    });
    {
        HttpClient client(address());
        client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        EXPECT_EQ(client.receive().status, 200);
    }
    EXPECT_TRUE(eventually([&] { return ended.load(); }));
    EXPECT_TRUE(eventually([&] { return server_.liveChildren() == 0; }));
    EXPECT_EQ(log_.countAt(LogLevel::error, ""), 0) << log_.text();
}

}  // namespace
}  // namespace weft::test
