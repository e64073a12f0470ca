// The example programs with Asio's objects on carriers.
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "examples/http_client.hpp"
#include "examples/program.hpp"
#include "transports/blocking_peer.hpp"

namespace weft::test {
namespace {

Program started(const std::string& name, std::vector<std::string> flags = {}) {
    flags.insert(flags.end(), {"--listen", "127.0.0.1:0"});
    return Program(name, std::move(flags));
}

TEST(AsioHttpServerExample, AnswersAsHttpServerDoes) {
    Program weft = started("http_server", {"--carriers", "2"});
    Program asio = started("asio_http_server", {"--carriers", "2"});
    HttpClient plain(weft.listening());
    HttpClient beast(asio.listening());
    for (int i = 0; i < 3; ++i) {
        const HttpAnswer wanted = plain.get("/plaintext");
        const HttpAnswer got = beast.get("/plaintext");
        EXPECT_EQ(got.status, wanted.status);
        EXPECT_EQ(got.body, wanted.body);
        for (const char* name : {"Content-Type", "Content-Length", "Server"})
            EXPECT_EQ(got.header(name), wanted.header(name));
        EXPECT_EQ(got.header("Date").size(), wanted.header("Date").size());
    }
    const HttpAnswer head = beast.request("HEAD", "/plaintext");
    EXPECT_EQ(head.header("Content-Length"), "13");
    EXPECT_EQ(beast.get("/nothing").status, 404);
    const HttpAnswer refused = beast.request("POST", "/plaintext", "Content-Length: 1\r\n", "x");
    EXPECT_EQ(refused.status, 405);
    EXPECT_EQ(refused.header("Allow"), "GET, HEAD");
    EXPECT_EQ(asio.threads(), 3u);
    EXPECT_EQ(asio.stop(), 0);
    EXPECT_EQ(asio.complaints(), "");
}

TEST(AsioHttpServerExample, ServesManyConnectionsAndEndsThoseThatWait) {
    Program program = started("asio_http_server", {"--carriers", "2"});
    const SocketAddress address = program.listening();
    std::vector<std::thread> clients;
    for (int i = 0; i < 4; ++i) {
        clients.emplace_back([&] {
            for (int j = 0; j < 25; ++j) {
                HttpClient client(address);
                for (int k = 0; k < 10; ++k) EXPECT_EQ(client.get("/plaintext").body, "Hello, World!");
            }
        });
    }
    for (std::thread& client : clients) client.join();
    HttpClient idle(address);
    HttpClient half(address);
    for (HttpClient* client : {&idle, &half}) EXPECT_EQ(client->get("/plaintext").status, 200);
    half.send("GET /plaintext HTTP/1.1\r\n");
    program.signal(SIGTERM);
    EXPECT_TRUE(idle.ended());
    EXPECT_TRUE(half.ended());
    EXPECT_EQ(program.exitStatus(), 0);
    EXPECT_EQ(program.complaints(), "");
}

TEST(AsioFiberClientExample, AFiberAsksTheBackendWithBeast) {
    Program backend = started("mock_backend", {"--carriers", "1", "--think-ms", "20"});
    const std::string address = backend.listening().toString();
    Program program = started("asio_fiber_client", {"--carriers", "2", "--backend", address});
    const SocketAddress front = program.listening();
    HttpClient direct(SocketAddress::parse(address));
    const std::string fruits = direct.get("/fruits").body;
    std::vector<std::thread> clients;
    for (int i = 0; i < 4; ++i) {
        clients.emplace_back([&] {
            HttpClient client(front);
            for (int j = 0; j < 5; ++j) {
                const HttpAnswer answer = client.get("/fruits");
                EXPECT_EQ(answer.status, 200);
                EXPECT_EQ(answer.header("Content-Type"), "application/json");
                EXPECT_EQ(answer.body, fruits);
            }
        });
    }
    for (std::thread& client : clients) client.join();
    HttpClient client(front);
    EXPECT_EQ(client.get("/vegetables").status, 502);
    EXPECT_EQ(program.threads(), 3u);
    EXPECT_EQ(backend.stop(), 0);
    const HttpAnswer refused = client.get("/fruits");
    EXPECT_EQ(refused.status, 502);
    EXPECT_NE(refused.body.find("Connection refused"), std::string::npos) << refused.body;
    EXPECT_EQ(program.stop(), 0);
    EXPECT_EQ(program.complaints(), "");
}

class Talker {
  public:
    explicit Talker(const SocketAddress& chat) : peer_(chat) {}
    void say(const std::string& text) { peer_.send(text + "\n"); }
    // The next line; "" at the end of the stream.
    std::string line() {
        std::string text;
        while (true) {
            const std::string byte = peer_.receiveExactly(1);
            if (byte.empty() || byte == "\n") return text;
            text += byte;
        }
    }

  private:
    BlockingPeer peer_;
};

TEST(AsioChatExample, AllOtherMembersReceiveALineAndTheGoodbye) {
    Program program = started("asio_chat");
    const SocketAddress address = program.listening();
    Talker ada(address);
    EXPECT_EQ(ada.line(), "* you are guest1");
    Talker grace(address);
    EXPECT_EQ(grace.line(), "* you are guest2");
    EXPECT_EQ(ada.line(), "* guest2 has joined");
    ada.say("hello\r");
    ada.say("");
    EXPECT_EQ(grace.line(), "guest1: hello");
    EXPECT_EQ(grace.line(), "guest1: ");
    {
        Talker late(address);
        EXPECT_EQ(late.line(), "* you are guest3");
        late.say(std::string(5000, 'x'));
        EXPECT_EQ(late.line(), "* a line has at most 1024 bytes");
        late.say("short");
        EXPECT_EQ(grace.line(), "* guest3 has joined");
        EXPECT_EQ(grace.line(), "guest3: short");
    }
    EXPECT_EQ(grace.line(), "* guest3 has left");
    for (const char* heard : {"* guest3 has joined", "guest3: short", "* guest3 has left"})
        EXPECT_EQ(ada.line(), heard);
    program.signal(SIGTERM);
    for (Talker* each : {&ada, &grace}) {
        EXPECT_EQ(each->line(), "* the chat is closing");
        EXPECT_EQ(each->line(), "");
    }
    EXPECT_EQ(program.exitStatus(), 0);
    EXPECT_EQ(program.complaints(), "");
}

}  // namespace
}  // namespace weft::test
