// SslHandler on real sockets, on each transport: servers and clients, ends, failures, what waits for the handshake.
#include <string>
#include <vector>

#include <weft/http/object_aggregator.hpp>
#include <weft/tls/ssl_engine.hpp>
#include <weft/tls/ssl_handler.hpp>

#include "tls/ssl_handler_bench.hpp"

namespace weft::test {
namespace {

TEST_P(SslHandlerTest, AServerEchoesAllSizes) {
    const Server server = serve();
    TlsPeer peer(server.localAddress());
    ASSERT_TRUE(peer.shakeHands());
    for (const std::size_t size : {1u, 100u, 5'000u, 200'000u}) {
        const std::string sent(size, static_cast<char>('a' + size % 26));
        peer.send(sent);
        EXPECT_EQ(peer.receive(size), sent);
    }
    EXPECT_EQ(story.events()[0], "active");
    EXPECT_EQ(story.events()[1], "handshake");
}

// The server answers with much more than the sockets take, to a peer that reads late.
TEST_P(SslHandlerTest, AMegabyteWaitsForASlowReader) {
    constexpr std::size_t size = 8 * 1024 * 1024;
    struct Generous final : ChannelInboundHandler {
        void channelRead(ChannelHandlerContext& ctx, Message&& message) override {
            message.reset();
            ChannelPromise written = ctx.newPromise();
            written.addListener([](const ChannelFuture& future) { EXPECT_TRUE(future.success()); });
            ctx.writeAndFlush(Message(Buffer::copyOf(std::string(size, 'm'))), written);
        }
    };
    ServerBootstrap bootstrap(*group);
    bootstrap.childHandler([context = SslContext::server(serverOptions())](Channel& channel) {
        channel.pipeline().addLast<SslHandler>(context).addLast<Generous>();
    });
    const Server server = bootstrap.bind(anyPort).sync().channel();
    TlsPeer peer(server.localAddress());
    ASSERT_TRUE(peer.shakeHands());
    peer.send("?");
    const std::string received = peer.receive(size);
    EXPECT_EQ(received.size(), size);
    EXPECT_EQ(received.find_first_not_of('m'), std::string::npos);
    peer.sayClose();
}

TEST_P(SslHandlerTest, AClientAndAServerOfOurs) {
    const Server server = serve();
    Story clients;
    Bootstrap bootstrap(*group);
    bootstrap.handler([&clients, context = SslContext::client(clientOptions())](Channel& channel) {
        channel.pipeline().addLast<SslHandler>(context, "localhost").addLast<Teller>(clients);
        channel.writeAndFlush(Message(Buffer::copyOf("too early")));  // not connected: refused, as without TLS
    });
    const ChannelRef client = bootstrap.connect(server.localAddress()).sync().channel();
    client->writeAndFlush(Message(Buffer::copyOf("before the handshake, ")));
    client->writeAndFlush(Message(Buffer::copyOf("and after")));
    EXPECT_TRUE(eventually(
        [&] { return clients.has("read before the handshake, and after") || clients.has("read and after"); }));
    client->close().await();
    EXPECT_TRUE(eventually([&] { return clients.has("inactive"); }));
    EXPECT_TRUE(eventually([&] { return story.has("inactive"); }));
    EXPECT_TRUE(story.has("peer closed"));
    EXPECT_EQ(clients.events()[1], "handshake");
}

TEST_P(SslHandlerTest, ACloseSendsACloseNotifyAfterTheLastWrite) {
    struct OneAnswer final : ChannelInboundHandler {
        void channelRead(ChannelHandlerContext& ctx, Message&& message) override {
            ctx.writeAndClose(std::move(message));
        }
    };
    ServerBootstrap bootstrap(*group);
    bootstrap.childHandler([context = SslContext::server(serverOptions())](Channel& channel) {
        channel.pipeline().addLast<SslHandler>(context).addLast<OneAnswer>();
    });
    const Server server = bootstrap.bind(anyPort).sync().channel();
    TlsPeer peer(server.localAddress());
    ASSERT_TRUE(peer.shakeHands());
    peer.send("question");
    EXPECT_EQ(peer.receiveToEnd(), "question");
    EXPECT_TRUE(peer.sawCloseNotify());
}

TEST_P(SslHandlerTest, APeersCloseNotifyIsToldBeforeTheEnd) {
    const Server server = serve();
    TlsPeer peer(server.localAddress());
    ASSERT_TRUE(peer.shakeHands());
    peer.send("bye");
    peer.sayClose();
    EXPECT_EQ(peer.receiveToEnd(), "bye");
    EXPECT_TRUE(peer.sawCloseNotify());
    EXPECT_TRUE(eventually([&] { return story.has("inactive"); }));
    EXPECT_EQ(story.events(), (std::vector<std::string>{"active", "handshake", "read bye", "peer closed", "inactive"}));
}

TEST_P(SslHandlerTest, AnEndWithoutACloseNotifyIsAnException) {
    const Server server = serve();
    TlsPeer peer(server.localAddress());
    ASSERT_TRUE(peer.shakeHands());
    peer.send("bye");
    EXPECT_EQ(peer.receive(3), "bye");
    peer.socket().endOutput();
    EXPECT_TRUE(eventually([&] { return story.has("inactive"); }));
    EXPECT_EQ(story.events(),
              (std::vector<std::string>{"active", "handshake", "read bye",
                                        "exception: " + make_error_code(SslError::truncated).message(), "inactive"}));
}

TEST_P(SslHandlerTest, APeerThatSaysNothingIsNoError) {
    const Server server = serve();
    { const BlockingPeer peer(server.localAddress()); }
    EXPECT_TRUE(eventually([&] { return story.has("inactive"); }));
    EXPECT_EQ(story.events(),
              (std::vector<std::string>{"active", "handshake failed: " + ClosedChannelException().code().message(),
                                        "inactive"}));
}

TEST_P(SslHandlerTest, APeerThatStopsInTheHandshakeIsClosed) {
    const Server server = serve({.handshakeTimeout = 50ms});
    BlockingPeer silent(server.localAddress());
    EXPECT_EQ(silent.receive(), "");
    EXPECT_TRUE(eventually([&] { return story.has("inactive"); }));
    const std::string late = timedOut().message();
    EXPECT_EQ(story.events(),
              (std::vector<std::string>{"active", "handshake failed: " + late, "exception: " + late, "inactive"}));
}

TEST_P(SslHandlerTest, AConnectionOutlivesTheHandshakesTimeout) {
    constexpr auto timeout = 1s;
    const Server server = serve({.handshakeTimeout = timeout});
    TlsPeer peer(server.localAddress());
    ASSERT_TRUE(peer.shakeHands());
    Promise<void> later;
    group->next().schedule([&later] { later.setValue(); }, timeout + 100ms);
    later.future().await();
    peer.send("still here");
    EXPECT_EQ(peer.receive(10), "still here");
}

TEST_P(SslHandlerTest, APeerThatSpeaksHttpIsRefused) {
    const Server server = serve();
    BlockingPeer peer(server.localAddress());
    peer.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_EQ(peer.receive(), "");
    EXPECT_TRUE(eventually([&] { return story.has("inactive"); }));
    const std::string why = make_error_code(SslError::notTls).message();
    EXPECT_EQ(story.events(),
              (std::vector<std::string>{"active", "handshake failed: " + why, "exception: " + why, "inactive"}));
}

TEST_P(SslHandlerTest, AClientDoesNotTalkToAServerOfAnotherName) {
    const Server server = serve();
    Story clients;
    Promise<ErrorCode> written;
    struct Secretive final : ChannelInboundHandler {
        explicit Secretive(Promise<ErrorCode>& written) : written(written) {}
        void channelActive(ChannelHandlerContext& ctx) override {
            const ChannelPromise promise = ctx.newPromise();
            promise.addListener([this](const ChannelFuture& future) {
                try {
                    std::rethrow_exception(future.cause());
                } catch (const ClosedChannelException& error) {
                    written.setValue(codeOf(error.cause()));
                }
            });
            ctx.writeAndFlush(Message(Buffer::copyOf("secret")), promise);
        }
        Promise<ErrorCode>& written;
    };
    Bootstrap bootstrap(*group);
    bootstrap.handler([&, context = SslContext::client(clientOptions())](Channel& channel) {
        channel.pipeline()
            .addLast<SslHandler>(context, "another.example")
            .addLast<Teller>(clients)
            .addLast<Secretive>(written);
    });
    const ChannelRef client = bootstrap.connect(server.localAddress()).sync().channel();
    EXPECT_EQ(written.future().get(), SslError::wrongName);
    EXPECT_TRUE(eventually([&] { return clients.has("inactive"); }));
    const std::string why = make_error_code(SslError::wrongName).message();
    EXPECT_EQ(clients.events(),
              (std::vector<std::string>{"active", "handshake failed: " + why, "exception: " + why, "inactive"}));
    EXPECT_TRUE(eventually([&] { return story.has("inactive"); }));
    EXPECT_FALSE(story.has("read secret"));
    EXPECT_TRUE(story.has("exception: " + make_error_code(SslError::alertReceived).message()))
        << "the server learns why";
}

// What waits for the handshake counts, so that a handler that heeds the writability is stopped.
TEST_P(SslHandlerTest, WritesBeforeTheHandshakeCountAsPending) {
    const Server server = serve();
    Promise<bool> writable;
    Bootstrap bootstrap(*group);
    bootstrap.option(ChannelOption::WRITE_BUFFER_WATER_MARK, WriteBufferWaterMark(1000, 2000));
    struct Early final : ChannelInboundHandler {
        explicit Early(Promise<bool>& writable) : writable(writable) {}
        void channelActive(ChannelHandlerContext& ctx) override {
            ctx.writeAndFlush(Message(Buffer::copyOf(std::string(3000, 'e'))));
            EXPECT_FALSE(ctx.channel().isWritable());
        }
        void channelWritabilityChanged(ChannelHandlerContext& ctx) override {
            if (ctx.channel().isWritable() && !std::exchange(told, true)) writable.setValue(handshake);
        }
        void userEventTriggered(ChannelHandlerContext&, Message&& event) override {
            handshake = handshake || event.is<SslHandshakeCompletionEvent>();
        }
        Promise<bool>& writable;
        bool handshake = false;
        bool told = false;
    };
    bootstrap.handler([&writable, context = SslContext::client(clientOptions())](Channel& channel) {
        channel.pipeline().addLast<SslHandler>(context, "localhost").addLast<Early>(writable);
    });
    const ChannelRef client = bootstrap.connect(server.localAddress()).sync().channel();
    EXPECT_TRUE(writable.future().get()) << "writable again only once the handshake was done";
    EXPECT_TRUE(eventually([&] { return story.events().size() > 2; }));
    client->close().await();
}

// Added in the middle of a connection (STARTTLS), behind an answer in plain text.
TEST_P(SslHandlerTest, AHandlerMayBeAddedLater) {
    struct StartTls final : ChannelInboundHandler {
        StartTls(SslContext context, Story& story) : context(std::move(context)), story(story) {}
        void channelRead(ChannelHandlerContext& ctx, Message&& message) override {
            if (message.get<Buffer>().view() != "STARTTLS\n") return ctx.fireChannelRead(std::move(message));
            ctx.writeAndFlush(Message(Buffer::copyOf("go ahead\n")));
            ctx.pipeline().addFirst<SslHandler>(context);
        }
        SslContext context;
        Story& story;
    };
    ServerBootstrap bootstrap(*group);
    bootstrap.childHandler([this, context = SslContext::server(serverOptions())](Channel& channel) {
        channel.pipeline().addLast<StartTls>(context, story).addLast<Echo>();
    });
    const Server server = bootstrap.bind(anyPort).sync().channel();
    TlsPeer peer(server.localAddress());
    peer.socket().send("STARTTLS\n");
    EXPECT_EQ(peer.socket().receiveExactly(9), "go ahead\n");
    ASSERT_TRUE(peer.shakeHands());
    peer.send("encrypted");
    EXPECT_EQ(peer.receive(9), "encrypted");
    peer.sayClose();
}

TEST_P(SslHandlerTest, AnHttpServerAnswersPipelinedRequests) {
    struct Hello final : SimpleInboundHandler<http::FullRequest> {
        void channelRead0(ChannelHandlerContext& ctx, http::FullRequest request) override {
            ctx.writeAndFlush(http::ok(std::string(request.path()) + " " + std::string(request.body())));
        }
    };
    ServerBootstrap bootstrap(*group);
    bootstrap.childHandler([context = SslContext::server(serverOptions())](Channel& channel) {
        channel.pipeline()
            .addLast<SslHandler>(context)
            .addLast<http::ServerCodec>()
            .addLast<http::ObjectAggregator>()
            .addLast<Hello>();
    });
    const Server server = bootstrap.bind(anyPort).sync().channel();
    TlsPeer peer(server.localAddress());
    ASSERT_TRUE(peer.shakeHands());
    peer.send("GET /one HTTP/1.1\r\nHost: x\r\n\r\nPOST /two HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody"
              "GET /three HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    const std::string answers = peer.receiveToEnd();
    const std::size_t one = answers.find("/one "), two = answers.find("/two body"), three = answers.find("/three ");
    EXPECT_LT(one, two) << answers;
    EXPECT_LT(two, three) << answers;
    EXPECT_NE(three, std::string::npos) << answers;
    EXPECT_TRUE(peer.sawCloseNotify());
}

INSTANTIATE_TEST_SUITE_P(Transports, SslHandlerTest, ::testing::ValuesIn(transports()), nameOfTransport);

TEST(SslHandler, AContextOfTheOtherSideIsRefused) {
    const SslContext server = SslContext::server(serverOptions()), client = SslContext::client();
    EXPECT_THROW(SslHandler{client}, std::invalid_argument);
    EXPECT_THROW((SslHandler{server, "localhost"}), std::invalid_argument);
    EXPECT_THROW((SslHandler{server, SslHandlerOptions{.handshakeTimeout = -1s}}), std::invalid_argument);
}

}  // namespace
}  // namespace weft::test
