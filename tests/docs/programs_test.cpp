// The programs of README.md and docs/from-netty.md, as they stand there: they start, serve, and end at a signal.
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

}  // namespace
}  // namespace weft::test
