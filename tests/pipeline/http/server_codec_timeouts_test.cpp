// How long a server waits for a client: for heads, bodies, idle connections, and clients that accept no answer. A fast
// client costs no timer.
#include <weft/http/server_codec.hpp>

#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>
#include <string>

#include <weft/pipeline/channel_option.hpp>
#include <weft/pipeline/codec/byte_to_message_decoder.hpp>

#include "pipeline/http/body_recorder.hpp"
#include "pipeline/http/codec_server.hpp"
#include "pipeline/http/slow_peer.hpp"

namespace weft::http {
namespace {

using namespace std::chrono_literals;
using test::count;
using test::get;
using test::hello;
using test::Keeper;
using test::post;
using test::Server;
using test::SlowPeer;
using test::StreamingServer;

const ServerCodecOptions limits{.timeouts = {.head = 10s, .body = 20s, .bodyRate = 100, .idle = 100s, .stall = 50s}};

// Advances the time in small steps.
void pass(EmbeddedChannel& channel, Duration time) {
    for (const Duration step = 100ms; time > Duration::zero(); time -= step)
        channel.advanceTimeBy(std::min(step, time));
}

bool endedAfterAnswer(EmbeddedChannel& channel) {
    pass(channel, 3s);
    return !channel.active();
}

TEST(ServerCodecTimeouts, AHeadThatDoesNotEndIs408AfterItsTimeAndNotBefore) {
    Server server(hello, limits);
    server.say(get);
    server.say("GET / HTTP/1.1\r\nHo");
    pass(server.channel, 9s);
    EXPECT_EQ(server.heard(), "");
    server.say("st: x\r\n");  // a trickle of bytes does not extend the timeout
    pass(server.channel, 900ms);
    EXPECT_EQ(server.heard(), "");
    pass(server.channel, 200ms);
    const std::string answer = server.heard();
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 408 ")) << answer;
    EXPECT_EQ(count(answer, "Connection: close\r\n"), 1u);
    EXPECT_TRUE(endedAfterAnswer(server.channel));
}

TEST(ServerCodecTimeouts, TheTimeoutOfAHeadEndsWithTheHead) {
    Server server(hello, limits);
    server.say("GET / HTTP/1.1\r\nHo");
    pass(server.channel, 9s);
    EXPECT_EQ(count(server.say("st: x\r\n\r\nGET /b HTT"), "Hello, World!"), 1u);
    pass(server.channel, 9s);
    EXPECT_EQ(count(server.say("P/1.1\r\nHost: x\r\n\r\n"), "Hello, World!"), 1u)
        << "the second has its own ten seconds";
    pass(server.channel, 20s);
    EXPECT_TRUE(server.channel.active());
}

TEST(ServerCodecTimeouts, A408WaitsForItsTurn) {
    Keeper keeper;
    Server server(keeper.keep(), limits);
    server.say(get + "GET / HTTP/1.1\r\n");
    pass(server.channel, 11s);
    EXPECT_EQ(server.heard(), "");
    keeper.waiting[0].send(ok("first"));
    const std::string answers = server.heard();
    EXPECT_LT(answers.find("first"), answers.find("HTTP/1.1 408 "));
    EXPECT_TRUE(endedAfterAnswer(server.channel));
}

// The shorter of the two limits applies, counted from the start of the connection.
TEST(ServerCodecTimeouts, ASilentConnectionIsClosedWithoutAnAnswerAtTheHeadTimeout) {
    for (const Duration idle : {Duration(100s), Duration(4s), Duration(0s)}) {
        ServerCodecOptions options = limits;
        options.timeouts.idle = idle;
        Server server(hello, options);
        const Duration limit = idle == 4s ? idle : limits.timeouts.head;
        pass(server.channel, limit - 100ms);
        EXPECT_TRUE(server.channel.active());
        pass(server.channel, 200ms);
        EXPECT_EQ(server.channel.readOutboundText(), "");
        EXPECT_FALSE(server.channel.active());
    }
}

TEST(ServerCodecTimeouts, WithoutAHeadTimeoutASilentConnectionIsIdle) {
    ServerCodecOptions options = limits;
    options.timeouts.head = 0s;
    Server server(hello, options);
    pass(server.channel, 99s);
    EXPECT_TRUE(server.channel.active());
    pass(server.channel, 2s);
    EXPECT_FALSE(server.channel.active());
}

TEST(ServerCodecTimeouts, TheFirstHeadHasItsTimeFromTheBeginningOfTheConnection) {
    Server server(hello, limits);
    pass(server.channel, 9s);
    EXPECT_EQ(server.say("GET / HT"), "");
    pass(server.channel, 900ms);
    EXPECT_EQ(server.heard(), "");
    pass(server.channel, 200ms);
    EXPECT_TRUE(server.heard().starts_with("HTTP/1.1 408 "));
    EXPECT_TRUE(endedAfterAnswer(server.channel));
}

TEST(ServerCodecTimeouts, AConnectionThatIsNotReadIsNotLateWithItsFirstByte) {
    EmbeddedChannel channel;
    channel.channel().setOption(ChannelOption::AUTO_READ, false);
    channel.pipeline().addLast<ServerCodec>(limits);
    pass(channel, 300s);
    EXPECT_TRUE(channel.active());
    channel.channel().read();
    pass(channel, 11s);
    EXPECT_FALSE(channel.active());
}

TEST(ServerCodecTimeouts, ABodyThatDoesNotComeIs408) {
    StreamingServer server(limits);
    server.say("POST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n\r\nab");
    pass(server.channel, 19900ms);
    EXPECT_EQ(server.heard(), "");
    pass(server.channel, 200ms);
    EXPECT_TRUE(server.heard().starts_with("HTTP/1.1 408 "));
    EXPECT_EQ(server.got(), "/b (ab) cut: the request body arrived too slowly");
    EXPECT_TRUE(endedAfterAnswer(server.channel));
}

TEST(ServerCodecTimeouts, ABodyThatComesAtTheRateMayLastAndASlowerOneMayNot) {
    for (const std::size_t rate : {110u, 90u}) {
        StreamingServer server(limits);
        server.say("POST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 50000\r\n\r\n");
        for (std::size_t sent = 0; sent < 50000 && server.channel.channel().open(); sent += rate) {
            const std::string answer = server.say(std::string(std::min(rate, 50000 - sent), 'b'));
            if (!answer.empty()) {
                EXPECT_TRUE(answer.starts_with("HTTP/1.1 408 ")) << answer;
                break;
            }
            pass(server.channel, 1s);
        }
        const bool whole = server.got().ends_with(" end");
        EXPECT_EQ(whole, rate == 110u) << "at " << rate << " bytes a second";
    }
}

TEST(ServerCodecTimeouts, ABodyWhoseRequestIsAnsweredIsGivenUpWithTheConnection) {
    StreamingServer server(limits);
    server.say("POST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n\r\nab");
    server.responder().send(ok("early"));
    EXPECT_TRUE(server.heard().ends_with("early"));
    pass(server.channel, 21s);
    EXPECT_EQ(server.heard(), "");
    EXPECT_TRUE(endedAfterAnswer(server.channel));
}

TEST(ServerCodecTimeouts, TimeInWhichTheServerItselfDoesNotReadDoesNotCount) {
    StreamingServer server(limits);
    server.channel.channel().setOption(ChannelOption::AUTO_READ, false);
    server.say("POST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nab");
    pass(server.channel, 300s);
    EXPECT_TRUE(server.channel.active());
    server.channel.channel().read();
    pass(server.channel, 19s);
    EXPECT_EQ(server.heard(), "");
    pass(server.channel, 2s);
    EXPECT_TRUE(server.heard().starts_with("HTTP/1.1 408 "));
}

// Consumes the first bytes and removes itself, which sends the codec the end of a cycle in the middle of one.
struct Preface final : ByteToMessageDecoder {
    void decode(ChannelHandlerContext& ctx, Buffer& input, DecoderOutput&) override {
        if (input.readableBytes() < 4) return;
        input.consumed(4);
        ctx.pipeline().remove(*this);
    }
};

TEST(ServerCodecTimeouts, AnIdleConnectionEndsAlsoIfAHandlerBeforeTheCodecHasLeftInAReadCycle) {
    for (int before = 0; before < 2; ++before) {  // the codec has seen the end of no cycle, or of one
        Server server(hello, limits);
        for (int i = 0; i < before; ++i) server.say(get);
        server.channel.pipeline().addFirst<Preface>();
        EXPECT_EQ(count(server.say("PRE\n" + get), "200 OK"), 1u);
        EXPECT_EQ(count(server.say(get), "200 OK"), 1u);
        pass(server.channel, 300s);
        EXPECT_FALSE(server.channel.active()) << before;
    }
}

TEST(ServerCodecTimeouts, RequestsThatWaitForTheServerDoNotTimeOut) {
    Keeper keeper;
    ServerCodecOptions options = limits;
    options.maxInFlight = 1;
    Server server(keeper.keep(), options);
    server.say(get + get + "GET / HTT");
    pass(server.channel, 300s);
    EXPECT_TRUE(server.channel.active());
    keeper.waiting[0].send(ok("1"));
    server.heard();
    ASSERT_EQ(keeper.waiting.size(), 2u);
    pass(server.channel, 300s);
    EXPECT_TRUE(server.channel.active());
    keeper.waiting[1].send(ok("2"));
    pass(server.channel, 11s);
    EXPECT_EQ(count(server.heard(), "HTTP/1.1 408 "), 1u) << "now the rest of the third is due";
}

// At least the limit and at most a tenth more, wherever in the interval between two checks the last request arrives.
TEST(ServerCodecTimeouts, AnIdleConnectionIsClosedInTime) {
    for (const Duration phase : {0s, 1s, 5s, 9s, 12s, 40s, 97s}) {
        Server server(hello, limits);
        server.say(get);
        pass(server.channel, phase);
        EXPECT_NE(server.say(get), "");
        Duration idle{};
        for (; server.channel.active() && idle < 300s; idle += 100ms) pass(server.channel, 100ms);
        EXPECT_GE(idle, 100s) << "phase " << phase.count();
        EXPECT_LE(idle, 111s) << "phase " << phase.count();
        EXPECT_EQ(server.channel.readOutboundText(), "");
    }
}

TEST(ServerCodecTimeouts, AConnectionWithARequestNowAndThenLives) {
    Server server(hello, limits);
    for (int i = 0; i < 20; ++i) {
        ASSERT_NE(server.say(get), "") << i;
        pass(server.channel, 95s);
    }
    EXPECT_TRUE(server.channel.active());
}

TEST(ServerCodecTimeouts, ARequestInProgressHasNoTimeout) {
    Keeper keeper;
    Server server(keeper.keep(), limits);
    server.say(get);
    pass(server.channel, 1000s);
    ASSERT_TRUE(server.channel.active());
    keeper.waiting[0].send(ok("at last"));
    EXPECT_TRUE(server.heard().ends_with("at last"));
    pass(server.channel, 99s);
    EXPECT_TRUE(server.channel.active()) << "it is idle only since then";
    pass(server.channel, 20s);
    EXPECT_FALSE(server.channel.active());
}

void passAt(SlowPeer& peer, Duration time) {
    for (const Duration step = 100ms; time > Duration::zero(); time -= step) {
        peer.channel.clock.advance(std::min(step, time));
        peer.channel.run();
    }
}

TEST(ServerCodecTimeouts, AClientThatTakesNothingOfItsAnswerIsClosedAndOneThatTakesALittleIsNot) {
    SlowPeer peer(test::echo, limits);
    peer.send(post(std::string(100'000, '#')));
    peer.deliver();
    for (int i = 0; i < 20; ++i) {
        passAt(peer, 40s);
        ASSERT_TRUE(peer.channel->open()) << i;
        peer.take(1'000);
    }
    passAt(peer, 44s);
    EXPECT_TRUE(peer.channel->open());
    passAt(peer, 12s);
    EXPECT_FALSE(peer.channel->open());
}

TEST(ServerCodecTimeouts, ZeroIsNoLimit) {
    Server server(hello, {.timeouts = {.head = 0s, .body = 0s, .idle = 0s, .stall = 0s}});
    server.channel.advanceTimeBy(std::chrono::hours(1000));
    server.say("POST / HTTP/1.1\r\n");
    server.channel.advanceTimeBy(std::chrono::hours(1000));
    server.say("Host: x\r\nContent-Length: 2\r\n\r\n");
    server.channel.advanceTimeBy(std::chrono::hours(1000));
    EXPECT_TRUE(server.say("ab").ends_with("Hello, World!"));
    EXPECT_EQ(server.channel.loop().timers().size(), 0u);
}

// A thousand whole requests: the connection's only timer does not move.
TEST(ServerCodecTimeouts, WholeRequestsTouchNoTimer) {
    Server server(hello, limits);
    server.say(get);
    const TimerWheel& timers = server.channel.loop().timers();
    const Deadline before = timers.earliest();
    for (int i = 0; i < 1000; ++i) {
        server.channel.clock().advance(1ms);
        server.say(get);
        ASSERT_EQ(timers.earliest(), before);
        ASSERT_EQ(timers.size(), 1u);
    }
}

TEST(ServerCodecTimeouts, AClosedConnectionLeavesNoTimer) {
    Server server(hello, limits);
    server.say("GET / HT");
    EXPECT_EQ(server.channel.loop().timers().size(), 1u);
    server.channel.close();
    server.channel.runPendingTasks();
    EXPECT_EQ(server.channel.loop().timers().size(), 0u);
}

TEST(ServerCodecTimeouts, NamesTheLimitThatIsOutOfRange) {
    try {
        ServerCodec codec({.timeouts = {.body = 5ms}});
        FAIL() << "no exception";
    } catch (const std::invalid_argument& error) {
        EXPECT_STREQ(error.what(),
                     "weft::http::ServerTimeouts::body is 5000000 ns; accepted: 0 (no limit), or 10 ms to 24 h");
    }
}

}  // namespace
}  // namespace weft::http
