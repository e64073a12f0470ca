// The programs of README.md and the guides, as they stand there: the servers start, serve, and end at a signal.
#include <cstdio>
#include <string>

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

// Runs a program that ends by itself; what it prints.
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

TEST(Documents, TheProgramsOfFromAsioPrintWhatTheySay) {
    EXPECT_EQ(outputOf("docs/from_asio_timer"), "10 ms\n");
    EXPECT_EQ(outputOf("docs/from_asio_fibers"), "hello\n");
    EXPECT_EQ(outputOf("docs/from_asio_group"), "served by 2 contexts\n");
}

}  // namespace
}  // namespace weft::test
