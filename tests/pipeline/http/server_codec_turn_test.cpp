// The codecs of a loop share one output block until the flush point; no connection may receive another one's bytes.
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include <weft/http/object_aggregator.hpp>
#include <weft/http/server_codec.hpp>
#include <weft/pipeline/channel.hpp>

#include "pipeline/http/codec_server.hpp"
#include "pipeline/scripted_sink.hpp"

namespace weft::http {
namespace {

using test::Application;
using test::count;
using test::get;

struct Connection {
    Connection(EventLoop& loop, Application::Answer answer) : channel(Channel::create(loop)) {
        channel->attach(std::make_unique<weft::test::ScriptedSink>(*channel, sink));
        channel->setActive(true);
        channel->pipeline().addLast<ServerCodec>().addLast<ObjectAggregator>().addLast<Application>(std::move(answer));
        channel->registerWithLoop({});
    }
    void hear(std::string_view bytes) { channel->onLastRead(Buffer::copyOf(bytes)); }
    std::string said() { return std::exchange(sink->written, {}); }

    std::shared_ptr<weft::test::SinkScript> sink = std::make_shared<weft::test::SinkScript>();
    ChannelRef channel;
};

std::string named(std::string_view path) {
    return "GET " + std::string(path) + " HTTP/1.1\r\nHost: x\r\n\r\n";
}

void sayPath(ChannelHandlerContext& ctx, FullRequest& request) {
    ctx.writeAndFlush(ok("<" + std::string(request.path()) + ">"));
}

struct ServerCodecTurn : testing::Test {
    ~ServerCodecTurn() override {
        for (Connection* connection : {&a, &b}) connection->channel->close();
        loop.runTasks();
    }
    void start() { loop.runTasks(); }

    ManualClock clock;
    EventLoop loop{clock};
    Application::Answer answer = sayPath;
    Connection a{loop, [this](ChannelHandlerContext& ctx, FullRequest& request) { answer(ctx, request); }};
    Connection b{loop, [this](ChannelHandlerContext& ctx, FullRequest& request) { answer(ctx, request); }};
};

// Between the codec and the head.
struct SeesFlushes final : ChannelOutboundHandler {
    explicit SeesFlushes(int& count) : count(count) {}
    void flush(ChannelHandlerContext& ctx) override {
        ++count;
        ctx.flush();
    }
    int& count;
};
struct SeesNoWrites final : ChannelInboundHandler {
    void channelInactive(ChannelHandlerContext& ctx) override { ctx.fireChannelInactive(); }
};
struct SeesWrites final : ChannelOutboundHandler {
    explicit SeesWrites(std::string& log) : log(log) {}
    void write(ChannelHandlerContext& ctx, Message&& message, ChannelPromise promise) override {
        log += message.get<Buffer>().view();
        ctx.write(std::move(message), std::move(promise));
    }
    std::string& log;
};

TEST_F(ServerCodecTurn, HandlersBeforeTheCodecSeeWhatTheyHandle) {
    int flushes = 0;
    std::string log;
    a.channel->pipeline().addFirst<SeesFlushes>(flushes).addFirst<SeesNoWrites>();
    b.channel->pipeline().addFirst<SeesWrites>(log).addFirst<SeesNoWrites>();
    start();
    a.hear(named("/a"));
    b.hear(named("/b"));
    loop.runTasks();
    EXPECT_EQ(flushes, 1);
    EXPECT_TRUE(a.said().ends_with("</a>"));
    EXPECT_TRUE(log.ends_with("</b>"));
    EXPECT_EQ(b.said(), log);
}

TEST_F(ServerCodecTurn, EachConnectionGetsItsOwnAnswers) {
    start();
    for (int turn = 0; turn < 3; ++turn) {
        a.hear(named("/a1") + named("/a2"));
        b.hear(named("/b1"));
        a.hear(named("/a3"));  // its bytes follow those of the other connection
        EXPECT_EQ(a.said(), "");
        loop.runTasks();
        const std::string ofA = a.said(), ofB = b.said();
        EXPECT_EQ(count(ofA, "HTTP/1.1 200 OK"), 3u);
        EXPECT_LT(ofA.find("</a1>"), ofA.find("</a2>"));
        EXPECT_TRUE(ofA.ends_with("</a3>")) << ofA;
        EXPECT_EQ(count(ofB, "HTTP/1.1 200 OK"), 1u);
        EXPECT_TRUE(ofB.ends_with("</b1>")) << ofB;
    }
    EXPECT_EQ(a.sink->count("flush"), 3u);  // one call per turn
}

TEST_F(ServerCodecTurn, WhatTheSocketDoesNotTakeWaitsInABlockOfItsOwn) {
    start();
    a.sink->room = 10;
    a.hear(named("/first"));
    loop.runTasks();
    std::string ofA = a.said();
    EXPECT_EQ(ofA, "HTTP/1.1 2");
    for (int turn = 0; turn < 3; ++turn) {  // these turns use the shared block again
        b.hear(named("/other"));
        loop.runTasks();
        EXPECT_TRUE(b.said().ends_with("</other>"));
    }
    a.sink->room = 100'000;
    a.channel->onWritable();
    loop.runTasks();
    ofA += a.said();
    EXPECT_TRUE(ofA.ends_with("\r\n\r\n</first>")) << ofA;
    EXPECT_EQ(count(ofA, "HTTP/1.1"), 1u);
}

TEST_F(ServerCodecTurn, WhatIsWrittenAndNotFlushedOutlivesTheTurn) {
    ChannelHandlerContext* context = nullptr;
    answer = [&](ChannelHandlerContext& ctx, FullRequest& request) {
        if (request.path() == "/later") {
            context = &ctx;
            ctx.write(ok("</later>"));
        } else {
            sayPath(ctx, request);
        }
    };
    start();
    a.hear(named("/later"));
    EXPECT_EQ(loop.local<weft::detail::OutputBlock>().users(), 1u);
    loop.runTasks();
    EXPECT_EQ(loop.local<weft::detail::OutputBlock>().users(), 0u);
    EXPECT_EQ(a.said(), "");
    for (int turn = 0; turn < 3; ++turn) {
        b.hear(named("/other"));
        loop.runTasks();
        EXPECT_TRUE(b.said().ends_with("</other>"));
    }
    a.hear(named("/flushed"));
    loop.runTasks();
    const std::string ofA = a.said();
    EXPECT_EQ(count(ofA, "HTTP/1.1 200 OK"), 2u) << ofA;
    EXPECT_LT(ofA.find("</later>"), ofA.find("</flushed>"));
    EXPECT_NE(context, nullptr);
}

// One flush covers all of it, although the codec had to move some of it out of the block, and write it, before.
TEST_F(ServerCodecTurn, MuchThatIsWrittenOverSeveralTurnsIsAllFlushedAtTheEnd) {
    ChannelHandlerContext* context = nullptr;
    Ticket ticket = noTicket;
    answer = [&](ChannelHandlerContext& ctx, FullRequest& request) {
        context = &ctx;
        ticket = request.ticket();
        Response head(Status::ok);
        head.streamed = true;
        ctx.write(std::move(head));
    };
    start();
    a.hear(named("/streamed"));
    loop.runTasks();
    ASSERT_NE(context, nullptr);
    EXPECT_EQ(a.said(), "");
    for (int i = 0; i < 20; ++i) context->write(Content{Buffer::copyOf(std::string(1000, 'c')), ticket});
    context->write(LastContent{ticket});
    context->flush();
    loop.runTasks();
    const std::string ofA = a.said();
    EXPECT_EQ(count(ofA, std::string(1000, 'c')), 20u);
    EXPECT_TRUE(ofA.ends_with("0\r\n\r\n"));
    EXPECT_EQ(loop.local<weft::detail::OutputBlock>().users(), 0u);
}

TEST_F(ServerCodecTurn, AConnectionThatEndsInTheTurnLeavesOthersBytesIntact) {
    start();
    a.hear(named("/lost"));
    b.hear(named("/b"));
    a.channel->close();
    loop.runTasks();
    EXPECT_TRUE(b.said().ends_with("</b>"));
    b.hear(named("/again"));
    loop.runTasks();
    EXPECT_TRUE(b.said().ends_with("</again>"));
}

TEST_F(ServerCodecTurn, AHandlerInFrontSeesTheBytesBeforeTheSocket) {
    struct Shout final : ChannelOutboundHandler {
        void write(ChannelHandlerContext& ctx, Message&& message, ChannelPromise promise) override {
            const Buffer given = message.take<Buffer>();
            Buffer loud = Buffer::copyOf(given.view());
            loud.append("!");
            ctx.write(Message(std::move(loud)), std::move(promise));
        }
    };
    a.channel->pipeline().addFirst<Shout>();
    start();
    a.hear(named("/a"));
    b.hear(named("/b"));
    loop.runTasks();
    EXPECT_TRUE(a.said().ends_with("</a>!"));
    EXPECT_TRUE(b.said().ends_with("</b>"));
}

TEST_F(ServerCodecTurn, AnAnswerWithAListenerAndALongOneKeepTheirOrder) {
    bool heard = false;
    const std::string large(5000, 'l');
    answer = [&](ChannelHandlerContext& ctx, FullRequest& request) {
        if (request.path() == "/listened") {
            ChannelPromise promise = ctx.newPromise();
            promise.addListener([&](const ChannelFuture& done) { heard = done.success(); });
            ctx.writeAndFlush(ok("</listened>"), std::move(promise));
        } else if (request.path() == "/large") {
            ctx.writeAndFlush(ok(large));
        } else {
            sayPath(ctx, request);
        }
    };
    start();
    a.hear(named("/1") + named("/listened") + named("/2") + named("/large") + named("/3"));
    b.hear(named("/b"));
    loop.runTasks();
    const std::string ofA = a.said();
    EXPECT_TRUE(heard);
    EXPECT_EQ(count(ofA, "HTTP/1.1 200 OK"), 5u);
    EXPECT_LT(ofA.find("</1>"), ofA.find("</listened>"));
    EXPECT_LT(ofA.find("</listened>"), ofA.find("</2>"));
    EXPECT_LT(ofA.find("</2>"), ofA.find(large));
    EXPECT_TRUE(ofA.ends_with("</3>"));
    EXPECT_TRUE(b.said().ends_with("</b>"));
}

}  // namespace
}  // namespace weft::http
