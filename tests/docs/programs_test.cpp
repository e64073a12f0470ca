// Runs the programs of README.md and the guides unchanged: the servers start, serve, and end at a signal.
#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "examples/http_client.hpp"
#include "examples/program.hpp"

namespace weft::test {
namespace {

TEST(Documents, TheReadmesProgramAnswersFromItsBackend) {
    Program backend("examples/mock_backend", {"--listen", "127.0.0.1:0", "--carriers", "1"});
    Program program("docs/readme_fruits", {"127.0.0.1:0", backend.listening().toString()});
    const SocketAddress address = program.listening();
    HttpClient client(address);
    for (int request = 0; request < 2; ++request) {
        const HttpAnswer fruits = client.get("/anything");
        EXPECT_EQ(fruits.status, 200);
        EXPECT_EQ(fruits.header("Content-Type"), "application/json");
        EXPECT_NE(fruits.body.find("\"name\""), std::string::npos) << fruits.body;
    }
    EXPECT_EQ(backend.stop(), 0);
    HttpClient late(address);
    EXPECT_EQ(late.get("/anything").status, 500);  // the fiber threw
    EXPECT_EQ(program.stop(), 0);
}

TEST(Documents, TheReadmesServiceGreetsAndAsksItsBackend) {
    Program backend("examples/mock_backend", {"--listen", "127.0.0.1:0", "--carriers", "1"});
    Program program("docs/readme_service", {"--listen", "127.0.0.1:0", "--backend", backend.listening().toString()});
    const SocketAddress address = program.listening();
    HttpClient client(address);
    EXPECT_EQ(client.get("/hello/a%20b").body, "hello a b\n");
    EXPECT_NE(client.get("/fruits").body.find("\"name\""), std::string::npos);
    EXPECT_EQ(backend.stop(), 0);
    EXPECT_EQ(HttpClient(address).get("/fruits").status, 502);
    EXPECT_EQ(program.stop(), 0);
}

TEST(Documents, TheServiceOfTheGuideAnswersAsItSays) {
    Program program("docs/http_server_service", {"--listen", "127.0.0.1:0", "--greeting", "hi"});
    HttpClient client(program.listening());
    const HttpAnswer answer = client.get("/hello/you?ms=1");
    EXPECT_EQ(answer.body, "hi you\n");
    EXPECT_EQ(answer.header("Server"), "guide");
    EXPECT_NE(answer.header("X-Request-Id"), "");
    EXPECT_EQ(client.get("/").body, "1 greeted\n");
    const HttpAnswer refused = client.request("PUT", "/users/7", "Content-Length: 3\r\n", "ann");
    EXPECT_EQ(refused.status, 401);
    EXPECT_EQ(refused.header("WWW-Authenticate"), "Bearer");
    const HttpAnswer made =
        client.request("PUT", "/users/7", "Content-Length: 3\r\nAuthorization: Bearer secret\r\n", "ann");
    EXPECT_EQ(made.status, 201);
    EXPECT_EQ(made.body, "ann");
    EXPECT_EQ(made.header("Location"), "/users/7");
    EXPECT_EQ(program.stop(), 0);
    EXPECT_NE(program.errors().find("\"PUT /users/7\" 201 3 bytes"), std::string::npos) << program.errors();
}

// Each is one line, with status 2 for what was given and 1 for what the machine refuses.
TEST(Documents, AServiceThatCannotStartSaysWhy) {
    const auto fails = [](std::vector<std::string> flags, int status, std::string_view part) {
        Program program("docs/http_server_service", std::move(flags));
        EXPECT_EQ(program.exitStatus(), status) << part;
        const std::string errors = program.errors();
        EXPECT_EQ(errors.rfind("http_server_service: ", 0), 0u) << errors;
        EXPECT_EQ(std::count(errors.begin(), errors.end(), '\n'), 1) << errors;
        EXPECT_NE(errors.find(part), std::string::npos) << errors;
    };
    fails({"--lisen", "x"}, 2, "--lisen; see --help");
    fails({"--listen"}, 2, "--listen");
    fails({"--listen", "127.0.0.1:x"}, 2, "the port must be a number");
    fails({"--carriers", "0"}, 2, "--carriers");
    fails({"--transport", "kqueue"}, 2, "unknown transport 'kqueue'");
    fails({"--log-level", "loud"}, 2, "--log-level");
    fails({"--greeting"}, 2, "--greeting");
    Program first("docs/http_server_service", {"--listen", "127.0.0.1:0"});
    fails({"--log-level", "error", "--listen", first.listening().toString()}, 1,
          "Address already in use; choose another address with --listen");
    EXPECT_EQ(first.stop(), 0);
    Program help("docs/http_server_service", {"--help"});
    EXPECT_EQ(help.exitStatus(), 0);
    EXPECT_NE(help.output().find("--greeting TEXT"), std::string::npos) << help.output();
    EXPECT_NE(help.output().find("what to say; default hello"), std::string::npos) << help.output();
}

TEST(Documents, TheEchoOfFromNettyEchoes) {
    Program program("docs/from_netty_echo", {"127.0.0.1:0"});
    {
        BlockingPeer peer(program.listening());
        const std::string large(300'000, 'x');
        peer.send(large);
        EXPECT_EQ(peer.receiveExactly(large.size()), large);
        peer.endOutput();
        EXPECT_EQ(peer.receive(), "");
    }
    EXPECT_EQ(program.stop(), 0);
    EXPECT_EQ(program.complaints(), "");
}

TEST(Documents, TheHttpServerOfFromNettyAsksAndReportsABackendThatIsGone) {
    Program backend("docs/from_netty_echo", {"127.0.0.1:0"});
    Program program("docs/from_netty_quote", {"127.0.0.1:0", backend.listening().toString()});
    HttpClient client(program.listening());
    client.send("GET /first HTTP/1.1\r\nHost: test\r\n\r\nGET /second HTTP/1.1\r\nHost: test\r\n\r\n");
    EXPECT_EQ(client.receive().body, "/first");
    EXPECT_EQ(client.receive().body, "/second");
    EXPECT_EQ(backend.stop(), 0);
    EXPECT_EQ(client.get("/third").status, 502);
    EXPECT_EQ(program.stop(), 0);
    EXPECT_EQ(program.complaints(), "");
}

// Runs a program that ends by itself; returns its output.
std::string outputOf(const char* program) {
    const std::string path = std::string(WEFT_EXAMPLES_DIR) + "/" + program;
    FILE* const output = ::popen(path.c_str(), "r");
    EXPECT_NE(output, nullptr) << path;
    if (output == nullptr) return {};
    std::string text;
    for (int c = std::fgetc(output); c != EOF; c = std::fgetc(output)) text += static_cast<char>(c);
    EXPECT_EQ(::pclose(output), 0) << path;
    return text;
}

TEST(Documents, TheProgramsOfTheGuidesPrintWhatTheySay) {
    EXPECT_EQ(outputOf("docs/fibers_join"), "25\n");
    EXPECT_EQ(outputOf("docs/fibers_cancel"), "cancelled\n");
    EXPECT_EQ(outputOf("docs/fibers_scope"), "left and right, 2\n");
    EXPECT_EQ(outputOf("docs/fibers_deadline"), "late, cancelled\n");
    EXPECT_EQ(outputOf("docs/fibers_race"), "near\n1\nfailed\n100\n");
    EXPECT_EQ(outputOf("docs/fibers_locks"), "5 5\n");
    EXPECT_EQ(outputOf("docs/fibers_select"), "55\n");
    EXPECT_EQ(outputOf("docs/fibers_merge"), "110\n");
    EXPECT_EQ(outputOf("docs/fibers_broadcast"), "one\ntwo\n0 missed\n");
    EXPECT_EQ(outputOf("docs/fibers_blocking"), "43\n");
    const std::string stuck = outputOf("docs/fibers_stuck");
    EXPECT_NE(stuck.find("2 in sync::Mutex::lock"), std::string::npos) << stuck;
#ifndef NDEBUG  // only debug builds know the holders
    EXPECT_NE(stuck.find("sync::Mutex::lock, held by fiber 1 'payment'"), std::string::npos) << stuck;
    EXPECT_NE(stuck.find("sync::Mutex::lock, held by fiber 2 'report'"), std::string::npos) << stuck;
#endif
    EXPECT_EQ(outputOf("docs/patterns_workers"), "338350\n");
    EXPECT_EQ(outputOf("docs/patterns_rate"), "20 calls took 10 ms or more\n");
    EXPECT_EQ(outputOf("docs/patterns_cache"), "apple! after 1 load\n");
    EXPECT_EQ(outputOf("docs/fibers_files"), "third\nfirst\nsecond\nNo such file or directory\n");
    EXPECT_EQ(outputOf("docs/codecs_sum"), "0 0 0 1 0 0 0 3 \n");
    EXPECT_EQ(outputOf("docs/testing_handlers"), "passed\n");
    EXPECT_EQ(outputOf("docs/testing_fibers"), "passed\n");
    EXPECT_EQ(outputOf("docs/testing_server"), "later, 0 connections were late\n");
}

TEST(Documents, TheServersOfGettingStartedSayHello) {
    for (const char* const name : {"docs/getting_started_hello", "docs/getting_started_fiber"}) {
        Program program(name, {"127.0.0.1:0"});
        HttpClient client(program.listening());
        const HttpAnswer answer = client.get("/");
        EXPECT_EQ(answer.status, 200) << name;
        EXPECT_EQ(answer.body.rfind("hello", 0), 0u) << answer.body;
        EXPECT_EQ(program.stop(), 0) << name;
        EXPECT_EQ(program.complaints(), "") << name;
    }
}

TEST(Documents, ThePipelineOfTheGuideGreetsAnswersInCapitalsAndDrains) {
    Program program("docs/pipelines_upper", {"127.0.0.1:0"});
    BlockingPeer peer(program.listening());
    EXPECT_EQ(peer.receiveExactly(6), "hello\n");
    peer.send("abc");
    EXPECT_EQ(peer.receiveExactly(3), "ABC");
    EXPECT_EQ(program.stop(), 0);
    EXPECT_EQ(peer.receive(), "");
    EXPECT_EQ(program.complaints(), "");
}

TEST(Documents, TheRoutesOfTheGuideAnswerInOrderAndForgottenRequestsGet500) {
    Program program("docs/http_server_routes", {"127.0.0.1:0"});
    HttpClient client(program.listening());
    client.send("GET /later HTTP/1.1\r\nHost: test\r\n\r\nGET / HTTP/1.1\r\nHost: test\r\n\r\n");
    const HttpAnswer later = client.receive();
    EXPECT_EQ(later.body, "later\n");
    EXPECT_EQ(later.header("Server"), "guide");
    EXPECT_EQ(client.receive().body, "now\n");
    EXPECT_EQ(client.get("/users/a%20b").body, "user a b\n");
    EXPECT_EQ(client.get("/unknown").status, 404);
    EXPECT_EQ(client.get("/forgotten").status, 500);
    EXPECT_EQ(program.stop(), 0);
    EXPECT_NE(program.errors().find("Router"), std::string::npos) << program.errors();
}

TEST(Documents, TheStreamingServerOfTheGuideCountsABody) {
    Program program("docs/http_server_streams", {"127.0.0.1:0"});
    BlockingPeer peer(program.listening());
    peer.send("POST / HTTP/1.0\r\nHost: test\r\nContent-Length: 5\r\n\r\nhello");
    std::string answer;
    EXPECT_EQ(peer.receiveToEnd(answer), 0);
    EXPECT_NE(answer.find("\r\n\r\n5 bytes\n"), std::string::npos) << answer;
    EXPECT_EQ(program.stop(), 0);
    EXPECT_EQ(program.complaints(), "");
}

TEST(Documents, TheClientOfTheGuidePrintsAnAnswerOrWhyThereIsNone) {
    Program server("docs/getting_started_hello", {"127.0.0.1:0"});
    const std::string url = "http://" + server.listening().toString() + "/";
    Program client("docs/http_client_get", {url});
    EXPECT_EQ(client.exitStatus(), 0);
    EXPECT_EQ(client.output(), "200 hello\n");
    EXPECT_EQ(server.stop(), 0);
    Program late("docs/http_client_get", {url});
    EXPECT_EQ(late.exitStatus(), 1);
    EXPECT_NE(late.errors().find("refused"), std::string::npos) << late.errors();
}

TEST(Documents, TheClientThatReconnectsHearsTheNextServerToo) {
    Program first("docs/pipelines_upper", {"127.0.0.1:0"});
    const std::string address = first.listening().toString();
    Program client("docs/http_client_reconnect", {address});
    EXPECT_EQ(client.outputLine(), "hello");
    EXPECT_EQ(first.stop(), 0);
    Program second("docs/pipelines_upper", {address});
    EXPECT_EQ(second.listening().toString(), address);
    EXPECT_EQ(client.outputLine(), "hello");
    EXPECT_EQ(client.stop(), 0);
    EXPECT_EQ(client.complaints(), "");
    EXPECT_EQ(second.stop(), 0);
}

#if WEFT_WITH_ASIO
TEST(Documents, TheProgramsOfFromAsioPrintWhatTheySay) {
    EXPECT_EQ(outputOf("docs/from_asio_timer"), "10 ms\n");
    EXPECT_EQ(outputOf("docs/from_asio_fibers"), "hello\n");
    EXPECT_EQ(outputOf("docs/from_asio_group"), "served by 2 contexts\n");
}
#endif

}  // namespace
}  // namespace weft::test
