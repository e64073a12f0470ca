// A client disconnects while a fiber handles its request: by an orderly end (FIN) and by a reset (RST), for both
// meanings of the end of input.
#include <string>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "framework/http/client_bench.hpp"

namespace weft::test {
namespace {

using http::InputEnd;

constexpr std::string_view request = "GET /slow HTTP/1.1\r\nHost: x\r\n\r\n";

// Its only fiber waits until it is released or cancelled.
class SlowServer {
  public:
    explicit SlowServer(InputEnd meaning) {
        ServerBootstrap bootstrap(group_);
        bootstrap.childHandler([this, meaning](Channel& channel) {
            channel.pipeline().addLast<http::ServerCodec>(http::ServerCodecOptions{.inputEnd = meaning});
            channel.pipeline().addLast<http::BodyStreamer>().addLast<Slow>(*this);
        });
        server_ = bootstrap.bind(anyPort).sync().channel();
    }
    const SocketAddress& address() const { return server_.localAddress(); }
    void awaitWork() { begun_.future().await(); }
    void release() { release_.setValue(); }
    // Waits for the fiber's end; returns whether the fiber was cancelled.
    bool cancelled() { return cancelled_.future().get(); }
    std::size_t connections() const { return server_.liveChildren(); }

  private:
    struct Slow final : SimpleInboundHandler<http::StreamedRequest> {
        explicit Slow(SlowServer& server) : server_(server) {}
        void channelRead0(ChannelHandlerContext& ctx, http::StreamedRequest asked) override {
            ctx.spawn([&server = server_, responder = asked.responder()]() mutable { server.work(responder); });
        }
        void exceptionCaught(ChannelHandlerContext& ctx, std::exception_ptr) override { ctx.close(); }
        SlowServer& server_;
    };

    void work(http::Responder& responder) {
        begun_.setValue();
        try {
            release_.future().await();
            responder.send(http::ok("done"));
            cancelled_.setValue(false);
        } catch (const SystemError& error) {
            EXPECT_EQ(error.code(), operationAborted());
            cancelled_.setValue(true);
        }
    }

    Promise<void> begun_;
    Promise<void> release_;
    Promise<bool> cancelled_;
    EventLoopGroup group_{groupOptions(1)};
    Server server_;
};

class Peer {
  public:
    explicit Peer(const SocketAddress& server) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        EXPECT_EQ(::connect(fd_, server.data(), server.size()), 0);
        EXPECT_EQ(::send(fd_, request.data(), request.size(), MSG_NOSIGNAL), static_cast<ssize_t>(request.size()));
    }
    ~Peer() { close(); }
    Peer(const Peer&) = delete;
    Peer& operator=(const Peer&) = delete;

    void endOutput() { EXPECT_EQ(::shutdown(fd_, SHUT_WR), 0); }
    void close() {
        if (fd_ >= 0) ::close(std::exchange(fd_, -1));
    }
    void reset() {
        const linger now{1, 0};
        EXPECT_EQ(::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now), 0);
        close();
    }
    std::string receive() {
        std::string all;
        char block[256];
        for (ssize_t count; (count = ::recv(fd_, block, sizeof block, 0)) > 0;)
            all.append(block, static_cast<std::size_t>(count));
        return all;
    }

  private:
    int fd_;
};

TEST(HttpClientEndTest, AClientThatClosesCancelsItsFiber) {
    SlowServer server(InputEnd::cancel);
    Peer client(server.address());
    server.awaitWork();
    client.close();
    EXPECT_TRUE(server.cancelled());
    EXPECT_TRUE(eventually([&] { return server.connections() == 0; }));
}

TEST(HttpClientEndTest, AClientThatOnlyEndsItsOutputIsTreatedAsGone) {
    SlowServer server(InputEnd::cancel);
    Peer client(server.address());
    server.awaitWork();
    client.endOutput();
    EXPECT_TRUE(server.cancelled());
    EXPECT_EQ(client.receive(), "");
}

TEST(HttpClientEndTest, AResetCancelsTheFiberWhateverTheEndOfInputMeans) {
    for (const InputEnd meaning : {InputEnd::cancel, InputEnd::answer}) {
        SlowServer server(meaning);
        Peer client(server.address());
        server.awaitWork();
        client.reset();
        EXPECT_TRUE(server.cancelled());
        EXPECT_TRUE(eventually([&] { return server.connections() == 0; }));
    }
}

TEST(HttpClientEndTest, WithAnswerAClientThatEndsItsOutputGetsItsAnswer) {
    SlowServer server(InputEnd::answer);
    Peer client(server.address());
    server.awaitWork();
    client.endOutput();
    server.release();
    EXPECT_TRUE(client.receive().ends_with("\r\n\r\ndone"));
    EXPECT_FALSE(server.cancelled());
}

}  // namespace
}  // namespace weft::test
