// Writes made while the codec is writing: by a handler nearer the transport, inside a write, or by a write's listener.
#include <weft/http/server_codec.hpp>

#include <gtest/gtest.h>

#include <cstdio>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <weft/pipeline/channel_events.hpp>

#include "pipeline/http/codec_server.hpp"

namespace weft::http {
namespace {

using test::count;
using test::get;
using test::Server;

// After it has passed on the first write that contains `mark`, runs `inside`, as a handler does that flushes.
struct InFront final : ChannelOutboundHandler {
    void write(ChannelHandlerContext& ctx, Message&& message, ChannelPromise promise) override {
        const bool mine = message.get<Buffer>().view().find(mark) != std::string_view::npos;
        ctx.write(std::move(message), std::move(promise));
        if (mine && inside) std::exchange(inside, {})();
    }
    std::string mark;
    std::function<void()> inside;
};

// Records the ticket of each request, and its context; the test writes the answers.
struct ServerCodecReentry : testing::Test {
    ServerCodecReentry()
        : server([this](ChannelHandlerContext& ctx, FullRequest& request) {
              context = &ctx;
              Response().to(request);  // the test writes the answer
              tickets.push_back(request.ticket());
          }) {
        server.channel.pipeline().addFirst<InFront>();
        front = server.channel.pipeline().get<InFront>();
    }
    void begin(Ticket ticket) {
        Response response;
        detail::Tickets::set(response, ticket);
        response.streamed = true;
        context->write(Message(std::move(response)));
    }
    void piece(Ticket ticket, std::string_view text) { context->write(Message(Content{Buffer::copyOf(text), ticket})); }
    void end(Ticket ticket) { context->writeAndFlush(Message(LastContent{ticket})); }
    void whole(Ticket ticket, std::string_view body) {
        Response response = ok(Buffer::copyOf(body));
        detail::Tickets::set(response, ticket);
        context->writeAndFlush(Message(std::move(response)));
    }
    // A body too long to be copied. Its write triggers `inside` in the handler between the codec and the transport.
    std::string longBody(char what, std::function<void()> inside) {
        front->mark = std::string(10, what);
        front->inside = std::move(inside);
        return std::string(5000, what);
    }
    // A promise that sets `ended` when its write is done; until then `ended` is "never".
    ChannelPromise watched() {
        ChannelPromise promise = context->newPromise();
        promise.addListener([this](const ChannelFuture& done) { ended = done.success() ? "written" : "failed"; });
        return promise;
    }
    Response refused(Ticket ticket) {  // an interim head that cannot be sent: 500 instead
        Response hints(Status::earlyHints);
        detail::Tickets::set(hints, ticket);
        hints.headers.add("X", "a\nb");
        return hints;
    }
    static std::string chunk(std::string_view data) {
        char size[20];
        std::snprintf(size, sizeof size, "%zx\r\n", data.size());
        return size + std::string(data) + "\r\n";
    }
    static std::string bodiesOf(const std::string& said) {  // everything after the first head
        const std::size_t at = said.find("\r\n\r\n");
        return at == std::string::npos ? said : said.substr(at + 4);
    }

    ChannelHandlerContext* context = nullptr;
    std::vector<Ticket> tickets;
    Server server;
    InFront* front = nullptr;
    std::string ended = "never";
};

TEST_F(ServerCodecReentry, TheEndOfABodyWaitsForTheRestOfItsPiece) {
    server.say(get);
    begin(tickets[0]);
    const std::string body = longBody('x', [&] { end(tickets[0]); });
    piece(tickets[0], body);
    EXPECT_EQ(bodiesOf(server.heard()), chunk(body) + "0\r\n\r\n");
    EXPECT_TRUE(server.say(get).empty());
    whole(tickets[1], "next");  // the connection still works
    EXPECT_TRUE(server.heard().ends_with("\r\n\r\nnext"));
}

TEST_F(ServerCodecReentry, APieceWaitsForEarlierPiecesWrittenAheadOfTheirTurn) {
    server.say(get + get);
    begin(tickets[1]);
    const std::string body = longBody('x', [&] {
        piece(tickets[1], "third");
        end(tickets[1]);
    });
    piece(tickets[1], body);
    piece(tickets[1], "second");
    whole(tickets[0], "");
    const std::string said = server.heard();
    EXPECT_TRUE(said.ends_with(chunk(body) + chunk("second") + chunk("third") + "0\r\n\r\n")) << said.substr(0, 400);
    EXPECT_EQ(count(said, "HTTP/1.1 200 OK"), 2u);
}

TEST_F(ServerCodecReentry, TheAnswerToTheNextRequestWaitsForTheLongBodyOfThisOne) {
    server.say(get + get + get);
    const std::string body = longBody('x', [&] {
        whole(tickets[1], "second");
        whole(tickets[2], "third");
    });
    whole(tickets[0], body);
    const std::string said = server.heard();
    EXPECT_EQ(count(said, "HTTP/1.1 200 OK"), 3u);
    EXPECT_LT(said.find(body), said.find("second"));
    EXPECT_LT(said.find("second"), said.find("third"));
}

// More requests than the table has slots: it is reallocated while one of them is being answered.
TEST_F(ServerCodecReentry, RequestsThatComeInsideAWriteAreAnsweredInTheirOrder) {
    server.say(get);
    begin(tickets[0]);
    const std::string body = longBody('x', [&] {
        std::string many;
        for (int i = 0; i < 12; ++i) many += get;
        server.channel.writeInbound(Buffer::copyOf(many));
    });
    piece(tickets[0], body);
    end(tickets[0]);
    ASSERT_EQ(tickets.size(), 13u);
    for (std::size_t i = 12; i > 0; --i) whole(tickets[i], "body" + std::to_string(i) + ";");
    const std::string said = server.heard();
    EXPECT_EQ(count(said, "HTTP/1.1 200 OK"), 13u);
    for (int i = 1; i < 12; ++i) {
        EXPECT_LT(said.find("body" + std::to_string(i) + ";"), said.find("body" + std::to_string(i + 1) + ";"));
    }
}

// Early answers fill the output, so the codec writes them before the next head; another read arrives inside that write.
TEST_F(ServerCodecReentry, EarlyAnswersThatMakeRoomKeepTheirOrder) {
    std::string asked;
    for (int i = 0; i < 16; ++i) asked += get;
    server.say(asked);
    const std::string filler(1000, '.');
    for (std::size_t i = 15; i > 0; --i) whole(tickets[i], "<" + std::to_string(i) + ">" + filler);
    front->mark = "<0>";  // the first to be written for want of room
    front->inside = [&] { server.channel.writeInbound(Buffer::copyOf(get)); };
    whole(tickets[0], "<0>" + filler);
    server.channel.runPendingTasks();
    ASSERT_EQ(tickets.size(), 17u);
    whole(tickets[16], "<16>");
    const std::string said = server.heard();
    EXPECT_EQ(count(said, "HTTP/1.1 200 OK"), 17u);
    for (int i = 0; i < 16; ++i) {
        EXPECT_LT(said.find("<" + std::to_string(i) + ">"), said.find("<" + std::to_string(i + 1) + ">"));
    }
}

TEST_F(ServerCodecReentry, ACodecThatIsRemovedInsideAWriteFailsWhatWasToFollow) {
    server.say(get + get);
    begin(tickets[1]);
    const std::string body = longBody('x', [&] { server.channel.pipeline().remove<ServerCodec>(); });
    piece(tickets[1], body);
    context->write(Message(Content{Buffer::copyOf("behind"), tickets[1]}), watched());
    whole(tickets[0], "");
    const std::string said = server.heard();
    EXPECT_EQ(ended, "failed");
    EXPECT_NE(said.find(body), std::string::npos);
    EXPECT_EQ(said.find("behind"), std::string::npos);
}

TEST_F(ServerCodecReentry, AListenerOfARefusedPieceMayRemoveTheCodec) {
    server.say(get);
    Response response;
    detail::Tickets::set(response, tickets[0]);
    response.streamed = response.hasLength = true;
    response.contentLength = 3;
    context->write(Message(std::move(response)));
    ChannelPromise promise = context->newPromise();
    promise.addListener([&](const ChannelFuture& done) {
        EXPECT_FALSE(done.success());
        server.channel.pipeline().remove<ServerCodec>();
    });
    context->write(Message(Content{Buffer::copyOf("four"), tickets[0]}), std::move(promise));
    EXPECT_EQ(server.heard().find("four"), std::string::npos);
}

TEST_F(ServerCodecReentry, TheWriteThatRemovesTheCodecEndsToo) {
    server.say(get);
    begin(tickets[0]);
    const std::string body = longBody('x', [&] { server.channel.pipeline().remove<ServerCodec>(); });
    context->writeAndFlush(Message(Content{Buffer::copyOf(body), tickets[0]}), watched());
    server.heard();
    EXPECT_NE(ended, "never");
}

TEST_F(ServerCodecReentry, ALongAnswerWhoseHeadRemovesTheCodecIsStillWrittenWhole) {
    server.say(get);
    front->mark = "HTTP/1.1 200";
    front->inside = [&] { server.channel.pipeline().remove<ServerCodec>(); };
    Response response = ok(Buffer::copyOf(std::string(5000, 'y')));
    detail::Tickets::set(response, tickets[0]);
    context->writeAndFlush(Message(std::move(response)), watched());
    server.channel.channel().flush();
    EXPECT_TRUE(server.heard().ends_with("\r\n\r\n" + std::string(5000, 'y')));
    EXPECT_EQ(ended, "written");
}

TEST_F(ServerCodecReentry, AListenerOfAnAnswerThatComesTooLateMayRemoveTheCodec) {
    server.say(get + get);
    ChannelPromise promise = context->newPromise();
    promise.addListener([&](const ChannelFuture&) { server.channel.pipeline().remove<ServerCodec>(); });
    Response early = ok("second");
    detail::Tickets::set(early, tickets[1]);
    context->writeAndFlush(Message(std::move(early)), std::move(promise));
    Response last = ok("first");
    last.keepAlive = false;
    detail::Tickets::set(last, tickets[0]);
    context->writeAndFlush(Message(std::move(last)));
    EXPECT_TRUE(server.heard().ends_with("first"));
}

// The channel is not writable then, so the next request flushes the pending output before it is decoded.
TEST_F(ServerCodecReentry, AFlushInsideAWriteAppliesToTheKeptOutput) {
    server.say(get);
    begin(tickets[0]);
    front->mark = std::string(10, 'x');
    front->inside = [&] {
        end(tickets[0]);
        server.channel.pipeline().fireChannelRead(Message(Buffer::copyOf(get)));
    };
    piece(tickets[0], std::string(200'000, 'x'));
    EXPECT_TRUE(server.heard().ends_with("\r\n0\r\n\r\n"));
}

TEST_F(ServerCodecReentry, ARefusedInterimHeadIsTheAnswer) {
    server.say(get + get);
    context->write(Message(refused(tickets[1])));
    whole(tickets[1], "too late");
    whole(tickets[0], "first");
    EXPECT_EQ(count(server.heard(), "HTTP/1.1 "), 2u);
}

TEST_F(ServerCodecReentry, ARefusedInterimHeadInsideAnotherIsTheAnswer) {
    server.say(get);
    front->mark = "Link";
    front->inside = [&] {
        context->write(Message(refused(tickets[0])));
        whole(tickets[0], "too late");
    };
    Response hints(Status::earlyHints);
    detail::Tickets::set(hints, tickets[0]);
    hints.headers.add("Link", std::string(3000, 'x'));
    context->write(Message(std::move(hints)), context->newPromise());
    const std::string said = server.heard();
    EXPECT_EQ(count(said, "HTTP/1.1 "), 2u);  // 103 and 500
    EXPECT_EQ(said.find("too late"), std::string::npos);
}

TEST_F(ServerCodecReentry, AnotherProtocolMayBeAskedForAndGrantedInsideAWrite) {
    server.say(get);
    const std::string body = longBody('x', [&] {
        server.channel.pipeline().fireChannelRead(
            Message(Buffer::copyOf("GET /a HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: z\r\n\r\nRAW")));
        Response yes = switchTo("z");
        detail::Tickets::set(yes, tickets[1]);
        context->writeAndFlush(Message(std::move(yes)));
    });
    whole(tickets[0], body);
    const std::string said = server.heard();
    EXPECT_EQ(count(said, "HTTP/1.1 101"), 1u);
    EXPECT_LT(said.find(body), said.find("HTTP/1.1 101"));
    EXPECT_TRUE(server.channel.readInbound().is<Buffer>());
}

TEST_F(ServerCodecReentry, ADrainThatBeginsInsideAWriteSendsTheKeptOutput) {
    server.say(get + get);
    const std::string body = longBody('x', [&] {
        server.channel.pipeline().fireUserEventTriggered(Message(DrainStarted{}));
        whole(tickets[1], "second");
    });
    whole(tickets[0], body);
    const std::string said = server.heard();
    EXPECT_EQ(count(said, "Connection: close"), 1u);
    EXPECT_TRUE(said.ends_with("second"));
}

}  // namespace
}  // namespace weft::http
