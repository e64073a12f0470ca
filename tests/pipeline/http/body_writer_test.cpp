// A server writes a body no faster than a slow client reads it.
#include <weft/http/responder.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "pipeline/http/codec_server.hpp"
#include "pipeline/http/slow_peer.hpp"
#include "support/loop_without_io.hpp"

namespace weft::http {
namespace {

using test::count;
using test::get;
using test::Keeper;
using test::SlowPeer;

TEST(BodyWriterPressure, AWriterThatLooksAtWritabilityIsStoppedByASlowClient) {
    static constexpr std::size_t size = 2'000'000;
    struct Endless final : SimpleInboundHandler<FullRequest> {
        void channelRead0(ChannelHandlerContext& ctx, FullRequest request) override {
            body.emplace(request.responder().begin(Response(Status::ok)));
            more(ctx);
        }
        void channelWritabilityChanged(ChannelHandlerContext& ctx) override { more(ctx); }
        void more(ChannelHandlerContext& ctx) {
            while (body && written < size && ctx.channel().isWritable()) {
                body->write(Buffer::copyOf(std::string(10'000, '#')));
                written += 10'000;
            }
            if (body && written == size) {
                body->end();
                body.reset();
            }
        }
        std::optional<BodyWriter> body;
        std::size_t written = 0;
    };
    SlowPeer peer([](ChannelPipeline& pipeline) {
        pipeline.addLast<ServerCodec>().addLast<ObjectAggregator>().addLast<Endless>();
    });
    peer.send(get);
    peer.deliver();
    const Endless& handler = *peer.channel.pipeline().get<Endless>();
    EXPECT_LE(handler.written, WriteBufferWaterMark::defaultHigh + 30'000);
    for (int i = 0; i < 1'000 && peer.received().find("\r\n0\r\n\r\n") == std::string::npos; ++i) {
        peer.take(20'000);
        ASSERT_LE(peer.channel->pendingBytes(), WriteBufferWaterMark::defaultHigh + 30'000);
    }
    EXPECT_EQ(count(peer.received(), "#"), size);
}

// A client whose kernel accepts no bytes at first: a sink on a hosted loop.
struct HostedPeer {
    HostedPeer() {
        loop.inDispatch([this] {
            channel = Channel::create(loop.loop);
            channel->attach(std::make_unique<weft::test::ScriptedSink>(*channel, sink));
            channel->setActive(true);
            channel->pipeline().addLast<ServerCodec>().addLast<ObjectAggregator>().addLast<test::Application>(
                keeper.keep());
            sink->room = 0;
            channel->registerWithLoop({});
            channel->onRead(Buffer::copyOf(get));
            channel->onReadComplete();
        });
    }
    ~HostedPeer() {
        channel->close().await();
        channel = {};
        loop.inDispatch([] {});
    }
    // The kernel accepts `bytes` more. Calls look(bytes accepted since the last call) in the loop.
    template <class Look>
    void take(std::size_t bytes, Look look) {
        loop.inDispatch([&] {
            sink->room += bytes;
            channel->onWritable();
            look(std::exchange(sink->written, {}));
        });
    }
    std::shared_ptr<weft::test::SinkScript> sink = std::make_shared<weft::test::SinkScript>();
    Keeper keeper;
    weft::test::LoopWithoutIo loop;
    ChannelRef channel;
};

TEST(BodyWriterPressure, AFiberThatSendsIsHeldAtTheWindow) {
    constexpr std::size_t piece = 10'000;
    constexpr std::size_t pieces = 200;
    HostedPeer peer;
    std::size_t sent = 0;  // written by the fiber on the loop's thread
    std::size_t mostPending = 0;
    auto fiber = peer.loop.group.carrier(0).spawn([&] {
        BodyWriter body = peer.keeper.waiting.at(0).begin(Response(Status::ok));
        for (std::size_t i = 0; i < pieces; ++i) {
            body.send(Buffer::copyOf(std::string(piece, '#')));
            sent += piece;
            mostPending = std::max(mostPending, peer.channel->pendingBytes());
        }
        body.end();
    });
    std::size_t taken = 0;
    for (bool whole = false; !whole;) {
        peer.take(5'000, [&](const std::string& more) {
            taken += count(more, "#");
            EXPECT_LE(sent, taken + BodyWriter::window + 2 * piece);
            whole = more.ends_with("0\r\n\r\n");
        });
    }
    fiber.join();
    EXPECT_EQ(taken, piece * pieces);
    EXPECT_LE(mostPending, BodyWriter::window + 2 * piece + 100 * 96) << "with the overhead of the writes";
}

TEST(BodyWriterPressure, AFiberThatSendsToAClosedConnectionHearsOfIt) {
    HostedPeer peer;
    Promise<void> begun;
    Future<void> waiting = begun.future();
    auto fiber = peer.loop.group.carrier(0).spawn([&] {
        BodyWriter body = peer.keeper.waiting.at(0).begin(Response(Status::ok));
        body.send(Buffer::copyOf(std::string(BodyWriter::window, '#')));
        begun.setValue();
        body.send(Buffer::copyOf(std::string(BodyWriter::window, '#')));  // parks: no byte has left
    });
    waiting.get();
    peer.channel->close();
    EXPECT_THROW(fiber.join(), SystemError);
}

}  // namespace
}  // namespace weft::http
