// Leaving HTTP by Upgrade and CONNECT: where the new protocol's bytes go, and what becomes of a removed codec.
#include <weft/http/server_codec.hpp>

#include <gtest/gtest.h>

#include <string>

#include <weft/pipeline/channel_events.hpp>
#include <weft/pipeline/channel_option.hpp>
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

const std::string upgrade = "GET /u HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: shout\r\n\r\n";
const std::string connect = "CONNECT b:1 HTTP/1.1\r\nHost: b:1\r\n\r\n";
const std::string switched = "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: shout\r\n\r\n";

// The other protocol: echoes its input in capitals.
struct Shout final : ChannelInboundHandler {
    explicit Shout(std::string& log) : log(log) {}
    void handlerAdded(ChannelHandlerContext&) override { log += "added "; }
    void channelRead(ChannelHandlerContext& ctx, Message&& message) override {
        ASSERT_TRUE(message.is<Buffer>());
        Buffer bytes = message.take<Buffer>();
        log.append("[").append(bytes.view()).append("] ");
        std::string loud(bytes.view());
        for (char& c : loud) c = static_cast<char>(std::toupper(c));
        ctx.writeAndFlush(Message(Buffer::copyOf(loud)));
    }
    void channelReadComplete(ChannelHandlerContext&) override { log += "complete "; }
    std::string& log;
};

// Accepts every upgrade to the protocol, and replaces the HTTP handlers once its answer has been sent.
struct Switcher final : ChannelInboundHandler {
    explicit Switcher(std::string& log) : log(log) {}
    void channelRead(ChannelHandlerContext& ctx, Message&& message) override {
        if (!message.is<FullRequest>()) return;
        const FullRequest request = message.take<FullRequest>();
        if (request.head().upgrade) return ctx.writeAndFlush(Message(switchTo("shout")));
        ctx.writeAndFlush(Message(ok("http")));
    }
    void userEventTriggered(ChannelHandlerContext& ctx, Message&& event) override {
        if (!event.is<ProtocolSwitched>()) return;
        log += "switched ";
        ChannelPipeline& pipeline = ctx.pipeline();
        pipeline.remove<ObjectAggregator>();
        pipeline.replace<Shout>(*pipeline.get<ServerCodec>(), log);
        pipeline.remove(*this);
    }
    std::string& log;
};

struct SwitchingServer {
    SwitchingServer() {
        channel.pipeline().addLast<ServerCodec>().addLast<ObjectAggregator>(100).addLast<Switcher>(log);
    }
    std::string say(std::string_view bytes) {
        channel.writeInbound(Buffer::copyOf(bytes));
        channel.runPendingTasks();
        return channel.readOutboundText();
    }
    std::string log;
    EmbeddedChannel channel;
};

TEST(ServerSwitch, H7_TheBytesBehindTheUpgradeReachTheNewHandlerAnd101GoesBeforeItsAnswers) {
    SwitchingServer server;
    EXPECT_EQ(server.say(upgrade + "early "), switched + "EARLY ");
    EXPECT_EQ(server.log, "switched added [early ] complete ");
    EXPECT_EQ(server.channel.pipeline().names(), std::vector<std::string>{"Shout#0"});
    EXPECT_EQ(server.say("late"), "LATE");
}

TEST(ServerSwitch, H7_HoweverTheBytesAreCut) {
    const std::string bytes = get + upgrade + "some words";
    for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
        SwitchingServer server;
        std::string answers = server.say(bytes.substr(0, cut));
        answers += server.say(bytes.substr(cut));
        EXPECT_NE(answers.find("\r\n\r\nhttp" + switched), std::string::npos) << cut << answers;
        EXPECT_TRUE(answers.ends_with(switched + "SOME WORDS")) << cut << answers;
    }
}

TEST(ServerSwitch, EarlierAnswersAreSentFirst) {
    Keeper keeper;
    Server server(keeper.keep());
    EXPECT_EQ(server.say(get + upgrade + "raw"), "");
    ASSERT_EQ(keeper.waiting.size(), 2u);
    keeper.waiting[1].send(switchTo("shout"));
    EXPECT_EQ(server.heard(), "");
    EXPECT_EQ(server.channel.inboundSize(), 0u);
    keeper.waiting[0].send(ok("first"));
    EXPECT_TRUE(server.heard().ends_with("first" + switched));
    EXPECT_EQ(server.channel.readInbound<Buffer>()->view(), "raw");
}

TEST(ServerSwitch, NothingBehindAnUpgradeIsReadAsHttpBeforeItsAnswer) {
    StreamingServer server;
    server.say(upgrade + get);
    server.say(get);
    EXPECT_EQ(server.got(), "/u");
    server.responder().send(ok("no, thank you"));  // any final answer except 101: HTTP goes on
    EXPECT_TRUE(server.heard().ends_with("no, thank you"));
    EXPECT_EQ(server.got(), "/a /a");
    server.say(get);
    EXPECT_EQ(server.got(), "/a");
}

TEST(ServerSwitch, ReadingStopsWhileTheAnswerIsOutstanding) {
    StreamingServer server;
    server.say(upgrade);
    server.say("raw");  // the codec cannot know yet: it may go on reading until bytes arrive
    struct ReadCounter final : ChannelOutboundHandler {
        explicit ReadCounter(int& reads) : reads(reads) {}
        void read(ChannelHandlerContext& ctx) override {
            ++reads;
            ctx.read();
        }
        int& reads;
    };
    int reads = 0;
    server.channel.pipeline().addFirst<ReadCounter>(reads);
    server.channel.channel().read();
    EXPECT_EQ(reads, 0);
    server.responder().send(switchTo("shout"));
    server.heard();
    EXPECT_GT(reads, 0);
}

TEST(ServerSwitch, TheRequestsOwnBodyIsHttp) {
    StreamingServer server;
    server.say("POST /u HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: shout\r\nContent-Length: 4\r\n\r\nab");
    server.responder().send(switchTo("shout"));
    EXPECT_EQ(server.heard(), switched);
    server.say("cdraw");
    EXPECT_EQ(server.got(), "/u (ab) (cd) end switched raw raw");
}

TEST(ServerSwitch, ACodecThatStaysPassesEverythingAsItIs) {
    StreamingServer server;
    server.say(upgrade);
    server.responder().send(switchTo("shout"));
    server.heard();
    EXPECT_EQ(server.got(), "/u switched");
    server.say(get);
    EXPECT_EQ(server.got(), "raw " + get);
    server.channel.channel().writeAndFlush(Message(Buffer::copyOf("out")));
    EXPECT_EQ(server.heard(), "out");
    server.channel.advanceTimeBy(std::chrono::hours(1));
    EXPECT_TRUE(server.channel.active()) << "what a silence means is the new protocol's business";
    server.channel.pipeline().fireUserEventTriggered(Message(DrainStarted{}));
    server.heard();
    EXPECT_TRUE(server.channel.active());
}

TEST(ServerSwitch, ATunnelIsGrantedByA2xxOnly) {
    StreamingServer refusing;
    refusing.say(connect + get);
    EXPECT_EQ(refusing.got(), "b:1");
    refusing.responder().send(error(Status::forbidden));
    EXPECT_TRUE(refusing.heard().starts_with("HTTP/1.1 403 "));
    EXPECT_EQ(refusing.got(), "/a");

    StreamingServer granting;
    granting.say(connect + "\x16\x03raw");
    granting.responder().send(Response(Status::ok));
    const std::string answer = granting.heard();
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n"));
    EXPECT_EQ(count(answer, "Content-Length"), 0u);
    EXPECT_EQ(granting.got(), "b:1 switched raw \x16\x03raw");
}

TEST(ServerSwitch, A101ToARequestThatDidNotAskBecomes500) {
    setLogSink([](LogLevel, std::string_view) noexcept {});
    for (const char* request :
         {"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "GET / HTTP/1.1\r\nHost: x\r\nUpgrade: shout\r\n\r\n",
          "GET / HTTP/1.0\r\nConnection: upgrade\r\nUpgrade: shout\r\n\r\n"}) {
        StreamingServer server;
        server.say(request);
        const ChannelPromise promise = server.channel.channel().newPromise();
        server.responder().send(switchTo("shout"), promise);
        EXPECT_TRUE(server.heard().starts_with("HTTP/1.1 500 ")) << request;
        EXPECT_FALSE(promise.future().success());
    }
    setLogSink(nullptr);
}

TEST(ServerSwitch, TheEndOfTheInputBehindARefusedUpgradeClosesAfterTheAnswer) {
    StreamingServer server;
    server.say(upgrade);
    server.channel.channel().onEof();
    server.channel.runPendingTasks();
    EXPECT_TRUE(server.channel.active());
    server.responder().send(ok("no"));
    EXPECT_TRUE(server.heard().ends_with("no"));
    EXPECT_FALSE(server.channel.active());
}

TEST(ServerSwitch, TheEndOfTheInputBehindAnAcceptedUpgradeComesAfterItsBytes) {
    StreamingServer server;
    server.say(upgrade + "raw");
    server.channel.channel().onEof();
    server.channel.runPendingTasks();
    server.responder().send(switchTo("shout"));
    EXPECT_EQ(server.heard(), switched);
    EXPECT_EQ(server.got(), "/u switched raw raw");
    EXPECT_FALSE(server.channel.active()) << "half-closure was the codec's wish, not the channel's";
}

TEST(ServerSwitch, HalfClosureIsRestored) {
    for (const bool before : {false, true}) {
        std::string log;
        EmbeddedChannel channel;
        channel.channel().setOption(ChannelOption::ALLOW_HALF_CLOSURE, before);
        channel.pipeline().addLast<ServerCodec>().addLast<ObjectAggregator>(100).addLast<Switcher>(log);
        EXPECT_TRUE(channel.channel().option(ChannelOption::ALLOW_HALF_CLOSURE));
        channel.writeInbound(Buffer::copyOf(upgrade));
        EXPECT_EQ(channel.channel().option(ChannelOption::ALLOW_HALF_CLOSURE), before);
    }
}

// A BodyWriter waits for its pieces and closes the channel when one of them fails.
// Whether the input goes on or has ended with its first bytes.
TEST(ServerSwitch, H6_TheHandlerThatGetsTheBytesBehindTheUpgradeMayRemoveTheCodec) {
    struct Raw final : ChannelInboundHandler {
        explicit Raw(std::string& log) : log(log) {}
        void channelRead(ChannelHandlerContext& ctx, Message&& message) override {
            if (message.is<FullRequest>()) return ctx.writeAndFlush(Message(switchTo("shout")));
            log.append("[").append(message.get<Buffer>().view()).append("] ");
            if (ctx.pipeline().get<ServerCodec>() != nullptr) ctx.pipeline().remove<ServerCodec>();
        }
        void channelReadComplete(ChannelHandlerContext&) override { log += "complete "; }
        void userEventTriggered(ChannelHandlerContext&, Message&& event) override {
            if (event.is<InputShutdownEvent>()) log += "end ";
        }
        std::string& log;
    };
    for (const bool ends : {false, true}) {
        std::string log;
        EmbeddedChannel channel;
        channel.channel().setOption(ChannelOption::ALLOW_HALF_CLOSURE, true);
        channel.pipeline().addLast<ServerCodec>().addLast<ObjectAggregator>(100).addLast<Raw>(log);
        channel.pipeline().fireChannelRead(Message(Buffer::copyOf(upgrade + "early")));
        channel.pipeline().fireChannelReadComplete();
        if (ends) channel.pipeline().fireUserEventTriggered(Message(InputShutdownEvent{}));
        log.clear();
        channel.runPendingTasks();
        EXPECT_EQ(channel.readOutboundText(), switched);
        EXPECT_EQ(channel.pipeline().get<ServerCodec>(), nullptr);
        EXPECT_TRUE(log.starts_with(ends ? "[early] end " : "[early] complete ")) << log;
        EXPECT_EQ(count(log, "[early]"), 1u);
        EXPECT_EQ(count(log, "end"), ends ? 1u : 0u);
    }
}

TEST(ServerSwitch, ABodyBehindAGrantedConnectIsLeftOutAndTheTunnelGoesOn) {
    Keeper keeper;
    Server server(keeper.keep());
    server.say(connect);
    {
        BodyWriter writer = keeper.waiting.at(0).begin(Response(Status::ok));
        const ChannelPromise written = server.channel.channel().newPromise();
        const ChannelPromise ended = server.channel.channel().newPromise();
        writer.write(Buffer::copyOf("a body"), written);
        writer.end(ended);
        EXPECT_TRUE(written.future().success());
        EXPECT_TRUE(ended.future().success());
    }
    const std::string answer = server.heard();
    EXPECT_TRUE(answer.ends_with("\r\n\r\n")) << answer;
    EXPECT_TRUE(server.channel.active());
    server.say("raw");
    EXPECT_EQ(server.channel.readInbound<Buffer>()->view(), "raw");
}

TEST(ServerSwitch, D3_ARemovedCodecLetsItsAnswersOutAndPassesOnWhatItHasNotDecoded) {
    Server server([](ChannelHandlerContext& ctx, FullRequest& request) {
        hello(ctx, request);
        ctx.pipeline().remove<ServerCodec>();
    });
    const std::string answer = server.say(get + "not http any more");
    EXPECT_TRUE(answer.ends_with("Hello, World!")) << answer;
    EXPECT_EQ(server.channel.readInbound<Buffer>()->view(), "not http any more");
    EXPECT_TRUE(server.channel.active());
}

TEST(ServerSwitch, D3_ARemovedCodecFailsTheAnswersThatWaitForTheirTurn) {
    Keeper keeper;
    Server server(keeper.keep());
    server.say(get + get);
    const ChannelPromise promise = server.channel.channel().newPromise();
    keeper.waiting[1].send(ok("second"), promise);
    server.channel.pipeline().remove<ServerCodec>();
    ASSERT_TRUE(promise.done());
    EXPECT_FALSE(promise.future().success());
    setLogSink([](LogLevel, std::string_view) noexcept {});
    keeper.waiting.clear();
    setLogSink(nullptr);
}

}  // namespace
}  // namespace weft::http
