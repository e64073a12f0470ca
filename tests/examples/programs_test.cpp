// The other example programs, and what all have in common: flags, errors, shutdown.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "examples/http_client.hpp"
#include "examples/program.hpp"

namespace weft::test {
namespace {

// The servers among the examples; those with Asio's objects where weft::asio is built.
std::vector<std::string> servers() {
    std::vector<std::string> names{"echo_server", "echo_fiber",    "mock_backend", "http_server",
                                   "chat",        "reverse_proxy", "fan_out"};
    if (WEFT_WITH_ASIO) names.insert(names.end(), {"asio_http_server", "asio_fiber_client"});
    return names;
}

std::vector<std::string> withFlags() {
    std::vector<std::string> names = servers();
    names.push_back("custom_poller");
    if (WEFT_WITH_ASIO) names.push_back("asio_chat");
    return names;
}

// Adds the flags that the program requires.
std::vector<std::string> flagsOf(const std::string& name, std::vector<std::string> flags) {
    if (name == "reverse_proxy") flags.insert(flags.end(), {"--upstream", "127.0.0.1:1"});
    if (name == "asio_fiber_client") flags.insert(flags.end(), {"--backend", "127.0.0.1:1"});
    if (name == "fan_out") flags.insert(flags.end(), {"--left", "127.0.0.1:1", "--right", "127.0.0.1:1"});
    return flags;
}

void expectComplaint(Program& program, int status, const std::string& about) {
    EXPECT_EQ(program.exitStatus(), status) << about;
    EXPECT_EQ(program.output(), "") << about;
    EXPECT_EQ(program.errors().find('\n'), program.errors().size() - 1) << "not one line: " << program.errors();
    EXPECT_NE(program.errors().find(about), std::string::npos) << program.errors();
}

TEST(Examples, HelpSucceeds) {
    for (const auto& name : withFlags()) {
        Program program(name, {"--help"});
        EXPECT_EQ(program.exitStatus(), 0) << name;
        EXPECT_NE(program.output().find("--help"), std::string::npos) << name;
        EXPECT_EQ(program.complaints(), "") << name;
    }
}

TEST(Examples, UnknownFlagsEndWithStatusTwoAndOneLine) {
    for (const auto& name : withFlags()) {
        Program program(name, flagsOf(name, {"--bogus"}));
        expectComplaint(program, 2, "--bogus");
    }
    Program positional("http_server", {"surprise"});
    expectComplaint(positional, 2, "surprise");
}

TEST(Examples, WrongValuesEndWithStatusTwoAndNameTheirFlag) {
    for (const auto& name : servers()) {
        for (const std::vector<std::string>& flags :
             std::vector<std::vector<std::string>>{{"--carriers", "0"},
                                                   {"--carriers", "two"},
                                                   {"--carriers", "1025"},
                                                   {"--carriers"},
                                                   {"--listen", "nowhere"},
                                                   {"--listen", "127.0.0.1:65536"},
                                                   {"--listen", "127.0.0.1"},
                                                   {"--transport", "pigeon"},
                                                   {"--topology", "flat"},
                                                   {"--topology", "linux+x"},
                                                   {"--steal-scope", "town"},
                                                   {"--idle-spin-us", "1000001"}}) {
            Program program(name, flags.size() == 1 ? flags : flagsOf(name, flags));
            expectComplaint(program, 2, flags.front());
        }
    }
    Program backend("http_server", {"--backend", "nobody"});
    expectComplaint(backend, 2, "--backend");
    Program think("mock_backend", {"--think-ms", "60001"});
    expectComplaint(think, 2, "--think-ms");
    Program fails("mock_backend", {"--fail-rate", "1.5"});
    expectComplaint(fails, 2, "--fail-rate");
    Program nobody("reverse_proxy", {"--listen", "127.0.0.1:0"});
    expectComplaint(nobody, 2, "--upstream");
    Program alone("fan_out", {"--left", "127.0.0.1:1"});
    expectComplaint(alone, 2, "--right");
    Program hasty("reverse_proxy", {"--upstream", "127.0.0.1:1", "--timeout-ms", "0"});
    expectComplaint(hasty, 2, "--timeout-ms");
}

TEST(Examples, ABadVariableEndsWithStatusTwoAndIsNamed) {
    ::setenv("WEFT_TRANSPORT", "pigeon", 1);
    Program program("http_server", {"--listen", "127.0.0.1:0", "--carriers", "1"});
    expectComplaint(program, 2, "WEFT_TRANSPORT");
    ::unsetenv("WEFT_TRANSPORT");
}

TEST(Examples, EveryServerEndsAtASignalAndRefusesATakenPort) {
    for (const auto& name : servers()) {
        Program first(name, flagsOf(name, {"--listen", "127.0.0.1:0", "--carriers", "2"}));
        const SocketAddress address = first.listening();
        Program second(name, flagsOf(name, {"--listen", address.toString(), "--carriers", "2"}));
        expectComplaint(second, 1, address.toString());
        EXPECT_NE(second.errors().find("--listen"), std::string::npos) << second.errors();
        EXPECT_LE(first.threads(), 3u);
        EXPECT_EQ(first.stop(SIGINT), 0) << name;
        EXPECT_EQ(first.complaints(), "") << name;
    }
}

TEST(Examples, HelloFiberGreets) {
    Program program("hello_fiber");
    EXPECT_EQ(program.exitStatus(), 0);
    for (const char* name : {"ada", "grace", "edsger"}) {
        EXPECT_NE(program.output().find("hello from " + std::string(name)), std::string::npos) << program.output();
    }
}

TEST(Examples, CustomPollerHandlesAllLetters) {
    Program program("custom_poller");
    EXPECT_EQ(program.exitStatus(), 0);
    EXPECT_EQ(program.complaints(), "");
    for (const char* carrier : {"weft0", "weft1"}) {
        for (const char* letter : {"1", "2", "3"}) {
            const std::string line = "on " + std::string(carrier) + " handled letter " + letter;
            EXPECT_NE(program.output().find(line), std::string::npos) << program.output();
        }
    }
}

TEST(Examples, EchoServersSendBackAndDrain) {
    for (const char* name : {"echo_server", "echo_fiber"}) {
        Program server(name, {"--listen", "127.0.0.1:0", "--carriers", "2"});
        const SocketAddress address = server.listening();
        BlockingPeer first(address);
        BlockingPeer second(address);
        for (BlockingPeer* peer : {&first, &second}) {
            peer->send("hello");
            EXPECT_EQ(peer->receiveExactly(5), "hello") << name;
        }
        const std::string large(300'000, 'x');
        first.send(large);
        EXPECT_EQ(first.receiveExactly(large.size()), large) << name;
        server.signal(SIGTERM);
        EXPECT_EQ(first.receive(), "") << name;
        EXPECT_EQ(second.receive(), "") << name;
        EXPECT_EQ(server.exitStatus(), 0) << name;
        EXPECT_EQ(server.complaints(), "") << name;
    }
}

TEST(Examples, TheMockBackendThinksBeforeItAnswers) {
    Program backend("mock_backend", {"--listen", "127.0.0.1:0", "--carriers", "1", "--think-ms", "30"});
    HttpClient client(backend.listening());
    const auto start = std::chrono::steady_clock::now();
    const HttpAnswer fruits = client.get("/fruits");
    EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(30));
    EXPECT_EQ(fruits.status, 200);
    EXPECT_EQ(fruits.header("Content-Type"), "application/json");
    std::size_t names = 0;
    for (std::size_t at = fruits.body.find("\"name\""); at != std::string::npos;
         at = fruits.body.find("\"name\"", at + 1))
        ++names;
    EXPECT_EQ(names, 10u);
    EXPECT_NEAR(static_cast<double>(fruits.body.size()), 600, 100);
    EXPECT_EQ(client.get("/health").body, "OK");
    EXPECT_EQ(client.get("/vegetables").status, 404);
    EXPECT_EQ(client.request("POST", "/fruits", "Content-Length: 0\r\n").status, 405);
    EXPECT_EQ(backend.stop(), 0);
}

}  // namespace
}  // namespace weft::test
