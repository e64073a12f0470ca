// SslHandler: what must not leave as plain text, what waits for a handshake of several flights, reading on demand.
#include <algorithm>
#include <string>

#include "tls/ssl_handler_bench.hpp"

namespace weft::test {
namespace {

class SslHandlerEdges : public SslHandlerTest {
  protected:
    Server serveWith(const std::function<void(Channel&)>& initializer) {
        ServerBootstrap bootstrap(*group);
        bootstrap.childHandler([initializer](Channel& channel) { initializer(channel); });
        return bootstrap.bind(anyPort).sync().channel();
    }
    const SslContext context = SslContext::server(serverOptions());
};

// A greeting that the initializer of a server writes, before or after it has added the handler.
TEST_P(SslHandlerEdges, WhatAServersInitializerWritesIsEncrypted) {
    for (const bool before : {false, true}) {
        const Server server = serveWith([this, before](Channel& channel) {
            if (before) channel.writeAndFlush(Message(Buffer::copyOf("welcome")));
            channel.pipeline().addLast<SslHandler>(context).addLast<Echo>();
            if (!before) channel.writeAndFlush(Message(Buffer::copyOf("welcome")));
        });
        TlsPeer peer(server.localAddress());
        ASSERT_TRUE(peer.shakeHands()) << "plain bytes were sent in front of the handshake";
        EXPECT_EQ(peer.receive(7), "welcome");
        peer.sayClose();
    }
}

// The server's own flights must be sent although the greeting cannot be encoded yet.
TEST_P(SslHandlerEdges, AServerMayWriteAtOnce) {
    struct Greeter final : ChannelInboundHandler {
        void channelActive(ChannelHandlerContext& ctx) override {
            ctx.writeAndFlush(Message(Buffer::copyOf("welcome")));
        }
    };
    const Server server = serveWith([this](Channel& channel) {
        channel.pipeline().addLast<SslHandler>(context).addLast<Greeter>().addLast<Echo>();
    });
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        TlsPeer peer(server.localAddress(),
                     [version](::SSL_CTX* settings) { SSL_CTX_set_max_proto_version(settings, version); });
        ASSERT_TRUE(peer.shakeHands());
        EXPECT_EQ(peer.receive(7), "welcome");
        peer.sayClose();
    }
}

TEST_P(SslHandlerEdges, AClientsUnflushedWriteIsEncrypted) {
    const Server server = serve();
    Story clients;
    Bootstrap bootstrap(*group);
    bootstrap.handler([&clients, client = SslContext::client(clientOptions())](Channel& channel) {
        channel.pipeline().addLast<SslHandler>(client, "localhost").addLast<Teller>(clients);
        channel.write(Message(Buffer::copyOf("secret")));
    });
    const ChannelRef client = bootstrap.connect(server.localAddress()).sync().channel();
    client->flush();
    EXPECT_TRUE(eventually([&] { return clients.has("read secret"); }));
    client->close().await();
    EXPECT_TRUE(eventually([&] { return clients.has("inactive"); }));
}

// With AUTO_READ off, one read() gets one answer; the handshake needs none.
TEST_P(SslHandlerEdges, AHandshakeReadsByItselfAndDataWaitsForARead) {
    Promise<ChannelRef> connected;
    ServerBootstrap bootstrap(*group);
    bootstrap.childOption(ChannelOption::AUTO_READ, false).childHandler([&](Channel& channel) {
        channel.pipeline().addLast<SslHandler>(context).addLast<Teller>(story).addLast<Echo>();
        connected.setValue(ChannelRef(channel));
    });
    const Server server = bootstrap.bind(anyPort).sync().channel();
    TlsPeer peer(server.localAddress());
    ASSERT_TRUE(peer.shakeHands());
    peer.send("waits");
    EXPECT_TRUE(eventually([&] { return story.has("handshake"); }));
    std::this_thread::sleep_for(50ms);
    EXPECT_FALSE(story.has("read waits"));
    const ChannelRef channel = connected.future().get();
    channel->read();
    EXPECT_EQ(peer.receive(5), "waits");
    peer.send("again");
    channel->read();
    EXPECT_EQ(peer.receive(5), "again");
    channel->close().await();
}

// The handler switches reading off while records are left that have arrived together.
TEST_P(SslHandlerEdges, RecordsThatHaveArrivedWaitWhileReadingIsOff) {
    struct Pausing final : ChannelInboundHandler {
        explicit Pausing(Story& story) : story(story) {}
        void channelRead(ChannelHandlerContext& ctx, Message&& message) override {
            story.add("got " + std::to_string(message.get<Buffer>().readableBytes()));
            message.reset();
            ctx.channel().setOption(ChannelOption::AUTO_READ, false);
            resumption = ctx.schedule([&ctx] { ctx.channel().setOption(ChannelOption::AUTO_READ, true); }, 10ms);
        }
        Story& story;
        ScheduledTask resumption;
    };
    const Server server = serveWith([this](Channel& channel) {
        channel.pipeline().addLast<SslHandler>(context).addLast<Teller>(story).addLast<Pausing>(story);
    });
    TlsPeer peer(server.localAddress());
    ASSERT_TRUE(peer.shakeHands());
    std::size_t sent = 0;
    for (int i = 0; i < 20; ++i, sent += 3000) peer.send(std::string(3000, 'p'));
    peer.sayClose();
    EXPECT_TRUE(eventually([&] { return story.has("inactive"); }));
    std::size_t got = 0;
    for (const std::string& event : story.events()) {
        if (event.starts_with("got ")) got += static_cast<std::size_t>(std::stoi(event.substr(4)));
    }
    EXPECT_EQ(got, sent);
    EXPECT_TRUE(story.has("peer closed"));
}

// The request has arrived with the end of the handshake, which sends the greeting.
TEST_P(SslHandlerEdges, AReadThatTheGreetingsListenerMakesIsHeard) {
    struct Greeting final : ChannelInboundHandler {
        void channelActive(ChannelHandlerContext& ctx) override {
            ChannelPromise sent = ctx.newPromise();
            sent.addListener([&ctx](const ChannelFuture&) { ctx.read(); });
            ctx.writeAndFlush(Buffer::copyOf("hi"), std::move(sent));
            ctx.fireChannelActive();
        }
    };
    ServerBootstrap bootstrap(*group);
    bootstrap.childOption(ChannelOption::AUTO_READ, false).childHandler([&](Channel& channel) {
        channel.pipeline().addLast<SslHandler>(context).addLast<Greeting>().addLast<Teller>(story).addLast<Echo>();
    });
    const Server server = bootstrap.bind(anyPort).sync().channel();
    TlsPeer peer(server.localAddress());
    ASSERT_TRUE(peer.shakeHandsAndSend("request"));
    EXPECT_EQ(peer.receive(9), "hirequest");
}

// Promises of many small writes wait with their bytes, but are no answers that the peer does not read.
TEST_P(SslHandlerEdges, ABacklogOfSmallWritesIsNoFlood) {
    static constexpr int messages = 150'000, size = 50;
    struct Flood final : ChannelInboundHandler {
        void channelRead(ChannelHandlerContext& ctx, Message&& message) override {
            const bool begins = message.get<Buffer>().view().starts_with("go");  // "more" may come with it
            message.reset();
            for (int i = 0; begins && i < messages; ++i)
                ctx.write(Buffer::copyOf(std::string(size, 'f')), ctx.newPromise());
            ctx.flush();
        }
    };
    ServerBootstrap bootstrap(*group);
    bootstrap.childOption(ChannelOption::SEND_BUFFER, 32 * 1024).childHandler([&](Channel& channel) {
        channel.pipeline().addLast<SslHandler>(context).addLast<Teller>(story).addLast<Flood>();
    });
    const Server server = bootstrap.bind(anyPort).sync().channel();
    TlsPeer peer(server.localAddress());
    ASSERT_TRUE(peer.shakeHands());
    peer.send("go");
    for (std::size_t left = std::size_t{messages} * size; left > 0;) {
        peer.send("more");
        const std::size_t bytes = peer.receive(std::min<std::size_t>(left, 100'000)).size();
        ASSERT_GT(bytes, 0u) << left << " are left";
        left -= bytes;
    }
}

TEST_P(SslHandlerEdges, TheOutputCannotEndInTheHandshake) {
    Promise<ErrorCode> refused;
    struct Ending final : ChannelInboundHandler {
        explicit Ending(Promise<ErrorCode>& refused) : refused(refused) {}
        void channelActive(ChannelHandlerContext& ctx) override {
            ctx.channel().shutdownOutput().addListener(
                [this](const ChannelFuture& done) { refused.setValue(codeOf(done.cause())); });
        }
        Promise<ErrorCode>& refused;
    };
    const Server server = serveWith([&](Channel& channel) {
        channel.pipeline().addLast<SslHandler>(context).addLast<Ending>(refused).addLast<Echo>();
    });
    TlsPeer peer(server.localAddress());
    ASSERT_TRUE(peer.shakeHands());
    EXPECT_EQ(refused.future().get(), fromErrno(EAGAIN));
    peer.send("goes on");
    EXPECT_EQ(peer.receive(7), "goes on");
    peer.sayClose();
}

// A listener of the handshake's future removes the handler, whose memory the event still needs.
TEST_P(SslHandlerEdges, AListenerMayRemoveTheHandler) {
    const Server server = serveWith([this](Channel& channel) {
        channel.pipeline().addLast<SslHandler>(context).addLast<Teller>(story).addLast<Echo>();
        channel.loop().execute([channel = ChannelRef(channel)] {
            if (channel->closed()) return;
            channel->pipeline().get<SslHandler>()->handshakeFuture().addListener(
                [channel](const ChannelFuture&) { channel->pipeline().remove<SslHandler>(); });
        });
    });
    TlsPeer peer(server.localAddress());
    ASSERT_TRUE(peer.shakeHands());
    peer.send("still encrypted");
    EXPECT_EQ(peer.receive(15), "still encrypted");
    peer.sayClose();
}

// With half-closure: a close_notify, then a FIN. The end is told once, and the server may still answer.
TEST_P(SslHandlerEdges, ACloseNotifyBeforeAFinIsToldOnce) {
    Promise<ChannelRef> connected;
    ServerBootstrap bootstrap(*group);
    bootstrap.childOption(ChannelOption::ALLOW_HALF_CLOSURE, true).childHandler([&](Channel& channel) {
        channel.pipeline().addLast<SslHandler>(context).addLast<Teller>(story);
        connected.setValue(ChannelRef(channel));
    });
    const Server server = bootstrap.bind(anyPort).sync().channel();
    TlsPeer peer(server.localAddress());
    ASSERT_TRUE(peer.shakeHands());
    const ChannelRef channel = connected.future().get();
    peer.sayClose();
    peer.socket().endOutput();
    EXPECT_TRUE(eventually([&] { return story.has("peer closed"); }));
    channel->writeAndFlush(Message(Buffer::copyOf("an answer, nevertheless")));
    EXPECT_EQ(peer.receive(23), "an answer, nevertheless");
    channel->close().await();
    EXPECT_TRUE(eventually([&] { return story.has("inactive"); }));
    EXPECT_EQ(story.events(), (std::vector<std::string>{"active", "handshake", "peer closed", "inactive"}));
}

// A connection attempt that fails ends the futures, too.
TEST_P(SslHandlerEdges, TheFuturesEndWithAFailedConnect) {
    SocketAddress closedPort;
    {
        Server gone = serve();
        closedPort = gone.localAddress();
        gone.close().await();
    }
    Promise<bool> ended;
    Bootstrap bootstrap(*group);
    bootstrap.handler([&ended, client = SslContext::client(clientOptions())](Channel& channel) {
        channel.pipeline().addLast<SslHandler>(client, "localhost");
        channel.loop().execute([&ended, channel = ChannelRef(channel)] {
            if (SslHandler* const handler = channel->pipeline().get<SslHandler>())
                handler->handshakeFuture().addListener(
                    [&ended](const ChannelFuture& done) { ended.setValue(done.success()); });
        });
    });
    bootstrap.connect(closedPort).await();
    EXPECT_FALSE(ended.future().get());
}

INSTANTIATE_TEST_SUITE_P(Transports, SslHandlerEdges, ::testing::ValuesIn(transports()), nameOfTransport);

TEST(SslHandlerNames, ANameThatCannotBeVerifiedIsRefusedAtOnce) {
    const SslContext client = SslContext::client(clientOptions());
    for (const char* const name : {"", ".", ".example.com"})
        EXPECT_THROW((SslHandler{client, name}), std::invalid_argument);
}

}  // namespace
}  // namespace weft::test
