// Bodies that servers and clients read while they arrive.
#include <weft/http/body_streamer.hpp>

#include <gtest/gtest.h>

#include <deque>
#include <string>

#include <weft/http/client_codec.hpp>

#include "pipeline/http/streamed_server.hpp"
#include "support/loop_without_io.hpp"

namespace weft::http {
namespace {

using test::chunkedPost;
using test::count;
using test::get;
using test::Keeping;
using test::readAvailable;
using test::StreamedServer;

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

TEST(BodyStreamer, ATruncatedBodyReportsTheErrorAfterItsReceivedData) {
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

TEST(BodyReaderFiber, AFiberParksUntilAPieceComesAndTheClientIsToldToGoOn) {
    weft::test::LoopWithoutIo loop;
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
        explicit Kept(std::deque<BodyReader>& bodies) : bodies(bodies) {}
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
