// Bodies that are read while they come, and how a slow reader stops the connection's reading; bodies that are written
// as fast as a slow client takes them, and not faster.
#include <weft/pipeline/http/body_streamer.hpp>

#include <gtest/gtest.h>

#include <cstdio>
#include <deque>
#include <string>

#include <weft/pipeline/buffer_pool.hpp>
#include <weft/pipeline/http/client_codec.hpp>
#include <weft/scheduler/log.hpp>

#include "support/hosted_loop.hpp"
#include "pipeline/http/codec_server.hpp"
#include "pipeline/http/slow_peer.hpp"

namespace weft::http {
namespace {

using test::count;
using test::get;
using test::Keeper;
using test::post;
using test::SlowPeer;

// Keeps the requests; the test reads their bodies.
struct Keeping final : SimpleInboundHandler<StreamedRequest> {
    struct Kept {
        Responder responder;
        BodyReader body;
    };
    explicit Keeping(std::deque<Kept>& itsKept) : kept(itsKept) {}
    void channelRead0(ChannelHandlerContext&, StreamedRequest request) override {
        kept.push_back({request.responder(), request.takeBody()});
    }
    std::deque<Kept>& kept;
};

struct StreamedServer {
    StreamedServer() { channel.pipeline().addLast<ServerCodec>().addLast<BodyStreamer>().addLast<Keeping>(kept); }
    ~StreamedServer() {
        setLogSink([](LogLevel, std::string_view) noexcept {});
        kept.clear();
        setLogSink(nullptr);
    }
    std::string say(std::string_view bytes) {
        channel.writeInbound(Buffer::copyOf(bytes));
        channel.runPendingTasks();
        return channel.readOutboundText();
    }
    std::deque<Keeping::Kept> kept;
    EmbeddedChannel channel;
};

// Everything that can be read without blocking.
std::string readAvailable(BodyReader& body) {
    std::string text;
    while (body.available() > 0) text += body.read()->view();
    return text;
}

const std::string chunkedPost = "POST /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";

TEST(BodyStreamer, HandsTheRequestOnBeforeItsBodyAndThePiecesAsTheyCome) {
    StreamedServer server;
    server.say(chunkedPost);
    ASSERT_EQ(server.kept.size(), 1u);
    BodyReader& body = server.kept[0].body;
    EXPECT_EQ(body.available(), 0u);
    server.say("2\r\nab\r\n3\r\ncde\r\n");
    EXPECT_EQ(body.available(), 5u);
    EXPECT_EQ(body.read()->view(), "abcde") << "small pieces are handed out together";
    EXPECT_THROW(body.read(), BlockingOperationException) << "nothing has come, and this thread is the loop";
    server.say("0\r\nX-Sum: 7\r\n\r\n");
    EXPECT_FALSE(body.read().has_value());
    EXPECT_FALSE(body.read().has_value());
    EXPECT_EQ(body.trailers().find("X-Sum"), "7");
}

TEST(BodyStreamer, ARequestWithoutABodyIsReadToItsEndAtOnce) {
    StreamedServer server;
    server.say(get);
    EXPECT_FALSE(server.kept.at(0).body.read().has_value());
    EXPECT_EQ(server.kept[0].body.trailers().size(), 0u);
}

TEST(BodyStreamer, ABodyThatIsCutSaysSoBehindWhatHasCome) {
    StreamedServer server;
    server.say(chunkedPost + "2\r\nab\r\nzz\r\n");
    BodyReader& body = server.kept.at(0).body;
    EXPECT_EQ(body.read()->view(), "ab");
    ErrorCode error;
    EXPECT_FALSE(body.read(error).has_value());
    EXPECT_EQ(error, fromErrno(ECONNABORTED));
    try {
        body.read();
        FAIL() << "no exception";
    } catch (const SystemError& failure) {
        EXPECT_NE(std::string(failure.what()).find("BodyReader::read: bad chunk size"), std::string::npos)
            << failure.what();
    }
}

TEST(BodyStreamer, AConnectionThatClosesCutsItsBody) {
    StreamedServer server;
    server.say(chunkedPost + "2\r\nab\r\n");
    server.channel.close();
    server.channel.runPendingTasks();
    BodyReader& body = server.kept.at(0).body;
    EXPECT_EQ(body.read()->view(), "ab");
    ErrorCode error;
    EXPECT_FALSE(body.read(error).has_value());
    EXPECT_EQ(error, fromErrno(ECONNABORTED));
}

TEST(BodyStreamer, AnUnknownExpectationIs417) {
    StreamedServer server;
    EXPECT_TRUE(server.say("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: cake\r\n\r\nab")
                    .starts_with("HTTP/1.1 417 "));
    EXPECT_TRUE(server.kept.empty());
}

TEST(BodyStreamer, AnAnswerWithoutReadingClosesAndNo100IsSent) {
    StreamedServer server;
    server.say("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
    server.kept.at(0).responder.send(error(Status::forbidden));
    server.channel.runPendingTasks();
    const std::string answer = server.channel.readOutboundText();
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 403 ")) << answer;
    EXPECT_EQ(count(answer, "Connection: close\r\n"), 1u);
}

// ---- back-pressure inwards ----

struct SlowReader {
    SlowReader()
        : peer([this](ChannelPipeline& pipeline) {
              pipeline.addLast<ServerCodec>().addLast<BodyStreamer>().addLast<Keeping>(kept);
          }) {
        peer.channel.sink->room = std::numeric_limits<std::size_t>::max();
    }
    ~SlowReader() {
        setLogSink([](LogLevel, std::string_view) noexcept {});
        kept.clear();
        setLogSink(nullptr);
    }
    std::deque<Keeping::Kept> kept;
    SlowPeer peer;
};

TEST(BodyStreamerPressure, AHandlerThatDoesNotReadStopsTheReadingAndAFewBytesAreHeld) {
    constexpr std::size_t size = 5'000'000;
    SlowReader server;
    server.peer.send(post(std::string(size, '#')));
    server.peer.deliver();
    EXPECT_FALSE(server.peer.channel.sink->wantsRead);
    BodyReader& body = server.kept.at(0).body;
    EXPECT_LE(body.available(), BodyReader::highMark + SlowPeer::readBytes);
    EXPECT_GE(server.peer.unread(), size - BodyReader::highMark - 2 * SlowPeer::readBytes);
}

TEST(BodyStreamerPressure, ASlowReaderGetsEverythingAndNeverHoldsMuch) {
    constexpr std::size_t size = 3'000'000;
    SlowReader server;
    server.peer.send(post(std::string(size, '#')));
    server.peer.deliver();
    BodyReader& body = server.kept.at(0).body;
    std::size_t read = 0;
    std::size_t most = 0;
    while (read < size) {
        most = std::max(most, body.available());
        ASSERT_GT(body.available(), 0u) << "the reading has not gone on after " << read;
        read += body.read()->readableBytes();
        server.peer.deliver();
    }
    EXPECT_EQ(read, size);
    EXPECT_LE(most, BodyReader::highMark + SlowPeer::readBytes);
    EXPECT_FALSE(body.read().has_value());
    EXPECT_GT(server.peer.channel.sink->count("wantRead 0"), 10u) << "the reading has stopped and gone on";
}

TEST(BodyStreamerPressure, ADroppedReaderLetsTheRestComeAndTheNextRequestToo) {
    SlowReader server;
    server.peer.send(post(std::string(3'000'000, '#')) + get);
    server.peer.deliver();
    ASSERT_EQ(server.kept.size(), 1u);
    server.kept[0].responder.send(ok("enough"));
    server.kept[0].body = BodyReader();
    server.peer.deliver();
    EXPECT_EQ(server.kept.size(), 2u);
    EXPECT_EQ(server.peer.unread(), 0u);
}

TEST(BodyStreamerPressure, TheBodiesOfPipelinedRequestsShareOneRoom) {
    SlowReader server;
    for (int i = 0; i < 10; ++i) server.peer.send(post(std::string(60'000, '#')));
    server.peer.deliver();
    std::size_t held = 0;
    for (const auto& kept : server.kept) held += kept.body.available();
    EXPECT_LE(held, BodyReader::highMark + SlowPeer::readBytes);
    EXPECT_GT(server.peer.unread(), 400'000u);
    for (std::size_t i = 0; i < 10; ++i) {
        ASSERT_GT(server.kept.size(), i);
        std::size_t read = 0;
        while (read < 60'000) {
            const std::string more = readAvailable(server.kept[i].body);
            ASSERT_FALSE(more.empty()) << i;
            read += more.size();
            server.peer.deliver();
        }
    }
}

// What the pieces of a body hold is bounded, however small they are and however much of their blocks they use.

std::string chunks(std::size_t count, const std::string& data) {
    char size[20];
    std::snprintf(size, sizeof size, "%zx\r\n", data.size());
    std::string all;
    for (std::size_t i = 0; i < count; ++i) all += size + data + "\r\n";
    return all;
}

TEST(BodyStreamerPressure, ManyPiecesOfOneByteHoldLittleMoreThanTheirBytes) {
    SlowReader server;
    const std::int64_t blocks = BufferPool::liveBlocks();
    server.peer.send(chunkedPost + chunks(1'000'000, "x"));
    server.peer.deliver();
    EXPECT_FALSE(server.peer.channel.sink->wantsRead);
    BodyReader& body = server.kept.at(0).body;
    EXPECT_LE(body.available(), BodyReader::highMark + SlowPeer::readBytes);
    // A few joined blocks of 16 KiB, and one with what the codec has not decoded.
    EXPECT_LE(BufferPool::liveBlocks() - blocks, 12);
    std::size_t pieces = 0;
    for (const std::size_t most = body.available(); body.available() > 0; ++pieces) {
        ASSERT_LE(body.read()->readableBytes(), most);
    }
    EXPECT_LE(pieces, 12u);
}

TEST(BodyStreamerPressure, APieceCountsWithTheBlockThatItHolds) {
    SlowReader server;
    auto& channel = *server.peer.channel.channel;
    const std::string piece = chunks(1, std::string(2000, '#'));
    server.peer.send(chunkedPost);
    server.peer.deliver();
    int delivered = 0;
    for (; server.peer.channel.sink->wantsRead && delivered < 100; ++delivered) {
        Buffer large = Buffer::allocate(64 * 1024);
        large.append(piece);
        channel.onRead(std::move(large));
        channel.onReadComplete();
        server.peer.channel.run();
    }
    EXPECT_LE(delivered, 3) << "each of 64 KiB";
    BodyReader& body = server.kept.at(0).body;
    EXPECT_EQ(body.available(), static_cast<std::size_t>(delivered) * 2000);
    while (body.available() > 0) body.read();
    EXPECT_TRUE(server.peer.channel.sink->wantsRead) << "the reading goes on";
}

TEST(BodyStreamerPressure, NeighboursInOneBlockCountOnce) {
    SlowReader server;
    auto& channel = *server.peer.channel.channel;
    server.peer.send(chunkedPost);
    server.peer.deliver();
    Buffer some = Buffer::allocate(16 * 1024);
    some.append(chunks(7, std::string(2000, '#')));
    channel.onRead(std::move(some));
    channel.onReadComplete();
    server.peer.channel.run();
    EXPECT_TRUE(server.peer.channel.sink->wantsRead) << "16 KiB are held";
    BodyReader& body = server.kept.at(0).body;
    for (int i = 0; i < 7; ++i) EXPECT_EQ(body.read()->readableBytes(), 2000u);
    EXPECT_EQ(body.available(), 0u);
}

TEST(BodyStreamerPressure, PiecesOfAnySizeComeOutInTheirOrder) {
    SlowReader server;
    std::string all;
    server.peer.send(chunkedPost);
    server.peer.deliver();
    BodyReader& body = server.kept.at(0).body;
    std::string read;
    for (std::size_t i = 0; i < 400; ++i) {
        const std::size_t size = 1 + (i * i * 37) % 3000;  // on both sides of what is copied together
        const std::string data(size, static_cast<char>('a' + i % 26));
        all += data;
        server.peer.send(chunks(1, data));
        server.peer.deliver();
        if (i % 7 == 3) read += readAvailable(body);
    }
    while (read.size() < all.size()) {
        const std::string more = readAvailable(body);
        ASSERT_FALSE(more.empty()) << read.size();
        read += more;
        server.peer.deliver();
    }
    EXPECT_EQ(read, all);
}

// ---- back-pressure outwards ----

TEST(ServerCodecPressure, EarlyPiecesOfOneByteCountWithWhatTheyHold) {
    Keeper keeper;
    int asked = 0;
    SlowPeer peer([&](ChannelHandlerContext&, FullRequest& request) {
        ++asked;
        keeper.waiting.push_back(request.responder());
    });
    peer.channel.sink->room = std::numeric_limits<std::size_t>::max();
    peer.send(get + get);
    peer.deliver();
    BodyWriter second = keeper.waiting.at(1).begin(Response(Status::ok));
    for (int i = 0; i < 2000; ++i) second.write(Buffer::copyOf("x"));
    peer.send(get);
    peer.deliver();
    EXPECT_EQ(asked, 2) << "2,000 pieces of one byte hold more than 64 KiB";
    keeper.waiting[0].send(ok("first"));
    second.end();
    peer.deliver();
    EXPECT_EQ(asked, 3);
    keeper.waiting[2].send(ok("third"));
}

// The first request is not answered; the others are at once, with 100,000 bytes each.
TEST(ServerCodecPressure, EarlyAnswersAreBounded) {
    Keeper keeper;
    int asked = 0;
    SlowPeer peer([&](ChannelHandlerContext& ctx, FullRequest& request) {
        if (++asked == 1) return keeper.waiting.push_back(request.responder());
        Response response = ok(std::string(100'000, '#'));
        response.to(request);
        ctx.writeAndFlush(Message(std::move(response)));
    });
    peer.channel.sink->room = std::numeric_limits<std::size_t>::max();
    for (int i = 0; i < 10; ++i) peer.send(get);
    peer.deliver();
    EXPECT_EQ(asked, 2) << "one answer is above the mark";
    keeper.waiting[0].send(ok("first"));
    peer.deliver();
    EXPECT_EQ(asked, 10);
    EXPECT_EQ(count(peer.received(), "#"), 900'000u);
}

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

// A client whose kernel takes nothing: a sink on a hosted loop.
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
    // The kernel takes so many more bytes; look(what it has taken since the last time) is called in the loop.
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
    weft::test::HostedLoop loop;
    ChannelRef channel;
};

TEST(BodyWriterPressure, AFiberThatSendsIsHeldAtTheWindow) {
    constexpr std::size_t piece = 10'000;
    constexpr std::size_t pieces = 200;
    HostedPeer peer;
    std::size_t sent = 0;  // by the fiber, on the loop's thread
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
        body.send(Buffer::copyOf(std::string(BodyWriter::window, '#')));  // parks: nothing has left
    });
    waiting.get();
    peer.channel->close();
    EXPECT_THROW(fiber.join(), SystemError);
}

TEST(BodyReaderFiber, AFiberParksUntilAPieceComesAndTheClientIsToldToGoOn) {
    weft::test::HostedLoop loop;
    auto sink = std::make_shared<weft::test::SinkScript>();
    std::deque<Keeping::Kept> kept;
    ChannelRef channel;
    loop.inDispatch([&] {
        channel = Channel::create(loop.loop);
        channel->attach(std::make_unique<weft::test::ScriptedSink>(*channel, sink));
        channel->setActive(true);
        channel->pipeline().addLast<ServerCodec>().addLast<BodyStreamer>().addLast<Keeping>(kept);
        channel->registerWithLoop({});
        channel->onRead(
            Buffer::copyOf("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n"));
        channel->onReadComplete();
    });
    auto fiber = loop.group.carrier(0).spawn([&] {
        std::string text;
        while (std::optional<Buffer> piece = kept.at(0).body.read()) text.append(piece->view()).append("|");
        kept[0].responder.send(ok("done"));
        return text;
    });
    for (bool asked = false; !asked;) {
        loop.inDispatch([&] { asked = sink->written == "HTTP/1.1 100 Continue\r\n\r\n"; });
    }
    for (const char* bytes : {"ab", "c", "d"}) {
        loop.inDispatch([&] {
            channel->onRead(Buffer::copyOf(bytes));
            channel->onReadComplete();
        });
    }
    const std::string text = fiber.join();
    std::string body = text;
    std::erase(body, '|');
    EXPECT_EQ(body, "abcd") << text;
    loop.inDispatch([&] {
        loop.loop.runFlushPoint();
        EXPECT_TRUE(sink->written.ends_with("done"));
        EXPECT_EQ(count(sink->written, "Connection: close"), 0u);
    });
    channel->close().await();
    kept.clear();
    channel = {};
    loop.inDispatch([] {});
}

TEST(StreamedResponse, AClientReadsABodyWhileItComes) {
    struct Kept final : SimpleInboundHandler<StreamedResponse> {
        explicit Kept(std::deque<BodyReader>& itsBodies) : bodies(itsBodies) {}
        void channelRead0(ChannelHandlerContext&, StreamedResponse response) override {
            EXPECT_EQ(response.status(), Status::ok);
            bodies.push_back(response.takeBody());
        }
        std::deque<BodyReader>& bodies;
    };
    std::deque<BodyReader> bodies;
    EmbeddedChannel channel;
    channel.pipeline()
        .addLast<ClientCodec>(ClientCodecOptions{.host = "h"})
        .addLast<BodyStreamer>()
        .addLast<Kept>(bodies);
    channel.channel().writeAndFlush(Message(ClientRequest()));
    channel.channel().writeAndFlush(Message(ClientRequest()));
    channel.writeInbound(Buffer::copyOf("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab"));
    ASSERT_EQ(bodies.size(), 1u);
    EXPECT_EQ(bodies[0].read()->view(), "ab");
    channel.writeInbound(Buffer::copyOf("cdHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n"));
    EXPECT_EQ(readAvailable(bodies[0]), "cd");
    EXPECT_FALSE(bodies[0].read().has_value());
    EXPECT_EQ(readAvailable(bodies.at(1)), "x");
    channel.close();
    channel.runPendingTasks();
    ErrorCode error;
    bodies[1].read(error);
    EXPECT_EQ(error, fromErrno(ECONNABORTED));
}

}  // namespace
}  // namespace weft::http
