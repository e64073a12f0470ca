// Handlers that expect messages no handler before them sends, and messages that no handler accepts.
#include <weft/pipeline/handler_types.hpp>

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include <weft/http/body_streamer.hpp>
#include <weft/http/client_codec.hpp>
#include <weft/http/object_aggregator.hpp>
#include <weft/http/response_aggregator.hpp>
#include <weft/http/server_codec.hpp>
#include <weft/pipeline/codec/line_based_frame_decoder.hpp>
#include <weft/pipeline/codec/string_codec.hpp>
#include <weft/pipeline/embedded_channel.hpp>
#include <weft/pipeline/handlers/flow_control_handler.hpp>
#include <weft/pipeline/handlers/logging_handler.hpp>
#include <weft/pipeline/simple_inbound_handler.hpp>
#include <weft/testing/recorder.hpp>

#include "scripted_sink.hpp"
#include "support/log_capture.hpp"

namespace weft {
namespace {

using test::ScriptedChannel;

constexpr const char* waits = "which no handler before it produces";

// `n` makes distinct types for each test, because each pair of types is reported once per process.
template <int>
struct Letter {};
template <int n>
struct TakesText final : SimpleInboundHandler<std::string> {
    void channelRead0(ChannelHandlerContext&, std::string) override {}
};
template <int n>
struct TakesLetter final : SimpleInboundHandler<Letter<n>> {
    void channelRead0(ChannelHandlerContext&, Letter<n>) override {}
};
template <int n>
struct MakesLetter final : SimpleInboundHandler<std::string> {
    using InboundOut = Messages<Letter<n>>;
    void channelRead0(ChannelHandlerContext& ctx, std::string) override { ctx.fireChannelRead(Message(Letter<n>{})); }
};
// Does not declare what it passes on.
struct Anything final : ChannelInboundHandler {
    void channelRead(ChannelHandlerContext& ctx, Message&& message) override {
        ctx.fireChannelRead(std::move(message));
    }
};
struct Sees final : ChannelInboundHandler {
    void channelActive(ChannelHandlerContext& ctx) override { ctx.fireChannelActive(); }
};

struct Pipeline {
    template <class... Handlers>
    Pipeline& add() {
        (channel.pipeline().addLast<Handlers>(), ...);
        return *this;
    }
    int warnings() {
        channel.start();
        return log.count(waits);
    }
    test::LogCapture log;
    ScriptedChannel channel;
};

TEST(HandlerTypes, AHandlerThatWaitsForWhatNobodyGivesIsReportedAtAssemblyWithBothNames) {
    Pipeline test;
    test.channel.pipeline().addLast<LineBasedFrameDecoder>(100);
    test.add<TakesText<1>>();
    EXPECT_EQ(test.warnings(), 1);
    EXPECT_EQ(test.log.count("handler TakesText#0 accepts std::", "string",
                             "messages that can reach it: weft::Buffer from LineBasedFrameDecoder#0"),
              1)
        << test.log.text();
}

TEST(HandlerTypes, WithNothingBeforeItTheTransportIsNamed) {
    Pipeline test;
    test.add<TakesText<2>>();
    EXPECT_EQ(test.warnings(), 1);
    EXPECT_EQ(test.log.count("messages that can reach it: weft::Buffer from the transport"), 1) << test.log.text();
}

TEST(HandlerTypes, APipelineThatFitsIsNotReported) {
    Pipeline test;
    test.channel.pipeline().addLast<LoggingHandler>();
    test.channel.pipeline().addLast<LineBasedFrameDecoder>(100);
    test.add<Sees, StringDecoder, FlowControlHandler, MakesLetter<3>, TakesLetter<3>>();
    EXPECT_EQ(test.warnings(), 0) << test.log.text();
}

TEST(HandlerTypes, ConsumedMessagesDoNotReachLaterHandlersUnlessPassedOn) {
    Pipeline test;
    test.add<StringDecoder, MakesLetter<4>, TakesText<4>>();
    EXPECT_EQ(test.warnings(), 1) << test.log.text();
    EXPECT_EQ(test.log.count("handler TakesText#0", "Letter<4> from MakesLetter#0"), 1) << test.log.text();
}

TEST(HandlerTypes, TheOrderOfTheHandlersCounts) {
    Pipeline test;
    test.add<TakesText<5>, StringDecoder>();
    EXPECT_EQ(test.warnings(), 1);
}

TEST(HandlerTypes, AfterAHandlerThatDeclaresNothingNothingIsReported) {
    Pipeline test;
    test.add<Anything, TakesLetter<6>>();
    EXPECT_EQ(test.warnings(), 0);
    Pipeline second;
    second.add<TakesText<7>, TakesLetter<7>>();
    second.channel.start();
    EXPECT_EQ(second.log.count("TakesLetter"), 0) << "TakesText may give anything";
}

struct Base : SimpleInboundHandler<std::string> {
    using InboundOut = Messages<>;
    void channelRead0(ChannelHandlerContext&, std::string) override {}
};
struct Derived final : Base {};

TEST(HandlerTypes, AnObjectOfADerivedClassIsNotJudgedByItsBase) {
    Pipeline test;
    test.channel.pipeline().addLast(std::unique_ptr<Base>(std::make_unique<Derived>()));
    test.add<TakesLetter<8>>();
    EXPECT_EQ(test.warnings(), 0) << test.log.text();
}

TEST(HandlerTypes, HandlersThatAnInitializerAddsAreSeenTooAndOnlyTheFinishedPipelineIsJudged) {
    Pipeline test;
    test.channel.pipeline().addLast([](Channel& channel) {
        channel.pipeline().addLast<TakesText<9>>();
        channel.pipeline().addFirst<StringDecoder>();
    });
    EXPECT_EQ(test.warnings(), 0) << "the order of the calls does not count, the order of the handlers does";
    Pipeline wrong;
    wrong.channel.pipeline().addLast([](Channel& channel) { channel.pipeline().addLast<TakesText<10>>(); });
    EXPECT_EQ(wrong.warnings(), 1);
}

TEST(HandlerTypes, TheSameFaultIsToldOnceNotPerConnection) {
    int warnings = 0;
    for (int i = 0; i < 3; ++i) {
        Pipeline test;
        warnings += test.add<TakesLetter<11>>().warnings();
    }
    EXPECT_EQ(warnings, 1);
}

TEST(HandlerTypes, ATransportOfWholeMessagesMayGiveAnything) {
    test::LogCapture log;
    EmbeddedChannel channel(std::make_unique<TakesLetter<12>>());
    EXPECT_EQ(log.count(waits), 0);
}

TEST(HandlerTypes, ListenersGiveChannels) {
    struct Accepts final : SimpleInboundHandler<ChannelRef> {
        void channelRead0(ChannelHandlerContext&, ChannelRef) override {}
    };
    Pipeline test;
    test.add<Accepts>();
    EXPECT_EQ(test.warnings(), 0);
}

// The most common mistake in a first HTTP server.
TEST(HandlerTypes, AnHttpHandlerWithoutItsAggregatorIsReported) {
    struct Application final : SimpleInboundHandler<http::FullRequest> {
        void channelRead0(ChannelHandlerContext&, http::FullRequest) override {}
    };
    struct TakesStreams final : SimpleInboundHandler<http::StreamedRequest> {
        void channelRead0(ChannelHandlerContext&, http::StreamedRequest) override {}
    };
    struct TakesAnswers final : SimpleInboundHandler<http::FullResponse> {
        void channelRead0(ChannelHandlerContext&, http::FullResponse) override {}
    };
    Pipeline whole;
    whole.add<http::ServerCodec, http::ObjectAggregator, Application>();
    EXPECT_EQ(whole.warnings(), 0) << whole.log.text();
    Pipeline streamed;
    streamed.add<http::ServerCodec, http::BodyStreamer, TakesStreams>();
    EXPECT_EQ(streamed.warnings(), 0) << streamed.log.text();
    Pipeline client;
    client.add<http::ClientCodec, http::ResponseAggregator, TakesAnswers>();
    EXPECT_EQ(client.warnings(), 0) << client.log.text();
    Pipeline test;
    test.add<http::ServerCodec, Application>();
    EXPECT_EQ(test.warnings(), 1);
    EXPECT_EQ(test.log.count("Application#0 accepts weft::http::FullRequest", "Request from ServerCodec#0"), 1)
        << test.log.text();
}

// ---- mismatches that only a message reveals ----

TEST(HandlerTypes, P4_AMessageThatReachesTheTailNamesItsTypeAndWhoPassedItOn) {
    Pipeline test;
    test.add<Anything, TakesLetter<13>, Sees>();
    test.channel.start();
    test.channel.deliver({"text"});
    EXPECT_EQ(test.log.count("a weft::Buffer reached the tail of a pipeline unhandled",
                             "TakesLetter#0 was the last to pass it on"),
              1)
        << test.log.text();
    Pipeline empty;
    empty.channel.start();
    empty.channel.deliver({"text"});
    EXPECT_EQ(empty.log.count("reached the tail", "the transport was the last to pass it on"), 1) << empty.log.text();
}

TEST(HandlerTypes, AMessageThatTheTransportCannotWriteNamesItsTypeAndWhoPassedItOn) {
    Pipeline test;
    test.channel.pipeline().addLast<StringEncoder>();
    test.channel.start();
    test.channel->writeAndFlush(Message(7));
    EXPECT_EQ(
        test.log.count("a int reached the head", "StringEncoder#0 was the last to pass it on", "writes only Buffers"),
        1)
        << test.log.text();
    ChannelPromise promise = test.channel->newPromise();
    test.channel.pipeline().remove<StringEncoder>();
    test.channel->writeAndFlush(Message(std::string("text")), promise);
    EXPECT_NE(describe(promise.future().cause()).find("the application was the last to pass it on"), std::string::npos);
}

}  // namespace
}  // namespace weft
