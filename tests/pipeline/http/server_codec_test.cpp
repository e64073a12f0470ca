#include <weft/http/server_codec.hpp>

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include <weft/http/object_aggregator.hpp>
#include <weft/scheduler/log.hpp>

#include "pipeline/http/codec_server.hpp"
#include "pipeline/scripted_sink.hpp"

namespace weft::http {
namespace {

using test::Application;
using test::count;
using test::get;
using test::hello;
using test::Keeper;
using test::Server;

TEST(ServerCodec, AnswersAGetWithDateServerAndLength) {
    Server server(hello, {.serverName = "weft"});
    const std::string answer = server.say(get);
    EXPECT_EQ(answer.substr(0, 17), "HTTP/1.1 200 OK\r\n");
    EXPECT_NE(answer.find("Server: weft\r\n"), std::string::npos);
    EXPECT_NE(answer.find("Date: "), std::string::npos);
    EXPECT_NE(answer.find("Content-Length: 13\r\n"), std::string::npos);
    EXPECT_TRUE(answer.ends_with("\r\n\r\nHello, World!"));
    EXPECT_TRUE(server.channel.active());
}

// Of the bytes that leave at one flush point, in five turns: the largest number.
std::size_t runsOfSixteenAnswers(const ServerCodecOptions& options) {
    weft::test::ScriptedChannel channel;
    channel.pipeline().addLast<ServerCodec>(options).addLast<ObjectAggregator>().addLast<Application>(hello);
    channel.start();
    std::string requests;
    for (int i = 0; i < 16; ++i) requests += get;
    for (std::size_t turn = 1; turn <= 5; ++turn) {
        channel->onLastRead(Buffer::copyOf(requests));
        channel.run();
        EXPECT_EQ(channel.sink->count("flush"), turn);
        EXPECT_EQ(count(std::exchange(channel.sink->written, {}), "Hello, World!"), 16u);
    }
    return channel.sink->mostPieces;
}

TEST(ServerCodec, D8_SixteenPipelinedRequestsAreAnsweredInOnePiece) {
    EXPECT_EQ(runsOfSixteenAnswers({}), 1u);
}

TEST(ServerCodec, D8_LongAnswersOfATurnAreInOnePiece) {
    EXPECT_EQ(runsOfSixteenAnswers({.serverName = std::string(200, 's')}), 1u);
}

TEST(ServerCodec, GivesTheSameAnswerHoweverTheBytesAreCut) {
    const std::string bytes =
        "POST /e HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n" + get;
    const auto echo = [](ChannelHandlerContext& ctx, FullRequest& request) {
        ctx.writeAndFlush(Message(ok(std::string(request.path()) + ":" + std::string(request.body()))));
    };
    for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
        Server server(echo);
        std::string answer = server.say(bytes.substr(0, cut));
        answer += server.say(bytes.substr(cut));
        EXPECT_NE(answer.find("/e:hello"), std::string::npos) << cut;
        EXPECT_TRUE(answer.ends_with("/a:")) << cut;
    }
}

TEST(ServerCodec, AnswersGivenOutOfOrderLeaveInTheOrderOfTheRequests) {
    Keeper keeper;
    Server server(keeper.keep());
    EXPECT_EQ(server.say(get + get + get), "");
    ASSERT_EQ(keeper.waiting.size(), 3u);
    keeper.waiting[2].send(ok("third"));
    EXPECT_EQ(server.heard(), "");
    keeper.waiting[0].send(ok("first"));
    const std::string first = server.heard();
    EXPECT_TRUE(first.ends_with("first"));
    keeper.waiting[1].send(ok("second"));
    const std::string rest = server.heard();
    EXPECT_LT(rest.find("second"), rest.find("third"));
}

TEST(ServerCodec, APipelineThatDeepensDuringTheConnectionKeepsItsOrder) {
    Keeper keeper;
    Server server(keeper.keep(), {.maxInFlight = 64});
    const auto answerAllFromTheBack = [&](int requests) {
        std::string bytes;
        std::string expected;
        for (int i = 0; i < requests; ++i) {
            const bool head = i % 2 == 0;  // answered without a body
            bytes += head ? "HEAD /a HTTP/1.1\r\nHost: x\r\n\r\n" : get;
            if (!head) expected += "[" + std::to_string(i) + "]";
        }
        server.channel.writeInbound(Buffer::copyOf(bytes));
        for (int i = requests; i-- > 0;)
            keeper.waiting[static_cast<std::size_t>(i)].send(ok("[" + std::to_string(i) + "]"));
        keeper.waiting.clear();
        const std::string answers = server.heard();
        std::string bodies;
        for (std::size_t at = answers.find('['); at != std::string::npos; at = answers.find('[', at + 1))
            bodies += answers.substr(at, answers.find(']', at) + 1 - at);
        EXPECT_EQ(bodies, expected);
    };
    for (const int requests : {1, 1, 1, 3, 1, 20, 1, 50}) answerAllFromTheBack(requests);
}

TEST(ServerCodec, ServersWithDifferentOptionsOnOneThreadKeepTheirOwn) {
    Server first(hello, {.serverName = "first"});
    Server second(hello, {.serverName = "second"});
    Server third(hello, {.limits = {.requestLineBytes = 20}, .serverName = "second"});
    EXPECT_NE(first.say(get).find("Server: first\r\n"), std::string::npos);
    EXPECT_NE(second.say(get).find("Server: second\r\n"), std::string::npos);
    EXPECT_EQ(third.say("GET /a-longer-target HTTP/1.1\r\nHost: x\r\n\r\n").substr(0, 12), "HTTP/1.1 414");
}

TEST(ServerCodec, StopsReadingAtMaxInFlightAndGoesOnAfterAnAnswer) {
    Keeper keeper;
    Server server(keeper.keep(), {.maxInFlight = 2});
    server.say(get + get + get + get);
    EXPECT_EQ(keeper.waiting.size(), 2u);
    keeper.waiting[0].send(ok("1"));
    server.heard();
    EXPECT_EQ(keeper.waiting.size(), 3u);
    for (auto& responder : keeper.waiting) {
        if (!responder.answered()) responder.send(ok("n"));
    }
    server.heard();
    ASSERT_EQ(keeper.waiting.size(), 4u);
    keeper.waiting[3].send(ok("4"));
    EXPECT_TRUE(server.heard().ends_with("4"));
}

TEST(ServerCodec, ADroppedResponderAnswers500) {
    Keeper keeper;
    Server server(keeper.keep());
    server.say(get);
    keeper.waiting.clear();
    EXPECT_TRUE(server.heard().starts_with("HTTP/1.1 500 "));
}

TEST(ServerCodec, AHandlerThatThrowsAnswers500AndTheConnectionGoesOn) {
    int requests = 0;
    Server server([&](ChannelHandlerContext& ctx, FullRequest& request) {
        if (++requests == 1) throw std::runtime_error("dropped stitch");
        hello(ctx, request);
    });
    EXPECT_THROW(server.say(get + get), std::runtime_error);  // the exception also reached the tail
    const std::string answers = server.heard();
    EXPECT_TRUE(answers.starts_with("HTTP/1.1 500 "));
    EXPECT_TRUE(answers.ends_with("Hello, World!"));
}

TEST(ServerCodec, ARequestIsAnsweredOnce) {
    Keeper keeper;
    Server server(keeper.keep());
    server.say(get + get);
    keeper.waiting[0].send(ok("once"));
    EXPECT_THROW(keeper.waiting[0].send(ok("twice")), std::logic_error);
    Response again = ok("twice");
    detail::Tickets::set(again, 1);
    const ChannelPromise promise = server.channel.channel().newPromise();
    server.channel.channel().writeAndFlush(Message(std::move(again)), promise);
    EXPECT_TRUE(promise.done());
    EXPECT_EQ(count(server.heard(), "twice"), 0u);
    keeper.waiting[1].send(ok("b"));
}

TEST(ServerCodec, AMalformedRequestGets400AfterTheAnswersBeforeItAndTheConnectionCloses) {
    Keeper keeper;
    Server server(keeper.keep());
    EXPECT_EQ(server.say(get + "GET / HTTP/1.1\r\nHost : x\r\n\r\n" + get), "");
    ASSERT_EQ(keeper.waiting.size(), 1u);
    keeper.waiting[0].send(ok("good"));
    const std::string answer = server.heard();
    EXPECT_LT(answer.find("good"), answer.find("HTTP/1.1 400 "));
    EXPECT_NE(answer.find("Connection: close"), std::string::npos);
    EXPECT_EQ(count(answer, "HTTP/1.1 "), 2u);
    server.channel.advanceTimeBy(std::chrono::seconds(3));
    EXPECT_FALSE(server.channel.active());
}

TEST(ServerCodec, D8_ConnectionCloseIsHonouredAndLaterRequestsAreNotRead) {
    int requests = 0;
    Server server([&](ChannelHandlerContext& ctx, FullRequest& request) {
        ++requests;
        hello(ctx, request);
    });
    const std::string answer = server.say("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" + get);
    EXPECT_NE(answer.find("Connection: close\r\n"), std::string::npos);
    EXPECT_EQ(requests, 1);
    server.channel.advanceTimeBy(std::chrono::seconds(3));
    EXPECT_FALSE(server.channel.active());
}

TEST(ServerCodec, AfterTheLastAnswerThePeersEndClosesAtOnce) {
    Server server(hello);
    server.say("GET / HTTP/1.0\r\n\r\n");
    EXPECT_TRUE(server.channel.active());  // the server still reads, so that a reset does not lose the answer
    server.channel.channel().onEof();
    server.channel.runPendingTasks();
    EXPECT_FALSE(server.channel.active());
}

TEST(ServerCodec, Http10WithoutKeepAliveCloses) {
    Server server(hello);
    server.say("GET / HTTP/1.0\r\n\r\n");
    server.channel.advanceTimeBy(std::chrono::seconds(3));
    EXPECT_FALSE(server.channel.active());
}

TEST(ServerCodec, AHeadRequestGetsTheLengthButNoBody) {
    Server server(hello);
    const std::string answer = server.say("HEAD / HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_NE(answer.find("Content-Length: 13\r\n"), std::string::npos);
    EXPECT_TRUE(answer.ends_with("\r\n\r\n"));
}

TEST(ServerCodec, AStreamedResponseIsChunkedAndKeepsItsTurn) {
    Keeper keeper;
    Server server(keeper.keep());
    server.say(get + get);
    BodyWriter second = keeper.waiting[1].begin(Response(Status::ok));
    second.write(Buffer::copyOf("later"));
    second.end();
    BodyWriter first = keeper.waiting[0].begin(Response(Status::ok));
    first.write(Buffer::copyOf("ab"));
    first.write(Buffer::copyOf(std::string(2000, 'c')));
    EXPECT_EQ(count(server.heard(), "later"), 0u);
    first.end();
    const std::string rest = server.heard();
    EXPECT_TRUE(rest.starts_with("0\r\n\r\nHTTP/1.1 200 OK"));
    EXPECT_TRUE(rest.ends_with("5\r\nlater\r\n0\r\n\r\n"));
}

TEST(ServerCodec, AStreamOfAnotherLengthThanPromisedClosesTheConnection) {
    setLogSink([](LogLevel, std::string_view) noexcept {});
    Keeper keeper;
    Server server(keeper.keep());
    server.say(get);
    Response head(Status::ok);
    head.hasLength = true;
    head.contentLength = 10;
    BodyWriter body = keeper.waiting[0].begin(std::move(head));
    body.write(Buffer::copyOf("short"));
    body.end();
    EXPECT_TRUE(server.heard().ends_with("short"));
    server.channel.channel().onEof();
    server.channel.runPendingTasks();
    EXPECT_FALSE(server.channel.active());
    setLogSink(nullptr);
}

TEST(ServerCodec, ADroppedStreamClosesTheConnection) {
    Keeper keeper;
    Server server(keeper.keep());
    server.say(get);
    { BodyWriter body = keeper.waiting[0].begin(Response(Status::ok)); }
    server.heard();
    EXPECT_FALSE(server.channel.active());
}

TEST(ServerCodec, ABadResponseHeaderBecomes500AndFailsThePromise) {
    setLogSink([](LogLevel, std::string_view) noexcept {});
    Keeper keeper;
    Server server(keeper.keep());
    server.say(get);
    Response bad = ok("x");
    bad.headers.add("X-Split", "a\r\nSet-Cookie: b");
    const ChannelPromise promise = server.channel.channel().newPromise();
    keeper.waiting[0].send(std::move(bad), promise);
    EXPECT_TRUE(server.heard().starts_with("HTTP/1.1 500 "));
    EXPECT_FALSE(promise.future().success());
    setLogSink(nullptr);
}

TEST(ObjectAggregator, D8_RefusesAnAnnouncedBodyThatIsTooLargeWith413) {
    Server server(hello, {}, 10);
    EXPECT_TRUE(server.say("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 11\r\n\r\n").starts_with("HTTP/1.1 413 "));
}

TEST(ObjectAggregator, D8_RefusesAChunkedBodyThatGrowsTooLargeWith413) {
    Server server(hello, {}, 10);
    const std::string answer =
        server.say("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nb\r\nhello world\r\n0\r\n\r\n");
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 413 "));
    EXPECT_EQ(count(answer, "HTTP/1.1 "), 1u);
}

TEST(ObjectAggregator, D8_AnswersExpectContinueBeforeTheBody) {
    Server server(hello);
    EXPECT_EQ(server.say("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n"),
              "HTTP/1.1 100 Continue\r\n\r\n");
    EXPECT_TRUE(server.say("ab").starts_with("HTTP/1.1 200 "));
}

TEST(ObjectAggregator, AnswersAnUnknownExpectationWith417) {
    Server server(hello);
    EXPECT_TRUE(server.say("GET / HTTP/1.1\r\nHost: x\r\nExpect: cake\r\n\r\n").starts_with("HTTP/1.1 417 "));
}

TEST(Request, SplitsTheTarget) {
    Server server([](ChannelHandlerContext& ctx, FullRequest& request) {
        EXPECT_EQ(request.path(), "/sleep");
        EXPECT_EQ(request.query("ms"), "10");
        EXPECT_EQ(request.query("b"), "");
        EXPECT_EQ(request.query("m"), std::nullopt);
        EXPECT_EQ(request.header("hOST"), "x");
        hello(ctx, request);
    });
    EXPECT_NE(server.say("GET /sleep?a=1&ms=10&b HTTP/1.1\r\nHost: x\r\n\r\n"), "");
}

TEST(ServerCodec, AnAnswerThatAsksForACloseIsTheLast) {
    test::Server server([](ChannelHandlerContext& ctx, FullRequest&) {
        Response last = ok("bye");
        last.headers.add("Connection", "close");
        last.headers.add("Content-Length", "3");
        ctx.writeAndFlush(std::move(last));
    });
    const std::string said = server.say(test::get + test::get);
    EXPECT_EQ(test::count(said, "HTTP/1.1 200"), 1u) << said;
    EXPECT_EQ(test::count(said, "Connection: close\r\n"), 1u);
    EXPECT_EQ(test::count(said, "Content-Length: 3\r\n"), 1u);
}

TEST(ServerCodec, ALengthSetByHandIsCheckedForEachAnswer) {
    std::string body = "four";
    test::Server server([&](ChannelHandlerContext& ctx, FullRequest&) {
        Response response = ok(body);
        response.headers.add("Content-Length", "4");
        ctx.writeAndFlush(std::move(response));
    });
    EXPECT_TRUE(server.say(test::get).ends_with("four"));
    EXPECT_TRUE(server.say(test::get).ends_with("four"));
    body = "more than four";
    EXPECT_TRUE(server.say(test::get).starts_with("HTTP/1.1 500 ")) << "a head that is known does not hide it";
}

}  // namespace
}  // namespace weft::http
