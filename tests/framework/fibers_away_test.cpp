// Fibers that run on another carrier than their own, as they do when carriers steal: whatever belongs to their carrier
// brings them home before it is touched.
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "framework/bench.hpp"
#include "scheduler/move_to.hpp"

namespace weft::test {
namespace {

class FibersAway : public testing::Test {
  public:
    Carrier& home() { return group.carriers().carrier(0); }
    Carrier& other() { return group.carriers().carrier(1); }
    // Away from home first; expects that the call ends at home.
    template <class F>
    void comesHome(const char* what, F call) {
        moveTo(other());
        ASSERT_FALSE(home().isCurrent());
        call();
        EXPECT_TRUE(home().isCurrent()) << what;
    }

    EventLoopGroup group{groupOptions(2)};
};

TEST_F(FibersAway, SocketsBringThemHome) {
    home().spawn([&] {
              std::optional<TcpListener> listener;
              std::optional<TcpStream> client, server;
              std::string bytes(4, '?');
              ErrorCode error;
              comesHome("listen", [&] { listener.emplace(TcpListener::listen(anyPort)); });
              const SocketAddress address = listener->localAddress();
              comesHome("connect", [&] { client.emplace(TcpStream::connect(address, patience())); });
              comesHome("accept", [&] { server.emplace(listener->accept(patience())); });
              comesHome("write", [&] { client->write(std::string_view("ping")); });
              comesHome("read", [&] { server->readExactly(bytes); });
              EXPECT_EQ(bytes, "ping");
              comesHome("tryRead", [&] { server->tryRead(bytes, error); });
              comesHome("close of a stream", [&] { client->close(); });
              comesHome("close of a listener", [&] { listener->close(); });
              comesHome("the end of a stream", [&] { server.reset(); });
              comesHome("an assignment", [&] {
                  TcpListener fresh;
                  listener.emplace(TcpListener::listen(anyPort));
                  moveTo(other());
                  *listener = std::move(fresh);
              });
          })
        .join();
}

// On the right thread, but its waits go on elsewhere.
TEST_F(FibersAway, TheSocketsOfTheCarrierThatRunsThemAreNotTheirs) {
    std::optional<TcpListener> others;
    other().spawn([&] { others.emplace(TcpListener::listen(anyPort)); }).join();
    home().spawn([&] {
              moveTo(other());
              EXPECT_THROW(others->accept(patience()), std::logic_error);
              EXPECT_TRUE(other().isCurrent());
          })
        .join();
    other().spawn([&] { others.reset(); }).join();
}

TEST_F(FibersAway, WhatTheySpawnIsTheirHomes) {
    home().spawn([&] {
              moveTo(other());
              EXPECT_EQ(Carrier::home(), &home());
              EXPECT_EQ(spawn([] { return thisFiber::carrier(); }).join(), &home());
              moveTo(other());
              EXPECT_EQ(&group.carriers().next(), &home());
              EXPECT_EQ(group.next().carrier(), &home());
          })
        .join();
    EXPECT_EQ(Carrier::home(), nullptr);
}

TEST_F(FibersAway, TheClientBringsThemHome) {
    ServerBootstrap bootstrap(group);
    bootstrap.childHandler([](Channel& channel) {
        struct Hello final : SimpleInboundHandler<http::FullRequest> {
            void channelRead0(ChannelHandlerContext&, http::FullRequest request) override {
                request.responder().send(http::ok(Buffer::copyOf("hello"), "text/plain"));
            }
        };
        channel.pipeline().addLast<http::ServerCodec>().addLast<http::ObjectAggregator>().addLast<Hello>();
    });
    const Server server = bootstrap.bind(anyPort).sync().channel();
    home().spawn([&] {
              for (int i = 0; i < 3; ++i) {
                  comesHome("http::get", [&] {
                      EXPECT_EQ(Buffer(http::get(server.localAddress(), "/")).view(), "hello");
                  });
              }
          })
        .join();
}

// What a fiber writes away from home is not overtaken by what it writes at home then.
TEST_F(FibersAway, ChannelsBringThemHomeAndKeepTheOrder) {
    struct Spawner final : SimpleInboundHandler<Buffer> {
        explicit Spawner(FibersAway& itsTest) : test(itsTest) {}
        void channelRead0(ChannelHandlerContext& ctx, Buffer) override {
            ctx.spawn([this, &ctx] {
                Carrier& loops = *thisFiber::carrier();
                Carrier& elsewhere = &loops == &test.home() ? test.other() : test.home();
                for (const char* word : {"1", "2", "3", "4"}) {
                    moveTo(elsewhere);
                    ctx.write(Message(Buffer::copyOf(word)));
                    EXPECT_TRUE(loops.isCurrent());
                    ctx.write(Message(Buffer::copyOf(",")));
                }
                moveTo(elsewhere);
                ctx.channel().flush();
                EXPECT_TRUE(loops.isCurrent());
                moveTo(elsewhere);  // and ends there
            });
        }
        FibersAway& test;
    };
    ServerBootstrap bootstrap(group);
    bootstrap.childHandler([this](Channel& channel) { channel.pipeline().addLast<Spawner>(*this); });
    const Server server = bootstrap.bind(anyPort).sync().channel();
    for (int i = 0; i < 20; ++i) {
        BlockingPeer peer(server.localAddress());
        peer.send("x");
        EXPECT_EQ(peer.receiveExactly(8), "1,2,3,4,");
    }
}

}  // namespace
}  // namespace weft::test
