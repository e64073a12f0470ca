// The HTTP codecs log every message that they drop, with the channel and the handler that passed it on last, but limit
// the number of lines.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>

#include <weft/http/client_codec.hpp>
#include <weft/http/server_codec.hpp>

#include "pipeline/http/codec_server.hpp"
#include "support/log_capture.hpp"

namespace weft::http {
namespace {

using test::Application;
using test::count;
using test::get;
using test::Keeper;
using test::post;
using test::Server;
using weft::test::LogCapture;

constexpr int mostLines = 30;  // for a thousand faults: the limit is ten a second, and a slow machine takes seconds

std::string nameOf(EmbeddedChannel& channel) {
    return "channel " + std::to_string(channel.channel().id());
}

Response unsendable() {
    Response response = ok("x");
    response.headers.add("Bad Name", "x");
    return response;
}

Response streamedHead(std::uint64_t length) {
    Response head(Status::ok);
    head.streamed = head.hasLength = true;
    head.contentLength = length;
    return head;
}

Content piece(std::string_view text) {
    return Content{Buffer::copyOf(text)};
}

// Passes writes on.
struct Relay final : ChannelDuplexHandler {
    void write(ChannelHandlerContext& ctx, Message&& message, ChannelPromise promise) override {
        ctx.write(std::move(message), std::move(promise));
    }
};

// ---- what the server codec refuses ----

struct Fault {
    std::string name;
    std::string line;
    std::function<void(ChannelHandlerContext&)> cause;
};
void PrintTo(const Fault& fault, std::ostream* out) {
    *out << fault.name;
}

const Fault faults[] = {
    {"AHead", "an HTTP response was refused: ", [](ChannelHandlerContext& ctx) { ctx.writeAndFlush(unsendable()); }},
    {"Trailers", "the trailers of an HTTP response were omitted: ",
     [](ChannelHandlerContext& ctx) {
         Response head(Status::ok);
         head.streamed = true;
         ctx.write(std::move(head));
         auto trailers = std::make_unique<HeaderList>();
         trailers->add("Content-Length", "7");
         ctx.writeAndFlush(Message(LastContent{noTicket, std::move(trailers)}));
     }},
    {"TooLongABody", "a streamed HTTP response did not match its Content-Length, so the connection is closed",
     [](ChannelHandlerContext& ctx) {
         ctx.write(streamedHead(2));
         ctx.writeAndFlush(Message(piece("three")));
     }},
    {"TooShortABody", "a streamed HTTP response did not match its Content-Length, so the connection is closed",
     [](ChannelHandlerContext& ctx) {
         ctx.write(streamedHead(9));
         ctx.write(Message(piece("three")));
         ctx.writeAndFlush(Message(LastContent{}));
     }},
};

class CodecLog : public testing::TestWithParam<Fault> {};

TEST_P(CodecLog, NamesTheChannelAndTheHandlers) {
    const LogCapture log;
    Server server([](ChannelHandlerContext& ctx, FullRequest&) { GetParam().cause(ctx); });
    server.say(get);
    EXPECT_EQ(log.countAt(LogLevel::error, nameOf(server.channel) + ": ", GetParam().line,
                          "the application wrote it (its handlers are 'ObjectAggregator#0', 'Application#0')"),
              1)
        << log.text();
    EXPECT_EQ(log.count(""), 1) << log.text();
}

TEST_P(CodecLog, NamesTheHandlerThatPassedItOnLast) {
    const LogCapture log;
    EmbeddedChannel channel;
    channel.pipeline().addLast<ServerCodec>().addLast<ObjectAggregator>();
    channel.pipeline().addLast("relay", std::make_unique<Relay>());
    channel.pipeline().addLast<Application>([](ChannelHandlerContext& ctx, FullRequest&) { GetParam().cause(ctx); });
    channel.writeInbound(Buffer::copyOf(get));
    channel.runPendingTasks();
    EXPECT_EQ(
        log.countAt(LogLevel::error, nameOf(channel), GetParam().line, "handler 'relay' was the last to pass it on"), 1)
        << log.text();
    channel.finishAndReleaseAll();
}

std::string faultName(const testing::TestParamInfo<Fault>& fault) {
    return fault.param.name;
}

INSTANTIATE_TEST_SUITE_P(Of, CodecLog, testing::ValuesIn(faults), faultName);

// Trailers that must not be sent leave the connection open, so a handler may cause one line for each request.
TEST(CodecLogLimit, AThousandFaultsOfACarrierAreFewLines) {
    const LogCapture log;
    Server server([](ChannelHandlerContext& ctx, FullRequest&) { faults[1].cause(ctx); });
    for (int i = 0; i < 1000; ++i) server.say(get);
    EXPECT_GE(log.count(faults[1].line), 1);
    EXPECT_LE(log.count(faults[1].line), mostLines);
}

// ---- late messages ----

TEST(LateAnswer, OnAConnectionWhoseClientHasGoneIsNoWarning) {
    const LogCapture log;
    Keeper keeper;
    Server server(keeper.keep());
    server.say(get);
    BodyWriter cut = keeper.waiting[0].begin(Response(Status::ok));
    server.channel.channel().onEof();
    server.heard();
    cut.write(Buffer::copyOf("late"));
    EXPECT_EQ(log.countAt(LogLevel::warning), 0) << log.text();
}

// The client's last request on the connection.
const std::string lastGet = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

TEST(LateAnswer, ASecondOneToTheLastRequestIsAWarning) {
    const LogCapture log;
    Server server([](ChannelHandlerContext& ctx, FullRequest& request) {
        ctx.writeAndFlush(ok("first").to(request));
        ctx.writeAndFlush(ok("second").to(request));
    });
    EXPECT_TRUE(server.say(lastGet).ends_with("first"));
    EXPECT_EQ(log.countAt(LogLevel::warning, nameOf(server.channel), "was written after its request had been answered",
                          "'Application#0'"),
              1)
        << log.text();
}

// Answers the first waiting request with Connection: close.
void answerLast(Keeper& keeper) {
    Response last = ok("last");
    last.keepAlive = false;
    keeper.waiting[0].send(std::move(last));
}

TEST(LateAnswer, ToARequestBehindTheLastAnswerIsADebugLine) {
    const LogCapture log;
    Keeper keeper;
    Server server(keeper.keep());
    server.say(get + get);
    answerLast(keeper);
    keeper.waiting[1].send(ok("late"));
    EXPECT_EQ(count(server.heard(), "HTTP/1.1 "), 1u);
    EXPECT_EQ(
        log.countAt(LogLevel::debug, nameOf(server.channel), "was written after its connection had begun to close"), 1)
        << log.text();
    EXPECT_EQ(log.countAt(LogLevel::warning), 0) << log.text();
}

TEST(LateAnswer, ThatWaitedForItsTurnWhenTheConnectionEndedIsADebugLine) {
    const LogCapture log;
    Keeper keeper;
    Server server(keeper.keep());
    server.say(get + get);
    keeper.waiting[1].send(ok("early"));
    answerLast(keeper);
    EXPECT_EQ(count(server.heard(), "HTTP/1.1 "), 1u);
    EXPECT_EQ(log.countAt(LogLevel::debug, nameOf(server.channel),
                          "the connection was closed before a queued response was sent"),
              1)
        << log.text();
    EXPECT_EQ(log.countAt(LogLevel::warning), 0) << log.text();
}

// The codec has already answered with an error: in the first case at once, in the second after a missing answer.
TEST(LateAnswer, ToARequestWhoseBodyIsMalformedIsADebugLine) {
    const std::string bad = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n";
    struct Keeps final : ChannelInboundHandler {
        explicit Keeps(Keeper& its) : keeper(its) {}
        void channelRead(ChannelHandlerContext&, Message&& message) override {
            if (message.is<Request>()) keeper.waiting.push_back(message.take<Request>().responder());
            message.reset();
        }
        Keeper& keeper;
    };
    for (const std::string& before : {std::string(), get}) {
        const LogCapture log;
        Keeper keeper;
        EmbeddedChannel channel;
        channel.pipeline().addLast<ServerCodec>().addLast<Keeps>(keeper);
        channel.writeInbound(Buffer::copyOf(before + bad));
        keeper.waiting.back().send(ok("late"));
        EXPECT_EQ(log.countAt(LogLevel::debug, nameOf(channel), "was written after its connection had begun to close"),
                  1)
            << log.text();
        EXPECT_EQ(log.countAt(LogLevel::warning), 0) << log.text();
        channel.finishAndReleaseAll();
    }
}

TEST(LateAnswer, ThePiecesBehindAHeadThatWasRefusedAreDebugLines) {
    const LogCapture log;
    Keeper keeper;
    Server server(keeper.keep());
    server.say(get);
    BodyWriter body = keeper.waiting[0].begin(unsendable());
    body.write(Buffer::copyOf("piece"));
    body.end();
    EXPECT_EQ(log.countAt(LogLevel::error, "an HTTP response was refused"), 1) << log.text();
    EXPECT_EQ(log.countAt(LogLevel::debug, "was written after its connection had begun to close"), 2) << log.text();
    EXPECT_EQ(log.countAt(LogLevel::warning), 0) << log.text();
}

TEST(LateAnswer, BeforeAnyRequestIsAWarning) {
    const LogCapture log;
    Server server(test::hello);
    server.channel.channel().writeAndFlush(Message(ok("too early")));
    EXPECT_EQ(server.heard(), "");
    EXPECT_EQ(log.countAt(LogLevel::warning, nameOf(server.channel), "it names no request"), 1) << log.text();
}

// Debug lines are rarely printed and must not use up the limit of warnings.
TEST(LateAnswer, ManyOfThemHideNoFault) {
    const LogCapture log;
    Keeper keeper;
    Server server(keeper.keep());
    server.say(get + get);
    answerLast(keeper);
    BodyWriter late = keeper.waiting[1].begin(Response(Status::ok));
    for (int i = 0; i < 1000; ++i) late.write(Buffer::copyOf("late"));
    EXPECT_LE(log.countAt(LogLevel::debug, "was written after its connection had begun to close"), mostLines);
    server.channel.channel().writeAndFlush(Message(Buffer::copyOf("no answer")));
    EXPECT_EQ(log.countAt(LogLevel::warning, "a Buffer was written to ServerCodec"), 1) << log.text();
    late.end();
}

// ---- what the client codec refuses ----

TEST(ClientCodecLog, ARequestThatIsNotSentNamesTheChannelAndTheHandler) {
    const LogCapture log;
    EmbeddedChannel channel;
    channel.pipeline().addLast<ClientCodec>();
    channel.pipeline().addLast("relay", std::make_unique<Relay>());
    const auto refused = [&](std::string_view why) {
        return log.countAt(LogLevel::error, nameOf(channel), "an HTTP request was not sent: ", why,
                           "handler 'relay' was the last to pass it on");
    };
    channel.channel().writeAndFlush(Message(piece("outside")));
    EXPECT_EQ(refused("HTTP content outside the body of a request"), 1) << log.text();
    ClientRequest bad;
    bad.headers.add("Bad Name", "x");
    channel.channel().writeAndFlush(std::move(bad));
    EXPECT_EQ(refused(""), 2) << log.text();
    EXPECT_EQ(channel.readOutboundText(), "");
    channel.finishAndReleaseAll();
}

TEST(ClientCodecLog, AThousandRefusalsAreFewLines) {
    const LogCapture log;
    EmbeddedChannel channel(std::make_unique<ClientCodec>());
    for (int i = 0; i < 1000; ++i) channel.channel().write(Message(piece("outside")));
    EXPECT_GE(log.count("an HTTP request was not sent: "), 1);
    EXPECT_LE(log.count("an HTTP request was not sent: "), mostLines);
    channel.finishAndReleaseAll();
}

}  // namespace
}  // namespace weft::http
