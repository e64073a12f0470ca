// Bodies: trailers in both directions, Expect: 100-continue, truncated bodies, answers without a body.
#include <weft/http/server_codec.hpp>

#include <gtest/gtest.h>

#include <string>

#include <weft/scheduler/log.hpp>

#include "pipeline/http/body_recorder.hpp"
#include "pipeline/http/codec_server.hpp"

namespace weft::http {
namespace {

using test::count;
using test::get;
using test::hello;
using test::Keeper;
using test::Server;
using test::StreamingServer;

const std::string chunkedPost = "POST /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
const std::string waitingPost = "POST /w HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n";

struct Quiet {
    Quiet() {
        setLogSink([](LogLevel, std::string_view) noexcept {});
    }
    ~Quiet() { setLogSink(nullptr); }
};

HeaderList fields(std::initializer_list<HeaderView> views) {
    HeaderList list;
    for (const HeaderView& view : views) list.add(view.name, view.value);
    return list;
}

// ---- trailers ----

TEST(ServerTrailers, ReceivedTrailersComeWithTheEndOfTheBody) {
    StreamingServer server;
    server.say(chunkedPost + "2\r\nab\r\n0\r\nX-Sum: 7 \r\nX-Empty:\r\n\r\n");
    EXPECT_EQ(server.got(), "/c (ab) end X-Sum=7 X-Empty=");
}

TEST(ServerTrailers, AFullRequestHasThem) {
    std::string seen;
    Server server([&](ChannelHandlerContext& ctx, FullRequest& request) {
        seen.append(request.body()).append(":").append(request.trailers().find("x-sum").value_or(""));
        EXPECT_EQ(request.header("X-Sum"), std::nullopt) << "a trailer is no header";
        hello(ctx, request);
    });
    server.say(chunkedPost + "2\r\nab\r\n0\r\nX-Sum: 7\r\n\r\n");
    server.say(chunkedPost + "1\r\nc\r\n0\r\n\r\n");
    EXPECT_EQ(seen, "ab:7c:");
}

TEST(ServerTrailers, AForbiddenOneIsRefused) {
    StreamingServer server;
    const std::string answer = server.say(chunkedPost + "1\r\na\r\n0\r\nContent-Length: 5\r\n\r\n" + get);
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 400 ")) << answer;
    EXPECT_EQ(count(answer, "HTTP/1.1 "), 1u);
    EXPECT_EQ(server.got(), "/c (a) cut: forbidden trailer");
}

TEST(ServerTrailers, SentTrailersFollowTheLastChunk) {
    Keeper keeper;
    Server server(keeper.keep());
    server.say(get + get);
    for (Responder& responder : keeper.waiting) {  // the second one waits for its turn
        BodyWriter body = responder.begin(Response(Status::ok));
        body.write(Buffer::copyOf("abc"));
        body.end(fields({{"X-Sum", "7"}, {"X-Time", "now"}}));
    }
    EXPECT_EQ(count(server.heard() + server.heard(), "3\r\nabc\r\n0\r\nX-Sum: 7\r\nX-Time: now\r\n\r\n"), 2u);
    EXPECT_TRUE(server.channel.active());
}

TEST(ServerTrailers, AreLeftOutWhereNoChunksAre) {
    Keeper keeper;
    Server server(keeper.keep());
    server.say("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    BodyWriter body = keeper.waiting[0].begin(Response(Status::ok));
    body.write(Buffer::copyOf("abc"));
    body.end(fields({{"X-Sum", "7"}}));
    EXPECT_TRUE(server.heard().ends_with("\r\n\r\nabc"));
}

TEST(ServerTrailers, OnesThatMayNotBeSentFailThePromiseAndTheBodyStillEnds) {
    const Quiet quiet;
    for (const HeaderView& bad :
         {HeaderView{"Content-Length", "5"}, HeaderView{"connection", "close"}, HeaderView{"Set-Cookie", "a"},
          HeaderView{"X-Split", "a\r\nb"}, HeaderView{"no token", "a"}, HeaderView{"", "a"}}) {
        Keeper keeper;
        Server server(keeper.keep());
        server.say(get);
        BodyWriter body = keeper.waiting[0].begin(Response(Status::ok));
        body.write(Buffer::copyOf("abc"));
        const ChannelPromise end = server.channel.channel().newPromise();
        body.end(fields({{"X-Sum", "7"}, bad}), end);
        EXPECT_TRUE(server.heard().ends_with("3\r\nabc\r\n0\r\n\r\n")) << bad.name;
        ASSERT_TRUE(end.done()) << bad.name;
        EXPECT_FALSE(end.future().success()) << bad.name;
        server.say(get);
        ASSERT_EQ(keeper.waiting.size(), 2u) << bad.name << ": the connection lives on";
        keeper.waiting[1].send(ok("more"));
        EXPECT_TRUE(server.heard().ends_with("\r\n\r\nmore")) << bad.name;
    }
}

// ---- Expect: 100-continue ----

TEST(ServerExpect, AHandlerSends100WhenItWantsTheBody) {
    StreamingServer server;
    EXPECT_EQ(server.say(waitingPost), "");
    Responder responder = server.responder();
    responder.sendInterim(Response(Status::continue_));
    EXPECT_EQ(server.heard(), "HTTP/1.1 100 Continue\r\n\r\n");
    server.say("abcd");
    EXPECT_EQ(server.got(), "/w (abcd) end");
    responder.send(ok("done"));
    const std::string answer = server.heard();
    EXPECT_TRUE(answer.ends_with("done"));
    EXPECT_EQ(count(answer, "Connection: close"), 0u);
    EXPECT_EQ(server.say(get), "");
    EXPECT_EQ(server.got(), "/a");
}

TEST(ServerExpect, AFinalAnswerInsteadOf100ClosesSinceTheBodyMayOrMayNotCome) {
    StreamingServer server;
    server.say(waitingPost);
    server.responder().send(error(Status::forbidden));
    const std::string answer = server.heard();
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 403 "));
    EXPECT_EQ(count(answer, "Connection: close\r\n"), 1u);
    server.got();
    EXPECT_EQ(server.say(get), "");
    EXPECT_EQ(server.got(), "") << "four bytes of body, or a request: nobody knows";
    server.channel.advanceTimeBy(std::chrono::seconds(3));
    EXPECT_FALSE(server.channel.active());
}

TEST(ServerExpect, AnotherInterimAnswerDecidesNothing) {
    StreamingServer server;
    server.say(waitingPost);
    Responder responder = server.responder();
    responder.sendInterim(Response(Status::earlyHints));
    responder.send(error(Status::forbidden));
    EXPECT_EQ(count(server.heard(), "Connection: close\r\n"), 1u);
}

TEST(ServerExpect, AClientThatDoesNotWaitKeepsItsConnection) {
    StreamingServer server;
    server.say(waitingPost + "ab");
    server.responder().send(ok("early"));
    EXPECT_EQ(count(server.heard(), "Connection: close"), 0u);
    server.say("cd" + get);
    EXPECT_EQ(server.got(), "/w (ab) (cd) end /a");
}

TEST(ServerExpect, AnHttp10ClientGetsNo100) {
    Server server(hello);
    const std::string answer = server.say("POST / HTTP/1.0\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\nab");
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 ")) << answer;
    StreamingServer streaming;
    streaming.say("POST / HTTP/1.0\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
    Responder responder = streaming.responder();
    responder.sendInterim(Response(Status::continue_));
    EXPECT_EQ(streaming.heard(), "");
    responder.send(ok("enough"));
}

TEST(ServerExpect, ABodyThatIsTooLargeIsRefusedWithout100) {
    Server server(hello, {}, 3);
    const std::string answer = server.say(waitingPost);
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 413 ")) << answer;
    EXPECT_EQ(count(answer, "Connection: close\r\n"), 1u);
}

// ---- truncated bodies ----

TEST(ServerBodyCut, D8_AMalformedChunkIsAnsweredAndTheHandlerHearsOfIt) {
    StreamingServer server;
    EXPECT_TRUE(server.say(chunkedPost + "3\r\nabc\r\nzz\r\n").starts_with("HTTP/1.1 400 "));
    EXPECT_EQ(server.got(), "/c (abc) cut: bad chunk size");
    server.responder().send(ok("too late"));
    EXPECT_EQ(server.heard(), "");
}

TEST(ServerBodyCut, AnAnswerThatHasBegunIsNotMixedWithA400) {
    StreamingServer server;
    server.say(chunkedPost + "3\r\nabc\r\n");
    BodyWriter body = server.responder().begin(Response(Status::ok));
    body.write(Buffer::copyOf("half"));
    server.heard();
    EXPECT_EQ(server.say("zz\r\n"), "");
    EXPECT_EQ(server.got(), "/c (abc) cut: bad chunk size");
    body.end();
    EXPECT_EQ(server.heard(), "0\r\n\r\n");
    server.channel.advanceTimeBy(std::chrono::seconds(3));
    EXPECT_FALSE(server.channel.active());
}

TEST(ServerBodyCut, TheEndOfInputInsideABodyTellsTheHandlerToo) {
    StreamingServer server;
    server.say(waitingPost + "ab");
    server.channel.channel().onEof();
    EXPECT_TRUE(server.heard().starts_with("HTTP/1.1 400 "));
    EXPECT_EQ(server.got(), "/w (ab) cut: the connection ended inside the body");
}

TEST(ServerBodyCut, AnAggregatedRequestWhoseBodyIsCutNeverComesOut) {
    int requests = 0;
    Server server([&](ChannelHandlerContext&, FullRequest&) { ++requests; });
    EXPECT_TRUE(server.say(chunkedPost + "3\r\nabc\r\nzz\r\n").starts_with("HTTP/1.1 400 "));
    EXPECT_EQ(requests, 0);
}

// ---- answers without a body ----

struct Bodiless {
    const char* request;
    Status status;
};

bool namesItsLength(Status status) {  // the length of the body that is left out
    return mayHaveContent(status) || status == Status::notModified;
}

const Bodiless bodiless[] = {{"HEAD / HTTP/1.1\r\nHost: x\r\n\r\n", Status::ok},
                             {"GET / HTTP/1.1\r\nHost: x\r\n\r\n", Status::noContent},
                             {"GET / HTTP/1.1\r\nHost: x\r\n\r\n", Status::resetContent},
                             {"GET / HTTP/1.1\r\nHost: x\r\n\r\n", Status::notModified}};

TEST(ServerBodiless, AWholeAnswerHasNoBodyAndTheNextOneFollowsAtOnce) {
    for (const auto& [request, status] : bodiless) {
        Server server([code = status](ChannelHandlerContext& ctx, FullRequest&) {
            ctx.writeAndFlush(Message(Response(code, Buffer::copyOf("four"), "text/plain")));
        });
        const std::string answers = server.say(std::string(request) + request);
        const std::size_t first = answers.find("\r\n\r\n");
        EXPECT_EQ(answers.substr(first + 4, 9), "HTTP/1.1 ") << answers;
        EXPECT_TRUE(answers.ends_with("\r\n\r\n")) << answers;
        EXPECT_EQ(count(answers, "Content-Length: 4\r\n"), namesItsLength(status) ? 2u : 0u) << answers;
    }
}

TEST(ServerBodiless, AStreamedAnswerLeavesItsPiecesOut) {
    for (const bool sized : {false, true}) {
        for (const auto& [request, status] : bodiless) {
            Keeper keeper;
            Server server(keeper.keep());
            server.say(std::string(request) + get);
            Response head(status);
            head.hasLength = sized;
            head.contentLength = sized ? 4 : 0;
            BodyWriter body = keeper.waiting[0].begin(std::move(head));
            const ChannelPromise piece = server.channel.channel().newPromise();
            body.write(Buffer::copyOf("four"), piece);
            body.end(fields({{"X-Sum", "7"}}));
            keeper.waiting[1].send(ok("next"));
            const std::string answers = server.heard();
            EXPECT_TRUE(piece.future().success());
            const bool head4 = sized && namesItsLength(status);
            EXPECT_EQ(count(answers, "Content-Length: 4\r\n"), head4 ? 2u : 1u) << answers;
            EXPECT_EQ(answers.substr(answers.find("\r\n\r\n") + 4, 15), "HTTP/1.1 200 OK") << answers;
            EXPECT_TRUE(answers.ends_with("\r\n\r\nnext")) << answers;
        }
    }
}

TEST(ServerBodiless, AnInterimAnswerHasNoBody) {
    StreamingServer server;
    server.say(get);
    Responder responder = server.responder();
    Response hints(Status::earlyHints, Buffer::copyOf("no"), "");
    hints.headers.add("Link", "</a>");
    responder.sendInterim(std::move(hints));
    EXPECT_EQ(server.heard(), "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n");
    responder.send(ok("yes"));
    EXPECT_TRUE(server.heard().ends_with("yes"));
}

}  // namespace
}  // namespace weft::http
