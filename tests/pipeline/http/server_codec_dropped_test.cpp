// A request that a handler drops unanswered: the client gets an answer, the log a name.
#include <weft/http/server_codec.hpp>

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

#include <weft/pipeline/channel_events.hpp>

#include "pipeline/http/codec_server.hpp"
#include "pipeline/http/log_lines.hpp"

namespace weft::http {
namespace {

using test::count;
using test::get;
using test::hello;
using test::LogLines;
using test::post;
using test::Server;

const std::string forgotten = "GET /forgotten HTTP/1.1\r\nHost: x\r\n\r\n";

// A handler with a missing branch: it never answers.
void forgets(ChannelHandlerContext& ctx, FullRequest& request) {
    if (request.path() != "/forgotten") hello(ctx, request);
}

TEST(ServerDropped, ARequestThatItsHandlerForgetsIsAnsweredWith500AndTheLogNamesTheHandler) {
    const LogLines log;
    Server server(forgets);
    const std::string said = server.say(get + forgotten + get);
    EXPECT_EQ(count(said, "HTTP/1.1 "), 3u) << said;
    EXPECT_EQ(count(said, "HTTP/1.1 500 "), 1u) << said;
    EXPECT_LT(said.find("Hello"), said.find("HTTP/1.1 500 "));
    EXPECT_TRUE(said.ends_with("Hello, World!"));
    EXPECT_EQ(count(said, "Connection: close"), 0u);
    EXPECT_EQ(log.containing("handler 'Application#0' dropped request 2 (GET) of channel " +
                             std::to_string(server.channel.channel().id()) + " without an answer"),
              1u)
        << log.all();
    EXPECT_TRUE(server.say(get).ends_with("Hello, World!"));
    EXPECT_EQ(log.size(), 1u);
}

TEST(ServerDropped, TheHandlerOfARequestWithABodyIsNamedToo) {
    const LogLines log;
    Server server([](ChannelHandlerContext&, FullRequest&) {});
    EXPECT_TRUE(server.say(post("body")).starts_with("HTTP/1.1 500 "));
    EXPECT_EQ(log.containing("handler 'Application#0' dropped request 1 (POST)"), 1u) << log.all();
}

TEST(ServerDropped, TheLogNamesTheHandlerThatTookItAndNotTheLastOne) {
    struct Auth final : SimpleInboundHandler<FullRequest> {
        void channelRead0(ChannelHandlerContext& ctx, FullRequest request) override {
            if (request.header("Authorization")) ctx.fireChannelRead(Message(std::move(request)));
        }
    };
    const LogLines log;
    EmbeddedChannel channel;
    channel.pipeline().addLast<ServerCodec>().addLast<ObjectAggregator>();
    channel.pipeline().addLast("auth", std::make_unique<Auth>());
    channel.pipeline().addLast("routes", std::make_unique<test::Application>(hello));
    channel.writeInbound(Buffer::copyOf(get));
    channel.runPendingTasks();
    EXPECT_TRUE(channel.readOutboundText().starts_with("HTTP/1.1 500 "));
    EXPECT_EQ(log.containing("handler 'auth' dropped request 1 (GET)"), 1u) << log.all();
}

TEST(ServerDropped, AHandlerThatIgnoresTheMessageIsFoundToo) {
    struct Deaf final : ChannelInboundHandler {
        void channelRead(ChannelHandlerContext&, Message&& message) override { message.reset(); }
    };
    const LogLines log;
    EmbeddedChannel channel;
    channel.pipeline().addLast<ServerCodec>().addLast("deaf", std::make_unique<Deaf>());
    channel.writeInbound(Buffer::copyOf(get + get));
    channel.runPendingTasks();
    EXPECT_EQ(count(channel.readOutboundText(), "HTTP/1.1 500 "), 2u);
    EXPECT_EQ(log.containing("(its handlers are 'deaf')"), 2u) << log.all();
}

TEST(ServerDropped, OneThatIsAnsweredAfterItsRequestHasEndedIsAnsweredOnce) {
    const LogLines log;
    Server server([](ChannelHandlerContext& ctx, FullRequest& request) {
        { const FullRequest ended = std::move(request); }
        ctx.writeAndFlush(ok("late, but in the delivery"));
    });
    for (const std::string& request : {get, post("body")}) {
        const std::string said = server.say(request);
        EXPECT_EQ(count(said, "HTTP/1.1 "), 1u) << said;
        EXPECT_TRUE(said.ends_with("late, but in the delivery"));
    }
    EXPECT_EQ(log.all(), "");
}

TEST(ServerDropped, ItsAnswerWaitsForEarlierRequests) {
    const LogLines log;
    std::deque<Responder> kept;
    Server server([&](ChannelHandlerContext&, FullRequest& request) {
        if (request.path() != "/forgotten") kept.push_back(request.responder());
    });
    EXPECT_EQ(server.say(get + forgotten + get), "");
    kept.at(1).send(ok("third"));
    kept.at(0).send(ok("first"));
    const std::string said = server.heard();
    EXPECT_LT(said.find("first"), said.find("HTTP/1.1 500 "));
    EXPECT_LT(said.find("HTTP/1.1 500 "), said.find("third"));
}

TEST(ServerDropped, ABodyThatIsDroppedToItsEndIsAnsweredBehindIt) {
    const LogLines log;
    Server server([](ChannelHandlerContext&, FullRequest&) {});
    EXPECT_EQ(server.say("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nab"), "");
    EXPECT_TRUE(server.say("cd").starts_with("HTTP/1.1 500 "));
    EXPECT_TRUE(server.channel.active());

    struct Head final : ChannelInboundHandler {
        void channelRead(ChannelHandlerContext&, Message&& message) override { message.reset(); }
    };
    EmbeddedChannel raw;
    raw.pipeline().addLast<ServerCodec>().addLast<Head>();
    raw.writeInbound(Buffer::copyOf("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nab"));
    raw.runPendingTasks();
    EXPECT_EQ(raw.readOutboundText(), "") << "its handler may answer when the body has come";
    raw.writeInbound(Buffer::copyOf("cd"));
    raw.runPendingTasks();
    EXPECT_EQ(count(raw.readOutboundText(), "HTTP/1.1 500 "), 1u);
}

TEST(ServerDropped, AClientThatWaitsFor100GetsItsAnswerWithoutABody) {
    struct Deaf final : ChannelInboundHandler {
        void channelRead(ChannelHandlerContext&, Message&& message) override { message.reset(); }
    };
    const LogLines log;
    EmbeddedChannel channel;
    channel.pipeline().addLast<ServerCodec>().addLast<Deaf>();
    channel.writeInbound(
        Buffer::copyOf("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n"));
    channel.runPendingTasks();
    const std::string said = channel.readOutboundText();
    EXPECT_TRUE(said.starts_with("HTTP/1.1 500 ")) << said;
    EXPECT_EQ(count(said, "Connection: close\r\n"), 1u);
}

TEST(ServerDropped, OneThatIsKeptAndDroppedLaterIsAnsweredThen) {
    const LogLines log;
    std::deque<FullRequest> kept;
    Server server([&](ChannelHandlerContext&, FullRequest& request) { kept.push_back(std::move(request)); });
    EXPECT_EQ(server.say(get + get + get), "");
    kept.pop_front();
    EXPECT_EQ(count(server.heard(), "HTTP/1.1 500 "), 1u);
    std::thread([&] { kept.pop_front(); }).join();
    EXPECT_EQ(count(server.heard(), "HTTP/1.1 500 "), 1u) << "dropped by another thread";
    Responder third = kept.front().responder();
    kept.pop_front();
    EXPECT_EQ(server.heard(), "") << "somebody has the right to answer it";
    third.send(ok("third"));
    EXPECT_TRUE(server.heard().ends_with("third"));
    EXPECT_EQ(log.containing("dropped request"), 2u) << log.all();
}

TEST(ServerDropped, AResponderThatIsLetGoOfIsAnsweredWith500AndLogged) {
    const LogLines log;
    std::deque<Responder> kept;
    Server server([&](ChannelHandlerContext&, FullRequest& request) { kept.push_back(request.responder()); });
    server.say(get + get);
    kept.pop_front();
    EXPECT_EQ(count(server.heard(), "HTTP/1.1 500 "), 1u);
    std::thread([&] { kept.pop_front(); }).join();
    EXPECT_EQ(count(server.heard(), "HTTP/1.1 500 "), 1u) << "let go of by another thread";
    EXPECT_EQ(log.containing("dropped request"), 2u) << log.all();
}

TEST(ServerDropped, AResponderMayOutliveItsLoop) {
    const LogLines log;
    std::deque<Responder> kept;
    {
        Server server([&](ChannelHandlerContext&, FullRequest& request) { kept.push_back(request.responder()); });
        server.say(get);
    }
    kept.clear();
    EXPECT_EQ(log.all(), "");
}

TEST(ServerDropped, ARequestDroppedAfterTheEndOfItsConnectionIsNotLogged) {
    const LogLines log;
    std::deque<FullRequest> kept;
    Server server([&](ChannelHandlerContext&, FullRequest& request) { kept.push_back(std::move(request)); });
    server.say(get);
    server.channel.close();
    server.channel.runPendingTasks();
    kept.clear();
    EXPECT_EQ(log.all(), "");
}

TEST(ServerDropped, ARequestThatEndsAfterItsCodecWasRemovedIsNotReported) {
    const LogLines log;
    std::deque<FullRequest> kept;
    {
        Server server([&](ChannelHandlerContext&, FullRequest& request) { kept.push_back(std::move(request)); });
        server.say(get);
        server.channel.pipeline().remove<ServerCodec>();
        server.channel.runPendingTasks();
        EXPECT_EQ(server.channel.channel().ledger(), nullptr);
        kept.clear();
        EXPECT_EQ(server.heard(), "");
    }
    EXPECT_EQ(log.containing("dropped request"), 0u) << log.all();
}

TEST(ServerDropped, ACodecThatFollowsAnotherLearnsOfItsOwnRequests) {
    const LogLines log;
    Server server(forgets);
    ChannelPipeline& pipeline = server.channel.pipeline();
    pipeline.replace<ServerCodec>(*pipeline.get("ServerCodec#0"));
    EXPECT_TRUE(server.say(forgotten).starts_with("HTTP/1.1 500 "));
    EXPECT_EQ(log.containing("dropped request 1"), 1u) << log.all();
}

// Responders for requests of the earlier codec have other numbers than its own requests.
TEST(ServerDropped, ACodecThatFollowsAnotherGoesOnCounting) {
    const LogLines log;
    std::deque<Responder> kept;
    Server server([&](ChannelHandlerContext&, FullRequest& request) { kept.push_back(request.responder()); });
    ChannelPipeline& pipeline = server.channel.pipeline();
    server.say(get);
    pipeline.replace<ServerCodec>(*pipeline.get("ServerCodec#0"));
    server.say(get);
    kept.pop_front();
    EXPECT_EQ(server.heard(), "");
    pipeline.remove<ServerCodec>();
    pipeline.addFirst<ServerCodec>();
    server.say(get + get);
    ASSERT_EQ(kept.size(), 3u);
    kept.pop_front();
    EXPECT_EQ(server.heard(), "");
    kept.front().send(ok("third"));
    EXPECT_TRUE(server.heard().ends_with("third"));
    EXPECT_EQ(log.containing("dropped request"), 0u) << log.all();
}

// The handler that took the head is gone when the last part of the body ends the request.
TEST(ServerDropped, AHandlerThatHasRemovedItselfIsNotNamed) {
    struct Once final : SimpleInboundHandler<Request, Content, LastContent> {
        std::optional<Request> head;
        void channelRead0(ChannelHandlerContext&, Request request) override { head.emplace(std::move(request)); }
        void channelRead0(ChannelHandlerContext& ctx, Content) override {
            ctx.pipeline().remove(*this);
            head.reset();
        }
        void channelRead0(ChannelHandlerContext&, LastContent) override {}
    };
    const LogLines log;
    EmbeddedChannel channel;
    channel.pipeline().addLast<ServerCodec>().addLast<Once>();
    channel.writeInbound(Buffer::copyOf("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nab"));
    channel.runPendingTasks();
    channel.writeInbound(Buffer::copyOf("cd"));
    channel.runPendingTasks();
    EXPECT_EQ(count(channel.readOutboundText(), "HTTP/1.1 500 "), 1u);
    EXPECT_EQ(log.containing("the application (its handlers are none) dropped request 1 (POST)"), 1u) << log.all();
}

TEST(ServerDropped, AnAssignmentEndsTheRequestThatItReplaces) {
    const LogLines log;
    std::optional<FullRequest> last;
    Server server([&](ChannelHandlerContext&, FullRequest& request) {
        if (last) {
            *last = std::move(request);
        } else {
            last.emplace(std::move(request));
        }
    });
    EXPECT_EQ(count(server.say(get + get), "HTTP/1.1 500 "), 1u);
    FullRequest& same = *last;
    *last = std::move(same);
    EXPECT_EQ(server.heard(), "");
    last.reset();
    EXPECT_EQ(count(server.heard(), "HTTP/1.1 500 "), 1u);
}

// The inner delivery ends in the middle of the outer one.
TEST(ServerDropped, ADeliveryInsideAnotherLosesNeither) {
    const LogLines log;
    std::deque<Responder> kept;
    Server inner(forgets);
    Server outer([&](ChannelHandlerContext& ctx, FullRequest& request) {
        inner.channel.writeInbound(Buffer::copyOf(forgotten));
        if (request.path() == "/kept") return kept.push_back(request.responder());
        forgets(ctx, request);
    });
    EXPECT_EQ(outer.say("GET /kept HTTP/1.1\r\nHost: x\r\n\r\n" + forgotten + get), "");
    kept.at(0).send(ok("kept"));
    const std::string said = outer.heard();
    EXPECT_EQ(count(said, "HTTP/1.1 "), 3u);
    EXPECT_LT(said.find("kept"), said.find("HTTP/1.1 500 "));
    EXPECT_LT(said.find("HTTP/1.1 500 "), said.find("Hello, World!"));
    EXPECT_EQ(count(inner.heard(), "HTTP/1.1 500 "), 3u);
}

TEST(ServerDropped, OneThatEndsInThePipelineOfAnotherChannelIsAnswered) {
    const LogLines log;
    std::optional<FullRequest> kept;
    Server inner([&](ChannelHandlerContext& ctx, FullRequest& request) {
        kept.reset();
        hello(ctx, request);
    });
    Server outer([&](ChannelHandlerContext&, FullRequest& request) { kept.emplace(std::move(request)); });
    EXPECT_EQ(outer.say(get), "");
    EXPECT_TRUE(inner.say(get).ends_with("Hello, World!"));
    EXPECT_EQ(count(outer.heard(), "HTTP/1.1 500 "), 1u);
}

TEST(ServerDropped, ItDoesNotHoldUpADrain) {
    const LogLines log;
    Server server(forgets);
    server.channel.pipeline().fireUserEventTriggered(Message(DrainStarted{}));
    const std::string said = server.say(forgotten);
    EXPECT_TRUE(said.starts_with("HTTP/1.1 500 ")) << said;
    EXPECT_EQ(count(said, "Connection: close\r\n"), 1u);
    server.channel.advanceTimeBy(std::chrono::seconds(3));
    EXPECT_FALSE(server.channel.active());
}

TEST(ServerDropped, AHandlerThatThrowsAndClosesLetsThe500OutBefore) {
    struct Throwing final : SimpleInboundHandler<FullRequest> {
        void channelRead0(ChannelHandlerContext&, FullRequest) override { throw std::runtime_error("dropped stitch"); }
        void exceptionCaught(ChannelHandlerContext& ctx, std::exception_ptr) override { ctx.close(); }
    };
    const LogLines log;
    for (const std::string& request : {get, post("body")}) {
        EmbeddedChannel channel;
        channel.pipeline().addLast<ServerCodec>().addLast<ObjectAggregator>().addLast<Throwing>();
        channel.writeInbound(Buffer::copyOf(request));
        channel.runPendingTasks();
        EXPECT_EQ(count(channel.readOutboundText(), "HTTP/1.1 500 "), 1u);
        EXPECT_FALSE(channel.active());
    }
}

TEST(ServerDropped, AHandlerThatClosesTheConnectionOwesNoAnswer) {
    const LogLines log;
    Server server([](ChannelHandlerContext& ctx, FullRequest&) { ctx.close(); });
    EXPECT_EQ(server.say(get), "");
    EXPECT_FALSE(server.channel.active());
    EXPECT_EQ(log.all(), "");
}

TEST(ServerDropped, AHandlerThatRemovesTheCodecAndDropsTheRequestLeavesAnOpenChannel) {
    const LogLines log;
    Server server([](ChannelHandlerContext& ctx, FullRequest&) { ctx.pipeline().remove<ServerCodec>(); });
    EXPECT_EQ(server.say(get), "");
    EXPECT_TRUE(server.channel.active());
}

}  // namespace
}  // namespace weft::http
