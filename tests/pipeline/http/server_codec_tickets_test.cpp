// Which request an answer is for: the one that it names, else the one being delivered. Which body a Buffer is a piece
// of.
#include <weft/http/server_codec.hpp>

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include <weft/pipeline/handlers/chunked_input.hpp>
#include <weft/pipeline/handlers/chunked_write_handler.hpp>

#include "pipeline/http/body_recorder.hpp"
#include "pipeline/http/codec_server.hpp"
#include "pipeline/http/log_lines.hpp"

namespace weft::http {
namespace {

using test::count;
using test::get;
using test::Keeper;
using test::LogLines;
using test::post;
using test::Server;

std::string reasonOf(const ChannelPromise& promise) {
    if (!promise.done() || promise.future().success()) return "";
    try {
        std::rethrow_exception(promise.future().cause());
    } catch (const std::exception& error) {
        return error.what();
    }
}

Response streamedHead() {
    Response head(Status::ok);
    head.streamed = true;
    return head;
}

std::string named(std::string_view path) {
    return "GET " + std::string(path) + " HTTP/1.1\r\nHost: x\r\n\r\n";
}

// Keeps "/kept" requests as responders and answers the others with write(), as a Netty user does.
struct Mixed {
    Keeper keeper;
    ChannelHandlerContext* context = nullptr;
    Server server{[this](ChannelHandlerContext& ctx, FullRequest& request) {
        context = &ctx;
        if (request.path() == "/kept") return keeper.waiting.push_back(request.responder());
        ctx.writeAndFlush(ok("<" + std::string(request.path()) + ">"));
    }};
    ChannelPromise write(Message&& message) {
        ChannelPromise promise = context->newPromise();
        context->writeAndFlush(std::move(message), promise);
        return promise;
    }
};

// ---- answers ----

TEST(ServerTickets, AnAnswerWithoutATicketIsForTheRequestThatIsBeingDelivered) {
    const LogLines log;
    Mixed mixed;
    EXPECT_EQ(mixed.server.say(named("/kept") + named("/two") + named("/three")), "") << "the first is not answered";
    mixed.keeper.waiting.at(0).send(ok("<one>"));
    const std::string said = mixed.server.heard();
    EXPECT_EQ(count(said, "HTTP/1.1 200 OK"), 3u) << said;
    EXPECT_LT(said.find("<one>"), said.find("</two>"));
    EXPECT_LT(said.find("</two>"), said.find("</three>"));
    EXPECT_EQ(log.all(), "");
}

TEST(ServerTickets, OutsideOfADeliveryAnAnswerWithoutATicketFailsAndSaysWhatToDo) {
    Mixed mixed;
    mixed.server.say(named("/kept") + named("/kept"));
    const ChannelPromise promise = mixed.write(ok("whose?"));
    EXPECT_NE(
        reasonOf(promise).find("it names no request, and none is being delivered; to answer later, use the request's "
                               "responder() or response.to(request)"),
        std::string::npos)
        << reasonOf(promise);
    EXPECT_EQ(mixed.server.heard(), "");
    mixed.keeper.waiting.at(0).send(ok("<one>"));
    mixed.keeper.waiting.at(1).send(ok("<two>"));
    const std::string said = mixed.server.heard();
    EXPECT_EQ(count(said, "whose?"), 0u);
    EXPECT_LT(said.find("<one>"), said.find("<two>"));
}

TEST(ServerTickets, WithoutAPromiseTheRefusalIsLoggedAndNotForEachOfMany) {
    const LogLines log;
    Mixed mixed;
    mixed.server.say(named("/kept"));
    mixed.context->writeAndFlush(ok("whose?"));
    EXPECT_EQ(log.containing("channel " + std::to_string(mixed.server.channel.channel().id()) +
                             ": an HTTP response was refused: it names no request"),
              1u)
        << log.all();
    for (int i = 0; i < 1000; ++i) mixed.context->writeAndFlush(ok("whose?"));
    EXPECT_LT(log.size(), 500u);
    mixed.keeper.waiting[0].send(ok("mine"));
    EXPECT_EQ(count(mixed.server.heard(), "whose?"), 0u);
}

TEST(ServerTickets, AResponseThatNamesItsRequestMayBeWrittenAtAnyTime) {
    const LogLines log;
    std::vector<Response> answers;
    ChannelHandlerContext* context = nullptr;
    Server server([&](ChannelHandlerContext& ctx, FullRequest& request) {
        context = &ctx;
        answers.push_back(ok("<" + std::string(request.path()) + ">").to(request));
    });
    EXPECT_EQ(server.say(named("/1") + named("/2")), "");
    context->writeAndFlush(std::move(answers.at(1)));
    EXPECT_EQ(server.heard(), "");
    context->writeAndFlush(std::move(answers.at(0)));
    const std::string said = server.heard();
    EXPECT_EQ(count(said, "HTTP/1.1 200 OK"), 2u);
    EXPECT_LT(said.find("</1>"), said.find("</2>"));
    EXPECT_EQ(log.all(), "");
}

TEST(ServerTickets, ASecondAnswerInTheSameDeliveryIsRefused) {
    const LogLines log;
    ChannelPromise second;
    Server server([&](ChannelHandlerContext& ctx, FullRequest&) {
        ctx.writeAndFlush(ok("first"));
        second = ctx.newPromise();
        ctx.writeAndFlush(ok("second"), second);
    });
    const std::string said = server.say(get);
    EXPECT_TRUE(said.ends_with("first")) << said;
    EXPECT_NE(reasonOf(second), "");
    EXPECT_TRUE(server.say(get).ends_with("first")) << "the second did not stay for the next request";
}

TEST(ServerTickets, ADeliveryCountsOnlyOnItsOwnConnection) {
    const LogLines log;
    Mixed other;
    other.server.say(named("/kept"));
    ChannelPromise promise;
    Server server([&](ChannelHandlerContext& ctx, FullRequest&) {
        promise = other.write(ok("astray"));
        ctx.writeAndFlush(ok("home"));
    });
    EXPECT_TRUE(server.say(get).ends_with("home"));
    EXPECT_NE(reasonOf(promise), "");
    EXPECT_EQ(other.server.heard(), "");
    other.keeper.waiting[0].send(ok("right"));
    EXPECT_TRUE(other.server.heard().ends_with("right"));
}

// Answers when the body has arrived, without having kept the request.
TEST(ServerTickets, TheEndOfABodyIsADeliveryOfItsRequest) {
    struct Streaming final : ChannelInboundHandler {
        void channelRead(ChannelHandlerContext& ctx, Message&& message) override {
            if (message.is<Request>()) {
                bytes = 0;
                if (!message.take<Request>().hasBody()) ctx.writeAndFlush(ok("none"));
            } else if (message.is<Content>()) {
                bytes += message.get<Content>().data.readableBytes();
            } else if (message.is<LastContent>()) {
                message.reset();
                ctx.writeAndFlush(ok(std::to_string(bytes) + " bytes"));
            }
        }
        std::size_t bytes = 0;
    };
    const LogLines log;
    EmbeddedChannel channel;
    channel.pipeline().addLast<ServerCodec>().addLast<Streaming>();
    for (const char piece : post("hello") + get + post("")) channel.writeInbound(Buffer::copyOf({&piece, 1}));
    channel.runPendingTasks();
    const std::string said = channel.readOutboundText();
    EXPECT_EQ(count(said, "HTTP/1.1 200 OK"), 3u) << said;
    EXPECT_LT(said.find("5 bytes"), said.find("none"));
    EXPECT_EQ(log.all(), "");
}

// ---- pieces ----

std::string bodyOf(const std::string& said) {
    const std::size_t at = said.find("\r\n\r\n");
    return at == std::string::npos ? "no head: " + said : said.substr(at + 4);
}

TEST(ServerTickets, ABufferInsideABodyIsAPieceOfIt) {
    const LogLines log;
    for (const bool sized : {false, true}) {
        Server server([&](ChannelHandlerContext& ctx, FullRequest&) {
            Response head = streamedHead();
            head.hasLength = sized;
            head.contentLength = 8;
            ctx.write(std::move(head));
            ctx.write(Message(Buffer::copyOf("five5")));
            ctx.write(Message(Buffer::copyOf("thr")));
            ctx.writeAndFlush(Message(LastContent()));
        });
        const std::string said = server.say(get);
        EXPECT_EQ(bodyOf(said), sized ? "five5thr" : "5\r\nfive5\r\n3\r\nthr\r\n0\r\n\r\n");
        EXPECT_TRUE(server.say("HEAD / HTTP/1.1\r\nHost: x\r\n\r\n").ends_with("\r\n\r\n"));
        EXPECT_TRUE(server.channel.active());
    }
    EXPECT_EQ(log.all(), "");
}

TEST(ServerTickets, ABufferOutsideOfABodyIsRefused) {
    const LogLines log;
    Mixed mixed;
    mixed.server.channel.channel().writeAndFlush(Message(Buffer::copyOf("HTTP/1.1 200 OK\r\n\r\n")));
    EXPECT_EQ(mixed.server.heard(), "");
    EXPECT_EQ(log.containing("a Buffer was written to ServerCodec outside an HTTP body"), 1u) << log.all();
    mixed.server.say(named("/kept"));
    EXPECT_NE(reasonOf(mixed.write(Message(Buffer::copyOf("before the answer")))), "");
    mixed.keeper.waiting[0].send(ok("answer"));
    EXPECT_NE(reasonOf(mixed.write(Message(Buffer::copyOf("behind the answer")))), "");
    EXPECT_TRUE(mixed.server.heard().ends_with("\r\n\r\nanswer"));
    EXPECT_TRUE(mixed.server.say(named("/x")).ends_with("</x>")) << "the connection is as good as before";
}

TEST(ServerTickets, ABufferIsNoPieceOfWhatABodyWriterStreams) {
    const LogLines log;
    Mixed mixed;
    mixed.server.say(named("/kept"));
    BodyWriter writer = mixed.keeper.waiting[0].begin(Response(Status::ok));
    EXPECT_NE(reasonOf(mixed.write(Message(Buffer::copyOf("astray")))), "");
    EXPECT_NE(reasonOf(mixed.write(Message(Content{Buffer::copyOf("astray")}))), "");
    writer.write(Buffer::copyOf("mine"));
    writer.end();
    EXPECT_EQ(bodyOf(mixed.server.heard()), "4\r\nmine\r\n0\r\n\r\n");
}

// Two handlers have begun answers: outside their deliveries, a piece without a ticket could belong to either.
TEST(ServerTickets, APieceThatCouldBeOfTwoBodiesIsRefused) {
    const LogLines log;
    ChannelHandlerContext* context = nullptr;
    Server server([&](ChannelHandlerContext& ctx, FullRequest& request) {
        context = &ctx;
        ctx.write(streamedHead());
        ctx.write(Message(Buffer::copyOf(request.path())));
    });
    server.say(named("/1") + named("/2"));
    ChannelPromise unclear = context->newPromise();
    context->writeAndFlush(Message(Buffer::copyOf("whose?")), unclear);
    EXPECT_NE(reasonOf(unclear), "");
    context->writeAndFlush(Message(LastContent{1}));
    context->writeAndFlush(Message(Buffer::copyOf("now clear")));
    context->writeAndFlush(Message(LastContent()));
    const std::string said = server.heard();
    EXPECT_EQ(count(said, "whose?"), 0u);
    EXPECT_TRUE(said.ends_with("2\r\n/2\r\n9\r\nnow clear\r\n0\r\n\r\n")) << said;
    EXPECT_EQ(count(said, "2\r\n/1\r\n0\r\n\r\n"), 1u) << said;
}

// As in netty.md; the second answer waits in the handler until the first one's chunks have been sent.
TEST(ServerTickets, AChunkedInputBetweenAHeadAndItsEndIsTheBody) {
    struct Files final : SimpleInboundHandler<FullRequest> {
        void channelRead0(ChannelHandlerContext& ctx, FullRequest request) override {
            ctx.write(streamedHead().to(request));
            ctx.write(
                chunked<ChunkedStream>(std::make_unique<std::istringstream>(std::string(100'000, request.path()[1]))));
            ctx.writeAndFlush(Message(LastContent()));
        }
    };
    const LogLines log;
    EmbeddedChannel channel;
    channel.pipeline()
        .addLast<ServerCodec>()
        .addLast<ChunkedWriteHandler>()
        .addLast<ObjectAggregator>()
        .addLast<Files>();
    channel.writeInbound(Buffer::copyOf(named("/a") + named("/b")));
    std::string said;
    for (int turn = 0; turn < 50; ++turn) {
        channel.runPendingTasks();
        said += channel.readOutboundText();
    }
    EXPECT_EQ(count(said, "HTTP/1.1 200 OK"), 2u) << said.substr(0, 500);
    EXPECT_GE(count(said, "a"), 100'000u);
    EXPECT_GE(count(said, "b"), 100'000u);
    EXPECT_EQ(count(said, "\r\n0\r\n\r\n"), 2u);
    EXPECT_TRUE(said.ends_with("\r\n0\r\n\r\n"));
    EXPECT_EQ(log.all(), "");
}

TEST(ServerTickets, BehindAGrantedUpgradeBuffersAreTheNextProtocols) {
    const LogLines log;
    Server server([](ChannelHandlerContext& ctx, FullRequest&) {
        ctx.write(switchTo("shout"));
        ctx.writeAndFlush(Message(Buffer::copyOf("HELLO")));
    });
    const std::string said = server.say("GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: shout\r\n\r\n");
    EXPECT_TRUE(said.starts_with("HTTP/1.1 101 ")) << said;
    EXPECT_TRUE(said.ends_with("\r\n\r\nHELLO")) << said;
    EXPECT_EQ(log.all(), "");
}

}  // namespace
}  // namespace weft::http
