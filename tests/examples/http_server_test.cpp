// The example HTTP server, as a process, over real sockets.
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>
#include <unistd.h>

#include "examples/http_client.hpp"
#include "examples/program.hpp"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

Program httpServer(std::vector<std::string> flags = {}) {
    flags.insert(flags.begin(), {"--listen", "127.0.0.1:0", "--carriers", "2"});
    return Program("http_server", std::move(flags));
}

TEST(HttpServerExample, AnswersFromHandlersAndFibers) {
    Program server = httpServer();
    HttpClient client(server.listening());
    for (const char* path : {"/plaintext", "/fiber", "/plaintext?x=y"}) {
        const HttpAnswer answer = client.get(path);
        EXPECT_EQ(answer.status, 200) << path;
        EXPECT_EQ(answer.body, "Hello, World!") << path;
        EXPECT_EQ(answer.header("Content-Type"), "text/plain") << path;
        EXPECT_EQ(answer.header("Server"), "weft") << path;
        EXPECT_EQ(answer.header("Date").size(), 29u) << path;
    }
    EXPECT_EQ(client.request("HEAD", "/plaintext").header("Content-Length"), "13");
    EXPECT_EQ(client.get("/fiber").status, 200);  // no bytes of a body were left over
    EXPECT_EQ(server.stop(), 0);
    EXPECT_EQ(server.complaints(), "");
}

TEST(HttpServerExample, SleepsForAsLongAsAsked) {
    Program server = httpServer();
    HttpClient client(server.listening());
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(client.get("/sleep?ms=30").status, 200);
    EXPECT_GE(std::chrono::steady_clock::now() - start, 30ms);
    EXPECT_EQ(client.get("/sleep?ms=0").status, 200);
    for (const char* wrong : {"/sleep", "/sleep?ms=", "/sleep?ms=-1", "/sleep?ms=60001", "/sleep?ms=1x",
                              "/sleep?ms=%31", "/sleep?ms=99999999999", "/sleep?s=1"}) {
        EXPECT_EQ(client.get(wrong).status, 400) << wrong;
    }
    EXPECT_EQ(server.stop(), 0);
}

TEST(HttpServerExample, ARequestThatTakesTooLongGets504AndNothingOfItRunsOn) {
    Program backend("mock_backend", {"--listen", "127.0.0.1:0", "--think-ms", "60000"});
    Program server = httpServer({"--request-timeout-ms", "30", "--backend", backend.listening().toString()});
    HttpClient client(server.listening());
    for (const char* const slow : {"/sleep?ms=60000", "/fruits"}) {
        const HttpAnswer late = client.get(slow);
        EXPECT_EQ(late.status, 504) << slow;
        EXPECT_NE(late.body.find("30 ms"), std::string::npos) << late.body;
    }
    EXPECT_EQ(client.get("/plaintext").status, 200);
    const std::string fibers = client.get("/fibers").body;
    EXPECT_EQ(fibers.find("sleep"), std::string::npos) << fibers;
    EXPECT_EQ(fibers.find("fruits"), std::string::npos) << fibers;
    EXPECT_EQ(server.stop(), 0);
    EXPECT_EQ(server.complaints(), "");
}

TEST(HttpServerExample, EchoesBodies) {
    Program server = httpServer();
    HttpClient client(server.listening());
    const std::string odd("a\0\r\n\xff", 5);
    const HttpAnswer answer = client.request("POST", "/echo", "Content-Length: 5\r\nContent-Type: x/y\r\n", odd);
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body, odd);
    EXPECT_EQ(answer.header("Content-Type"), "x/y");
    EXPECT_EQ(client.request("POST", "/echo", "Transfer-Encoding: chunked\r\n", "2\r\nab\r\n1\r\nc\r\n0\r\n\r\n").body,
              "abc");
    EXPECT_EQ(client.request("POST", "/echo", "Content-Length: 0\r\n").body, "");
    const std::string large(1 << 20, 'x');
    EXPECT_EQ(client.request("POST", "/echo", "Content-Length: 1048576\r\n", large).body, large);
    EXPECT_EQ(client.request("POST", "/echo", "Content-Length: 1048577\r\n").status, 413);
    EXPECT_TRUE(client.ended());
    EXPECT_EQ(server.stop(), 0);
}

TEST(HttpServerExample, RefusesUnknownPathsAndWrongMethods) {
    Program server = httpServer();
    HttpClient client(server.listening());
    EXPECT_EQ(client.get("/nowhere").status, 404);
    EXPECT_EQ(client.get("/").status, 404);
    const HttpAnswer post = client.request("POST", "/plaintext", "Content-Length: 0\r\n");
    EXPECT_EQ(post.status, 405);
    EXPECT_EQ(post.header("Allow"), "GET, HEAD, OPTIONS");
    const HttpAnswer get = client.get("/echo");
    EXPECT_EQ(get.status, 405);
    EXPECT_EQ(get.header("Allow"), "POST, OPTIONS");
    EXPECT_EQ(client.request("BREW", "/plaintext").status, 501);
    EXPECT_EQ(server.stop(), 0);
}

TEST(HttpServerExample, RefusesMalformedRequestsAndCloses) {
    Program server = httpServer();
    const SocketAddress address = server.listening();
    struct Case {
        std::string request;
        int status;
    };
    const Case cases[] = {{"GET / HTTP/1.1\r\n\r\n", 400},
                          {"what is this\r\n\r\n", 400},
                          {"GET /" + std::string(9000, 'x') + " HTTP/1.1\r\nHost: x\r\n\r\n", 414},
                          {"GET / HTTP/1.1\r\nHost: x\r\nA: " + std::string(20000, 'x') + "\r\n\r\n", 431},
                          {std::string(9000, 'x'), 501},
                          {"GET / HTTP/2.0\r\nHost: x\r\n\r\n", 505},
                          {"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n", 400},
                          {"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501}};
    for (const Case& each : cases) {
        HttpClient client(address);
        client.send(each.request);
        EXPECT_EQ(client.receive().status, each.status) << each.request.substr(0, 40);
        EXPECT_TRUE(client.ended()) << each.request.substr(0, 40);
    }
    EXPECT_EQ(server.stop(), 0);
}

TEST(HttpServerExample, AnswersPipelinedRequestsInOrder) {
    Program server = httpServer();
    HttpClient client(server.listening());
    client.send("GET /sleep?ms=100 HTTP/1.1\r\nHost: x\r\n\r\n"
                "GET /plaintext HTTP/1.1\r\nHost: x\r\n\r\n"
                "GET /fiber HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_EQ(client.receive().body, "slept 100 ms\n");
    EXPECT_EQ(client.receive().body, "Hello, World!");
    EXPECT_EQ(client.receive().body, "Hello, World!");
    EXPECT_EQ(server.stop(), 0);
}

TEST(HttpServerExample, FetchesFruitsFromItsBackend) {
    Program backend("mock_backend", {"--listen", "127.0.0.1:0", "--carriers", "1"});
    const SocketAddress backendAddress = backend.listening();
    Program server = httpServer({"--backend", backendAddress.toString()});
    HttpClient client(server.listening());
    for (int i = 0; i < 3; ++i) {
        const HttpAnswer fruits = client.get("/fruits");
        EXPECT_EQ(fruits.status, 200);
        EXPECT_EQ(fruits.header("Content-Type"), "application/json");
        EXPECT_NE(fruits.body.find("\"name\":\"quince\""), std::string::npos);
    }
    EXPECT_EQ(backend.stop(), 0);
    const HttpAnswer down = client.get("/fruits");
    EXPECT_EQ(down.status, 502);
    EXPECT_NE(down.body.find(backendAddress.toString()), std::string::npos) << down.body;
    EXPECT_EQ(server.stop(), 0);
}

TEST(HttpServerExample, WithoutABackendFruitsSaysHowToNameOne) {
    Program server = httpServer();
    HttpClient client(server.listening());
    const HttpAnswer answer = client.get("/fruits");
    EXPECT_EQ(answer.status, 502);
    EXPECT_NE(answer.body.find("--backend"), std::string::npos);
    EXPECT_EQ(server.stop(), 0);
}

TEST(HttpServerExample, StatsHaveTheAgreedKeysForEachCarrier) {
    Program server = httpServer();
    HttpClient client(server.listening());
    const std::string stats = client.get("/stats").body;
    EXPECT_EQ(stats.find("{\"carriers\":[{\"spawned\":"), 0u) << stats;
    std::size_t at = 0;
    for (int carrier = 0; carrier < 2; ++carrier) {
        for (const char* key : {"spawned", "run", "parks", "wakesFutex", "wakesPoller", "ioCycles", "ioEvents",
                                "queueDepth", "timersFired"}) {
            at = stats.find("\"" + std::string(key) + "\":", at);
            ASSERT_NE(at, std::string::npos) << key << " in " << stats;
        }
    }
    EXPECT_EQ(stats.find("\"spawned\"", at), std::string::npos) << "more than two carriers: " << stats;
    EXPECT_EQ(server.stop(), 0);
}

TEST(HttpServerExample, TwoCarriersAreThreeThreads) {
    Program server = httpServer();
    HttpClient client(server.listening());
    EXPECT_EQ(client.get("/fiber").status, 200);
    EXPECT_EQ(server.threads(), 3u);
    EXPECT_EQ(server.stop(), 0);
}

// The only interval that these tests wait for: nothing may happen in it. The last request may still settle in the
// first.
TEST(HttpServerExample, AnIdleServerDoesNothing) {
    Program server = httpServer();
    HttpClient client(server.listening());
    EXPECT_EQ(client.get("/fiber").status, 200);
    std::string before;
    std::string after = server.activity();
    for (int interval = 0; interval < 2 && after != before; ++interval) {
        before = std::exchange(after, std::string());
        std::this_thread::sleep_for(300ms);
        after = server.activity();
    }
    EXPECT_EQ(after, before);
    EXPECT_EQ(server.stop(), 0);
}

TEST(HttpServerExample, ASignalLetsRequestsInProgressBeAnswered) {
    for (const int signal : {SIGTERM, SIGINT}) {
        Program server = httpServer();
        const SocketAddress address = server.listening();
        HttpClient idle(address);
        EXPECT_EQ(idle.get("/plaintext").status, 200);
        HttpClient busy(address);
        busy.send("GET /plaintext HTTP/1.1\r\nHost: x\r\n\r\nGET /sleep?ms=1000 HTTP/1.1\r\nHost: x\r\n\r\n");
        EXPECT_EQ(busy.receive().status, 200);  // so the other request of the same segment is in progress too
        server.signal(signal);
        EXPECT_TRUE(idle.ended());
        const HttpAnswer answer = busy.receive();
        EXPECT_EQ(answer.status, 200);
        EXPECT_EQ(answer.body, "slept 1000 ms\n");
        EXPECT_EQ(answer.header("Connection"), "close");
        EXPECT_TRUE(busy.ended());
        EXPECT_EQ(server.exitStatus(), 0);
        EXPECT_EQ(server.complaints(), "");
    }
}

TEST(HttpServerExample, ASignalRightAfterTheAnnouncementIsKept) {
    for (int i = 0; i < 5; ++i) {
        Program server = httpServer();
        server.listening();
        EXPECT_EQ(server.stop(), 0);
    }
}

TEST(HttpServerExample, ATakenPortIsNamedInOneLine) {
    Program first = httpServer();
    const std::string address = first.listening().toString();
    for (const char* carriers : {"1", "2"}) {
        Program second("http_server", {"--listen", address, "--carriers", carriers});
        EXPECT_EQ(second.exitStatus(), 1);
        EXPECT_EQ(second.output(), "");
        EXPECT_NE(second.errors().find(address), std::string::npos) << second.errors();
        EXPECT_NE(second.errors().find("--listen"), std::string::npos) << second.errors();
        EXPECT_EQ(second.errors().find('\n'), second.errors().size() - 1) << second.errors();
    }
    EXPECT_EQ(first.stop(), 0);
}

TEST(HttpServerExample, InspectTellsWhatWasParsed) {
    Program server = httpServer({"--inspect"});
    const SocketAddress address = server.listening();
    HttpClient client(address);
    client.send("PUT /a%20b?c HTTP/1.1\r\nhOsT: x\r\nOdd:  \xff\t\xfe \r\nContent-Length: 4\r\n\r\n" +
                std::string("\0\r\n\xff", 4));
    const HttpAnswer answer = client.receive();
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body, "{\"method\":\"UFVU\",\"uri\":\"L2ElMjBiP2M=\",\"version\":\"SFRUUC8xLjE=\",\"headers\":[["
                           "\"aE9zVA==\",\"eA==\"],"
                           "[\"T2Rk\",\"/wn+\"],[\"Q29udGVudC1MZW5ndGg=\",\"NA==\"]],\"body\":\"AA0K/w==\"}");
    client.send("GET * HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_EQ(client.receive().status, 400);
    EXPECT_TRUE(client.ended());
    BlockingPeer tunnel(address);  // a 200 to CONNECT has no length: it lasts up to the end
    tunnel.send("CONNECT b:1 HTTP/1.1\r\nHost: b:1\r\n\r\n");
    std::string all;
    for (std::string more = tunnel.receive(); !more.empty(); more = tunnel.receive()) all += more;
    tunnel.close();
    EXPECT_TRUE(all.starts_with("HTTP/1.1 200 OK\r\n")) << all;
    EXPECT_NE(all.find("Connection: close\r\n"), std::string::npos) << all;
    EXPECT_EQ(all.find("Content-Length"), std::string::npos) << all;
    EXPECT_NE(all.find("\r\n\r\n{\"method\":\"Q09OTkVDVA==\",\"uri\":\"Yjox\""), std::string::npos) << all;
    HttpClient old(address);
    old.send("GET / HTTP/1.0\r\n\r\n");
    EXPECT_NE(old.receive().body.find("\"version\":\"SFRUUC8xLjA=\",\"headers\":[],\"body\":\"\""), std::string::npos);
    EXPECT_TRUE(old.ended());
    EXPECT_EQ(server.stop(), 0);
}

TEST(HttpServerExample, ListsItsFibers) {
    Program server = httpServer();
    HttpClient client(server.listening());
    const HttpAnswer text = client.get("/fibers");
    EXPECT_EQ(text.status, 200);
    EXPECT_NE(text.body.find(" in Future::awaitUntil"), std::string::npos) << text.body;  // the fiber that answers
    EXPECT_NE(text.body.find(" fibers on 2 carriers: "), std::string::npos) << text.body;
    const HttpAnswer json = client.get("/fibers?json");
    EXPECT_EQ(json.header("Content-Type"), "application/json");
    EXPECT_EQ(json.body.find("{\"carriers\":[{\"name\":\"weft0\",\"answer\":\"given\","), 0u) << json.body;
    EXPECT_EQ(server.stop(), 0);
}

// Whether Python's parser accepts the file.
bool isJson(const std::string& path) {
    return std::system(("python3 -m json.tool " + path + " > /dev/null").c_str()) == 0;
}

TEST(HttpServerExample, WritesATraceOnRequestAndOnASignal) {
    const std::string path =
        (std::filesystem::temp_directory_path() / ("weft-" + std::to_string(::getpid()) + ".json")).string();
    Program server = httpServer({"--trace-events", "1024", "--trace-file", path, "--log-level", "info"});
    HttpClient client(server.listening());
    EXPECT_EQ(client.get("/fiber").status, 200);
    const HttpAnswer answer = client.get("/trace");
    EXPECT_EQ(answer.header("Content-Type"), "application/json");
    for (const char* part : {"\"submit\"", "\"run\"", "\"poll\"", "\"park\"", "\"left\":\"end\"", "weft0"}) {
        EXPECT_NE(answer.body.find(part), std::string::npos) << part;
    }
    std::ofstream(path + ".answer") << answer.body;
    EXPECT_TRUE(isJson(path + ".answer"));
    server.signal(SIGUSR1);
    for (std::string line; line.find("trace written to " + path) == std::string::npos;) {
        line = server.errorLine();
        ASSERT_FALSE(line.empty()) << "the server has ended";
    }
    EXPECT_TRUE(isJson(path));
    std::filesystem::remove(path);
    std::filesystem::remove(path + ".answer");
    EXPECT_EQ(server.stop(), 0);
}

TEST(HttpServerExample, ATraceFileNeedsARecorder) {
    Program server = httpServer({"--trace-file", "trace.json"});
    EXPECT_EQ(server.exitStatus(), 2);
    EXPECT_NE(server.errors().find("--trace-file needs --trace-events"), std::string::npos);
}

}  // namespace
}  // namespace weft::test
