// A peer sends but does not read: the server stops reading, holds little, and answers everything in the end.
#include <weft/http/server_codec.hpp>

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "pipeline/http/slow_peer.hpp"

namespace weft::http {
namespace {

using test::Application;
using test::count;
using test::echo;
using test::get;
using test::hello;
using test::Keeper;
using test::post;
using test::SlowPeer;

TEST(ServerCodecPressure, APeerThatNeverReadsIsNotReadFromAnyMore) {
    constexpr std::size_t body = 200'000;
    SlowPeer peer(echo);
    for (int i = 0; i < 60; ++i) peer.send(post(std::string(body, '#')));
    peer.deliver();
    EXPECT_FALSE(peer.channel.sink->wantsRead);
    EXPECT_LE(peer.mostPending, body + WriteBufferWaterMark::defaultHigh + 1'000) << "one answer above the mark";
    EXPECT_GE(peer.unread(), 58 * body);
}

TEST(ServerCodecPressure, AllAnswersArriveOnceThePeerReads) {
    SlowPeer peer(echo);
    for (int i = 0; i < 60; ++i) peer.send(post(std::string(50'000, '#')));
    peer.deliver();
    while (peer.received().size() < 60 * 50'000u) peer.take(10'000);
    peer.takeAll();
    EXPECT_EQ(count(peer.received(), "#"), 60 * 50'000u);
    EXPECT_EQ(count(peer.received(), "HTTP/1.1 200 OK"), 60u);
    EXPECT_LE(peer.mostPending, 50'000 + WriteBufferWaterMark::defaultHigh + 1'000);
    EXPECT_TRUE(peer.channel.sink->wantsRead);
}

TEST(ServerCodecPressure, SmallAnswersToManyPipelinedRequestsStopAtTheMarkToo) {
    SlowPeer peer(hello);
    std::string requests;
    for (int i = 0; i < 20'000; ++i) requests += get;
    peer.send(requests);
    peer.deliver();
    EXPECT_LE(peer.mostPending, WriteBufferWaterMark::defaultHigh + 20'000) << "a block of answers above the mark";
    EXPECT_GT(peer.unread(), 0u);
    peer.takeAll();
    EXPECT_EQ(count(peer.received(), "Hello, World!"), 20'000u);
}

TEST(ServerCodecPressure, AnAnswerThatCrossesTheHighMarkIsNoticedAtOnce) {
    std::vector<bool> writable;
    SlowPeer peer([&](ChannelHandlerContext& ctx, FullRequest&) {
        ctx.write(Message(ok("Hello, World!")));
        writable.push_back(ctx.channel().isWritable());
    });
    peer.channel->setOption(ChannelOption::WRITE_BUFFER_WATER_MARK, WriteBufferWaterMark(100, 300));
    peer.send(get + get + get + get + get);
    peer.deliver();
    EXPECT_EQ(writable, (std::vector<bool>{true, true, false})) << "without a flush, and then nothing more is read";
}

// Calls `ends` at the high mark, which is reached inside an answer.
struct EndsAtTheMark final : ChannelInboundHandler {
    explicit EndsAtTheMark(std::function<void(ChannelHandlerContext&)> end) : ends(std::move(end)) {}
    void channelWritabilityChanged(ChannelHandlerContext& ctx) override {
        if (!ctx.channel().isWritable() && ends) std::exchange(ends, nullptr)(ctx);
    }
    std::function<void(ChannelHandlerContext&)> ends;
};

// A server under more small requests than the high mark allows answers to.
struct EndedAtTheMark : SlowPeer {
    explicit EndedAtTheMark(const std::function<void(ChannelHandlerContext&)>& ends)
        : SlowPeer([&](ChannelPipeline& pipeline) {
              pipeline.addLast<ServerCodec>().addLast<ObjectAggregator>(std::size_t{1000});
              pipeline.addLast<EndsAtTheMark>(ends).addLast<Application>(hello);
          }) {
        std::string requests;
        for (int i = 0; i < 5'000; ++i) requests += get;
        send(requests);
        deliver();
    }
};

TEST(ServerCodecPressure, TheApplicationMayCloseTheConnectionAtTheHighMark) {
    EndedAtTheMark peer([](ChannelHandlerContext& ctx) { ctx.close(); });
    EXPECT_FALSE(peer.channel->open());
    EXPECT_EQ(peer.channel->pendingBytes(), 0u);
}

TEST(ServerCodecPressure, TheApplicationMayRemoveTheCodecAtTheHighMark) {
    EndedAtTheMark peer([](ChannelHandlerContext& ctx) { ctx.pipeline().remove<ServerCodec>(); });
    EXPECT_TRUE(peer.channel->open());
    peer.takeAll();
    const std::size_t answers = count(peer.received(), "HTTP/1.1 200 OK");
    EXPECT_GT(answers, 100u);
    EXPECT_LT(answers, 5'000u);
    EXPECT_TRUE(peer.received().ends_with("\r\n\r\nHello, World!")) << "whole answers only";
}

TEST(ServerCodecPressure, AFlushInsideAnAnswerThatWaitedForItsTurnTakesEffect) {
    struct FlushesAtTheMark final : ChannelInboundHandler {
        void channelWritabilityChanged(ChannelHandlerContext& ctx) override { ctx.flush(); }
    };
    std::vector<Ticket> tickets;
    ChannelHandlerContext* context = nullptr;
    SlowPeer peer([&](ChannelPipeline& pipeline) {
        pipeline.addLast<ServerCodec>().addLast<ObjectAggregator>(std::size_t{1000}).addLast<FlushesAtTheMark>();
        pipeline.addLast<Application>([&](ChannelHandlerContext& ctx, FullRequest& request) {
            context = &ctx;
            Response().to(request);  // the test writes the answer
            tickets.push_back(request.ticket());
        });
    });
    peer.send(get + get + get);
    peer.deliver();
    peer.channel.sink->room = std::numeric_limits<std::size_t>::max();
    const auto answer = [&](std::size_t index, const std::string& body) {
        Response response = ok(Buffer::copyOf(body));
        detail::Tickets::set(response, tickets.at(index));
        context->write(Message(std::move(response)));
    };
    answer(0, "x");
    answer(2, std::string(70'000, '#'));
    EXPECT_EQ(peer.received(), "");
    answer(1, "x");
    EXPECT_EQ(count(peer.received(), "#"), 70'000u) << "nothing else flushes";
}

TEST(ServerCodecPressure, ASocketThatTakesEverythingNeverStopsTheReading) {
    SlowPeer peer(hello);
    peer.channel.sink->room = std::numeric_limits<std::size_t>::max();
    std::string requests;
    for (int i = 0; i < 20'000; ++i) requests += get;
    peer.send(requests);
    peer.deliver();
    EXPECT_EQ(count(peer.received(), "Hello, World!"), 20'000u);
    EXPECT_EQ(peer.channel.sink->count("wantRead 0"), 0u);
}

// The server echoes a streamed body: the body itself must wait, not only the next request.
TEST(ServerCodecPressure, AStreamedEchoStopsInsideABody) {
    struct BodyEcho final : ChannelInboundHandler {
        void channelRead(ChannelHandlerContext& ctx, Message&& message) override {
            if (message.is<Request>()) {
                Response head(Status::ok);
                head.streamed = true;
                ctx.write(Message(std::move(head)));
            } else {
                ctx.write(std::move(message));
            }
            ctx.flush();
        }
    };
    SlowPeer peer([](ChannelPipeline& pipeline) { pipeline.addLast<ServerCodec>().addLast<BodyEcho>(); });
    peer.send(post(std::string(5'000'000, '#')));
    peer.deliver();
    EXPECT_FALSE(peer.channel.sink->wantsRead);
    EXPECT_LE(peer.mostPending, WriteBufferWaterMark::defaultHigh + 2 * SlowPeer::readBytes);
    peer.takeAll();
    EXPECT_EQ(count(peer.received(), "#"), 5'000'000u);
}

// A read cycle delivers more than one piece; the codec stops decoding inside the bytes it has already received.
TEST(ServerCodecPressure, AStreamedEchoStopsInsideWhatHasGatheredToo) {
    struct BodyEcho final : ChannelInboundHandler {
        void channelRead(ChannelHandlerContext& ctx, Message&& message) override {
            if (message.is<Request>()) {
                Response head(Status::ok);
                head.streamed = true;
                ctx.write(Message(std::move(head)));
            } else {
                ctx.write(std::move(message));
            }
            ctx.flush();
            mostPending = std::max(mostPending, ctx.channel().pendingBytes());
        }
        std::size_t mostPending = 0;
    };
    SlowPeer peer([](ChannelPipeline& pipeline) { pipeline.addLast<ServerCodec>().addLast<BodyEcho>(); });
    const std::string bytes = post(std::string(2'000'000, '#'));
    for (std::size_t at = 0; at < bytes.size(); at += SlowPeer::readBytes) {  // all in one cycle
        peer.channel->onRead(Buffer::copyOf(std::string_view(bytes).substr(at, SlowPeer::readBytes)));
    }
    peer.channel->onReadComplete();
    peer.channel.run();
    while (count(peer.received(), "#") < 2'000'000) peer.take(100'000);
    EXPECT_LE(peer.channel.pipeline().get<BodyEcho>()->mostPending,
              WriteBufferWaterMark::defaultHigh + 2 * SlowPeer::readBytes);
}

TEST(ServerCodecPressure, TheEndOfInputBehindRequestsThatWaitIsNotTakenForACutBody) {
    SlowPeer peer(echo);
    peer.channel->setOption(ChannelOption::WRITE_BUFFER_WATER_MARK, WriteBufferWaterMark(100, 200));
    peer.channel->onRead(Buffer::copyOf(post(std::string(500, '#')) + post(std::string(500, '#'))));
    peer.channel->onEof();
    peer.channel.run();
    EXPECT_TRUE(peer.channel->open());
    peer.takeAll();
    EXPECT_EQ(count(peer.received(), "#"), 1'000u);
    EXPECT_FALSE(peer.channel->open());
}

TEST(ServerCodecPressure, ItReadsOnOnlyBelowBothLimits) {
    Keeper keeper;
    SlowPeer peer(keeper.keep(), {.maxInFlight = 1});
    peer.send(get + get + get);
    peer.deliver();
    ASSERT_EQ(keeper.waiting.size(), 1u);
    keeper.waiting[0].send(ok(std::string(100'000, '#')));
    peer.deliver();
    EXPECT_EQ(keeper.waiting.size(), 1u) << "in flight: none, but 100,000 bytes are pending";
    peer.takeAll();
    ASSERT_EQ(keeper.waiting.size(), 2u);
    keeper.waiting[1].send(ok("2"));
    peer.deliver();
    ASSERT_EQ(keeper.waiting.size(), 3u);
    keeper.waiting[2].send(ok("3"));
    peer.deliver();
    EXPECT_TRUE(peer.received().ends_with("3"));
}

// Checking for room writes the waiting output, and a listener of that write may remove the codec.
TEST(ServerCodecPressure, ACodecThatIsRemovedWhenTheSocketTakesItsAnswerDecodesNoMore) {
    bool removed = false;
    int answers = 0;
    const auto answer = [&](ChannelHandlerContext& ctx, FullRequest&) {
        ++answers;
        ChannelPromise taken = ctx.newPromise();
        taken.addListener([&, channel = &ctx.channel()](const ChannelFuture&) {
            if (!std::exchange(removed, true)) channel->pipeline().remove<ServerCodec>();
        });
        ctx.writeAndFlush(Message(ok(std::string(100'000, 'x'))), std::move(taken));
    };
    SlowPeer peer(answer);
    peer.channel.sink->room = 1'000'000;
    peer.send(get + get);
    peer.deliver();
    EXPECT_TRUE(removed);
    EXPECT_EQ(answers, 1);
}

// The second of two requests is answered piece by piece, the first one not at all; then a third one arrives.
class AnsweredEarly {
  public:
    template <class Piece>
    AnsweredEarly(int pieces, Piece piece) {
        peer_.channel.sink->room = std::numeric_limits<std::size_t>::max();
        peer_.send(get + get);
        peer_.deliver();
        second_.emplace(keeper_.waiting.at(1).begin(Response(Status::ok)));
        for (int i = 0; i < pieces; ++i) second_->write(piece());
        peer_.send(get);
        peer_.deliver();
    }
    int asked() const { return asked_; }
    void answerTheFirstTwo() {
        keeper_.waiting[0].send(ok("first"));
        second_->end();
        peer_.deliver();
    }

  private:
    Keeper keeper_;
    int asked_ = 0;
    SlowPeer peer_{[this](ChannelHandlerContext&, FullRequest& request) {
        ++asked_;
        keeper_.waiting.push_back(request.responder());
    }};
    std::optional<BodyWriter> second_;
};

TEST(ServerCodecPressure, EarlyPiecesOfOneByteCountWithWhatTheyHold) {
    AnsweredEarly requests(2000, [] { return Buffer::copyOf("x"); });
    EXPECT_EQ(requests.asked(), 2) << "2,000 pieces of one byte hold more than 64 KiB";
    requests.answerTheFirstTwo();
    EXPECT_EQ(requests.asked(), 3);
}

TEST(ServerCodecPressure, EarlyPiecesDoNotKeepLargeBlocks) {
    const auto oneByteOfMany = [] {
        Buffer large = Buffer::allocate(16 * 1024);
        large.append("x");
        return large;
    };
    EXPECT_EQ(AnsweredEarly(20, oneByteOfMany).asked(), 3) << "20 bytes are few";
}

TEST(ServerCodecPressure, EarlyPiecesOfOneBlockCountItOnce) {
    const auto block = [] { return Buffer::copyOf(std::string(15 * 1024, 'x')); };
    Buffer common = block();
    int pieces = 0;
    const auto next = [&] { return ++pieces <= 2 ? block() : common.split(5 * 1024); };
    EXPECT_EQ(AnsweredEarly(5, next).asked(), 3) << "three blocks of 16 KiB, not five";
}

// The first request is not answered; the others are answered at once, with 100,000 bytes each.
TEST(ServerCodecPressure, EarlyAnswersAreBounded) {
    Keeper keeper;
    int asked = 0;
    SlowPeer peer([&](ChannelHandlerContext& ctx, FullRequest& request) {
        if (++asked == 1) return keeper.waiting.push_back(request.responder());
        Response response = ok(std::string(100'000, '#'));
        response.to(request);
        ctx.writeAndFlush(Message(std::move(response)));
    });
    peer.channel.sink->room = std::numeric_limits<std::size_t>::max();
    for (int i = 0; i < 10; ++i) peer.send(get);
    peer.deliver();
    EXPECT_EQ(asked, 2) << "one answer is above the mark";
    keeper.waiting[0].send(ok("first"));
    peer.deliver();
    EXPECT_EQ(asked, 10);
    EXPECT_EQ(count(peer.received(), "#"), 900'000u);
}

}  // namespace
}  // namespace weft::http
