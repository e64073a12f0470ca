// How a connection ends (the peer's FIN, a drain, answers that close it), and which requests still get an answer.
#include <weft/http/server_codec.hpp>

#include <gtest/gtest.h>

#include <string>

#include <weft/pipeline/channel_events.hpp>
#include <weft/scheduler/log.hpp>

#include "pipeline/http/codec_server.hpp"
#include "pipeline/http/slow_peer.hpp"

namespace weft::http {
namespace {

using test::count;
using test::echo;
using test::get;
using test::hello;
using test::Keeper;
using test::post;
using test::Server;
using test::SlowPeer;

// Delivers the bytes and the end of the peer's output in one read cycle, without a flush point in between.
std::string sayAndEnd(Server& server, std::string_view bytes) {
    server.channel.channel().onMessage(Message(Buffer::copyOf(bytes)));
    server.channel.channel().onEof();
    return server.heard();
}

void startDrain(EmbeddedChannel& channel) {
    channel.pipeline().fireUserEventTriggered(Message(DrainStarted{}));
}

bool endsAfterLinger(Server& server) {
    server.channel.advanceTimeBy(std::chrono::seconds(3));
    return !server.channel.active();
}

BodyWriter beginOfLength(Responder& responder, std::uint64_t length) {
    Response head(Status::ok);
    head.hasLength = true;
    head.contentLength = length;
    return responder.begin(std::move(head));
}

TEST(ServerCodecEnd, ARequestAndTheEndOfInputInOneTurnAreAnswered) {
    Server server(hello);
    EXPECT_TRUE(sayAndEnd(server, get).ends_with("Hello, World!"));
    EXPECT_FALSE(server.channel.active());
}

TEST(ServerCodecEnd, ARequestWithABodyAndTheEndOfInputInOneTurnAreAnswered) {
    Server server(echo, {}, 100'000);
    EXPECT_TRUE(sayAndEnd(server, post(std::string(50'000, 'b'))).ends_with("bbb"));
    EXPECT_FALSE(server.channel.active());
}

TEST(ServerCodecEnd, TheEndOfInputAloneClosesAtOnce) {
    Server server(hello);
    server.say(get);
    EXPECT_EQ(sayAndEnd(server, ""), "");
    EXPECT_FALSE(server.channel.active());
}

TEST(ServerCodecEnd, RequestsThatWaitForRoomAreAnsweredAfterTheEndOfInputToo) {
    Keeper keeper;
    Server server(keeper.keep(), {.maxInFlight = 2, .inputEnd = InputEnd::answer});
    sayAndEnd(server, get + get + get + post("body") + get);
    for (std::size_t i = 0; i < 5; ++i) {
        ASSERT_GT(keeper.waiting.size(), i);
        keeper.waiting[i].send(ok(std::to_string(i)));
        EXPECT_TRUE(server.heard().ends_with(std::to_string(i))) << i;
    }
    EXPECT_FALSE(server.channel.active());
}

TEST(ServerCodecEnd, AnEndOfInputInsideABodyIsA400BehindTheAnswersBeforeIt) {
    Keeper keeper;
    Server server(keeper.keep(), {.inputEnd = InputEnd::answer});
    EXPECT_EQ(sayAndEnd(server, get + "POST /cut HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc"), "");
    ASSERT_EQ(keeper.waiting.size(), 1u);
    keeper.waiting[0].send(ok("whole"));
    const std::string answers = server.heard();
    EXPECT_LT(answers.find("whole"), answers.find("HTTP/1.1 400 "));
    EXPECT_EQ(count(answers, "HTTP/1.1 "), 2u);
    EXPECT_FALSE(server.channel.active());
}

TEST(ServerCodecEnd, AnEndOfInputInsideABodyKeepsTheAnswersOfTheSameTurn) {
    Server server(hello);
    const std::string answers =
        sayAndEnd(server, get + "POST /cut HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc");
    EXPECT_EQ(count(answers, "Hello, World!"), 1u);
    EXPECT_EQ(count(answers, "HTTP/1.1 400 "), 1u);
    EXPECT_FALSE(server.channel.active());
}

TEST(ServerCodecEnd, AStreamBegunBeforeTheEndOfInputIsSentAndThenTheConnectionCloses) {
    Keeper keeper;
    Server server(keeper.keep(), {.inputEnd = InputEnd::answer});
    server.say(get);
    BodyWriter body = keeper.waiting[0].begin(Response(Status::ok));
    server.heard();
    EXPECT_EQ(sayAndEnd(server, ""), "");
    body.write(Buffer::copyOf("rest"));
    body.end();
    EXPECT_TRUE(server.heard().ends_with("4\r\nrest\r\n0\r\n\r\n"));
    EXPECT_FALSE(server.channel.active());
}

TEST(ServerCodecEnd, TheEndOfInputCancelsTheRequestsThatAreNotAnswered) {
    Keeper keeper;
    Server server(keeper.keep());
    server.say(get + get);
    EXPECT_EQ(sayAndEnd(server, ""), "");
    EXPECT_FALSE(server.channel.active());
    const ChannelPromise late = server.channel.channel().newPromise();
    keeper.waiting[0].send(ok("late"), late);
    EXPECT_EQ(server.heard(), "");
    ASSERT_TRUE(late.done());
    EXPECT_FALSE(late.future().success());
}

TEST(ServerCodecEnd, WhatWasAnsweredIsSentBeforeTheEndOfInputCancelsTheRest) {
    Keeper keeper;
    Server server(keeper.keep());
    server.say(get + get + get);
    keeper.waiting[0].send(ok("whole"));
    keeper.waiting[2].send(ok("early"));  // has to wait for the second, which is never answered
    server.channel.channel().onEof();
    const std::string answers = server.heard();
    EXPECT_EQ(count(answers, "whole"), 1u);
    EXPECT_EQ(count(answers, "HTTP/1.1 "), 1u);
    EXPECT_FALSE(server.channel.active());
}

TEST(ServerCodecEnd, TheEndOfInputCutsAStreamThatIsOnItsWay) {
    Keeper keeper;
    Server server(keeper.keep());
    server.say(get);
    BodyWriter body = keeper.waiting[0].begin(Response(Status::ok));
    body.write(Buffer::copyOf("some"));
    server.channel.channel().onEof();
    EXPECT_TRUE(server.heard().ends_with("4\r\nsome\r\n"));
    EXPECT_FALSE(server.channel.active());
    body.end();
    EXPECT_EQ(server.heard(), "");
}

TEST(ServerCodecEnd, TheEndOfInputCancelsAtMaxInFlightAndInsideABodyToo) {
    for (const std::string& last :
         {get, std::string("POST /cut HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc")}) {
        Keeper keeper;
        Server server(keeper.keep(), {.maxInFlight = 2});
        EXPECT_EQ(sayAndEnd(server, get + last + get), "");
        EXPECT_FALSE(server.channel.active());
        EXPECT_LE(keeper.waiting.size(), 2u);
    }
}

TEST(ServerCodecEnd, AHandlerThatAnswersWhileItsConnectionIsCancelledIsTooLate) {
    struct LastWord final : ChannelInboundHandler {
        explicit LastWord(Keeper& keeper) : keeper_(keeper) {}
        void channelInactive(ChannelHandlerContext& ctx) override {
            for (Responder& responder : keeper_.waiting) responder.send(ok("bye"));
            ctx.fireChannelInactive();
        }
        Keeper& keeper_;
    };
    Keeper keeper;
    Server server(keeper.keep());
    server.channel.pipeline().addLast<LastWord>(keeper);
    server.say(get + get);
    server.channel.channel().onEof();
    server.channel.channel().onEof();
    EXPECT_EQ(server.heard(), "");
    EXPECT_FALSE(server.channel.active());
    EXPECT_TRUE(keeper.waiting[1].answered());
}

TEST(ServerCodecEnd, AnEndAfterARequestForAnotherProtocolCancelsNothing) {
    Keeper keeper;
    Server server(keeper.keep());
    sayAndEnd(server, "GET /chat HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: chat\r\n\r\n");
    ASSERT_EQ(keeper.waiting.size(), 1u);
    EXPECT_TRUE(server.channel.active());
    keeper.waiting[0].send(ok("no"));
    EXPECT_TRUE(server.heard().ends_with("no"));
    EXPECT_FALSE(server.channel.active());
}

TEST(ServerCodecEnd, AStreamThatBreaksItsPromiseKeepsTheAnswersBeforeIt) {
    setLogSink([](LogLevel, std::string_view) noexcept {});
    Keeper keeper;
    Server server(keeper.keep());
    server.say(get + get + get);
    BodyWriter body = beginOfLength(keeper.waiting[1], 10);
    body.write(Buffer::copyOf("short"));
    body.end();
    keeper.waiting[0].send(ok("whole"));
    const std::string answers = server.heard();
    EXPECT_LT(answers.find("whole"), answers.find("short"));
    keeper.waiting[2].send(ok("never"));
    EXPECT_EQ(server.heard(), "");
    EXPECT_TRUE(endsAfterLinger(server));
    setLogSink(nullptr);
}

TEST(ServerCodecEnd, ABrokenStreamFailsTheEarlyPromisesBehindIt) {
    setLogSink([](LogLevel, std::string_view) noexcept {});
    Keeper keeper;
    Server server(keeper.keep());
    server.say(get + get);
    BodyWriter body = beginOfLength(keeper.waiting[1], 3);
    body.write(Buffer::copyOf("longer"));
    const ChannelPromise last = server.channel.channel().newPromise();
    body.end(last);
    keeper.waiting[0].send(ok("whole"));
    server.heard();
    ASSERT_TRUE(last.done());
    EXPECT_FALSE(last.future().success());
    setLogSink(nullptr);
}

TEST(ServerCodecEnd, NothingIsReadBehindARequestWhoseEarlyAnswerEndsTheConnection) {
    Keeper keeper;
    Server server(keeper.keep(), {}, 4);
    const std::string tooLarge =
        "POST /b HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
    EXPECT_EQ(server.say(get + tooLarge + get + get), "");
    ASSERT_EQ(keeper.waiting.size(), 1u);
    server.say(get);
    ASSERT_EQ(keeper.waiting.size(), 1u);
    keeper.waiting[0].send(ok("first"));
    const std::string answers = server.heard();
    EXPECT_LT(answers.find("first"), answers.find("HTTP/1.1 413 "));
    EXPECT_EQ(count(answers, "HTTP/1.1 "), 2u);
    EXPECT_TRUE(endsAfterLinger(server));
}

TEST(ServerCodecEnd, AStreamedAnswerThatEndsTheConnectionStillHearsItsOwnBody) {
    struct BodyEcho final : ChannelInboundHandler {
        void channelRead(ChannelHandlerContext& ctx, Message&& message) override {
            if (message.is<Request>()) {
                Response head(Status::ok);
                head.streamed = true;
                head.keepAlive = false;
                ctx.write(Message(std::move(head)));
            } else {
                ctx.write(std::move(message));
            }
            ctx.flush();
        }
    };
    EmbeddedChannel channel;
    channel.pipeline().addLast<ServerCodec>().addLast<BodyEcho>();
    channel.writeInbound(Buffer::copyOf("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nab"));
    channel.writeInbound(Buffer::copyOf("cd" + get));
    const std::string answer = channel.readOutboundText();
    EXPECT_TRUE(answer.ends_with("2\r\nab\r\n2\r\ncd\r\n0\r\n\r\n")) << answer;
}

TEST(ServerCodecEnd, DrainAnswersWhatHasBegunWithConnectionCloseAndThenCloses) {
    Keeper keeper;
    Server server(keeper.keep());
    server.say(get + get);
    startDrain(server.channel);
    server.say(get);
    ASSERT_EQ(keeper.waiting.size(), 2u);
    keeper.waiting[0].send(ok("a"));
    EXPECT_EQ(count(server.heard(), "Connection: close"), 0u);
    keeper.waiting[1].send(ok("b"));
    EXPECT_EQ(count(server.heard(), "Connection: close"), 1u);
    EXPECT_TRUE(endsAfterLinger(server));
}

// Closing with an unread request would reset the connection of a client that sent it in good faith.
TEST(ServerCodecEnd, DrainEndsAnIdleConnectionAfterOneMorePollAndReadsOnToThePeersEnd) {
    Server server(hello);
    server.say(get);
    startDrain(server.channel);
    EXPECT_EQ(server.heard(), "");
    EXPECT_EQ(server.say(get), "");  // too late: not answered
    EXPECT_TRUE(server.channel.active());
    server.channel.channel().onEof();
    server.heard();
    EXPECT_FALSE(server.channel.active());
}

TEST(ServerCodecEnd, DrainDoesNotWaitLongForTheEndOfAnIdlePeer) {
    Server server(hello);
    server.say(get);
    startDrain(server.channel);
    EXPECT_EQ(server.heard(), "");
    EXPECT_TRUE(endsAfterLinger(server));
}

TEST(ServerCodecEnd, DrainAnswersWhatTheKernelHadAlreadyReceived) {
    Server server(hello);
    server.say(get);
    startDrain(server.channel);
    const std::string answer = server.say(get);  // arrives with the poll, before the tasks of its turn run
    EXPECT_EQ(count(answer, "Hello, World!"), 1u);
    EXPECT_EQ(count(answer, "Connection: close\r\n"), 1u);
    EXPECT_TRUE(endsAfterLinger(server));
}

TEST(ServerCodecEnd, DrainAnswersAllRequestsInTheKernelAndOnlyTheLastSaysClose) {
    Server server(hello);
    startDrain(server.channel);
    const std::string answers = server.say(get + get + get);
    EXPECT_EQ(count(answers, "Hello, World!"), 3u);
    EXPECT_EQ(count(answers, "Connection: close\r\n"), 1u);
    EXPECT_GT(answers.find("Connection: close\r\n"), answers.rfind("HTTP/1.1 200 OK"));
}

TEST(ServerCodecEnd, ADrainInTheTurnOfAnAnswerLosesNothingOfIt) {
    Server server(hello);
    server.channel.channel().onMessage(Message(Buffer::copyOf(get)));
    server.channel.channel().onReadComplete();
    startDrain(server.channel);
    EXPECT_TRUE(server.heard().ends_with("Hello, World!"));
}

TEST(ServerCodecEnd, AStreamBegunBeforeTheDrainIsSentAndThenTheConnectionCloses) {
    Keeper keeper;
    Server server(keeper.keep());
    server.say(get);
    BodyWriter body = keeper.waiting[0].begin(Response(Status::ok));
    server.heard();
    startDrain(server.channel);
    body.write(Buffer::copyOf("rest"));
    body.end();
    EXPECT_TRUE(server.heard().ends_with("4\r\nrest\r\n0\r\n\r\n"));
    EXPECT_TRUE(endsAfterLinger(server));
}

TEST(ServerCodecEnd, ADrainClosesOnlyWhenASlowReaderHasTakenItsAnswers) {
    SlowPeer peer(echo);
    peer.send(post(std::string(100'000, '#')));
    peer.deliver();
    peer.channel.pipeline().fireUserEventTriggered(Message(DrainStarted{}));
    peer.channel.run();
    while (peer.received().size() < 100'000) {
        ASSERT_TRUE(peer.channel->open());
        ASSERT_EQ(peer.channel.sink->count("shutdownOutput"), 0u);
        peer.take(2'000);
    }
    peer.takeAll();
    EXPECT_EQ(count(peer.received(), "#"), 100'000u);
    EXPECT_EQ(peer.channel.sink->count("shutdownOutput"), 1u);
}

TEST(ServerCodecEnd, TheEndOfInputClosesOnlyWhenASlowReaderHasTakenItsAnswers) {
    SlowPeer peer(echo);
    peer.send(post(std::string(100'000, '#')));
    peer.deliver();
    peer.channel->onEof();
    peer.channel.run();
    while (peer.received().size() < 100'000) {
        ASSERT_TRUE(peer.channel->open());
        peer.take(2'000);
    }
    peer.takeAll();
    EXPECT_EQ(count(peer.received(), "#"), 100'000u);
    EXPECT_FALSE(peer.channel->open());
}

TEST(ServerCodecEnd, ADrainOfASlowReaderAnswersOneMoreOfTheRequestsThatItHasReadAndSaysSo) {
    SlowPeer peer(echo);
    for (int i = 0; i < 6; ++i) peer.send(post(std::string(40'000, '#')));
    peer.deliver();
    EXPECT_GT(peer.unread(), 0u) << "the server has not stopped reading";
    peer.channel.pipeline().fireUserEventTriggered(Message(DrainStarted{}));
    peer.deliver();
    peer.takeAll();
    EXPECT_EQ(count(peer.received(), "#") % 40'000, 0u);
    EXPECT_EQ(count(peer.received(), "Connection: close\r\n"), 1u);
    EXPECT_EQ(peer.channel.sink->count("shutdownOutput"), 1u);
    EXPECT_EQ(peer.unread(), 0u) << "what nobody answers is read all the same, against a reset";
}

}  // namespace
}  // namespace weft::http
