// The responses of the client codec: their order, bodies, early ends, other protocols behind a 101 and tunnels, and
// that the application sees the same however the bytes come.
#include <weft/http/client_codec.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <weft/pipeline/channel_option.hpp>
#include <weft/pipeline/embedded_channel.hpp>

#include "pipeline/http/codec_client.hpp"
#include "pipeline/http/deliveries.hpp"
#include "pipeline/http/response_cases.hpp"

namespace weft::http {
namespace {

using test::Client;
using test::refusal;
using test::ResponseCase;

const std::string two = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n";

TEST(ClientCodec, MatchesResponsesToRequestsByTheirOrder) {
    Client client;
    client.get();
    client.ask(ClientRequest(Method::head, "/"));
    client.get();
    EXPECT_EQ(client.answer(two + "ab" + two + "HTTP/1.1 304 N\r\nContent-Length: 9\r\n\r\n"),
              "1:200 (ab) end 2:200 3:304");
    EXPECT_EQ(client.outstanding(), 0u);
    client.get();
    EXPECT_EQ(client.answer("HTTP/1.1 103 E\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: "
                            "chunked\r\n\r\n2\r\nab\r\n0\r\nX-Sum: 7\r\n\r\n"),
              "interim 103 4:200 (ab) end X-Sum=7");
}

TEST(ClientCodec, A100PermitsTheBodyToBeSent) {
    Client client;
    ClientRequest request(Method::post, "/");
    request.headers.add("Expect", "100-continue");
    request.streamed = true;
    client.ask(std::move(request));
    EXPECT_EQ(client.answer("HTTP/1.1 100 Continue\r\n\r\n"), "interim 100");
    EXPECT_EQ(client.ask(Content{Buffer::copyOf("a")}), "1\r\na\r\n");
    client.ask(LastContent{});
    EXPECT_EQ(client.answer(two + "ab"), "1:200 (ab) end");
}

TEST(ClientCodec, ABodyUntilCloseEndsWithAnOrderlyEndOnly) {
    const std::string head = "HTTP/1.1 200 OK\r\n\r\nabc";
    Client orderly;
    orderly.get();
    EXPECT_EQ(orderly.answer(head), "1:200 close (abc)");
    orderly.channel.channel().onEof();
    EXPECT_EQ(orderly.got(), "end inactive");

    Client reset;
    reset.get();
    reset.answer(head);
    reset.channel.channel().onError(fromErrno(ECONNRESET));
    const std::string after = reset.got();
    EXPECT_EQ(after.find("end"), after.find("ended before the response was complete")) << after;
    EXPECT_TRUE(after.ends_with("inactive")) << after;

    Client closing;
    closing.get();
    closing.answer(head);
    closing.channel.close();
    EXPECT_EQ(closing.got(), "(bad HTTP response: the connection ended before the response was complete) inactive");

    Client halfOpen;
    halfOpen.channel.channel().setOption(ChannelOption::ALLOW_HALF_CLOSURE, true);
    halfOpen.get();
    halfOpen.answer(head);
    halfOpen.channel.channel().onEof();
    EXPECT_EQ(halfOpen.got(), "end");
}

TEST(ClientCodec, AnEndWithRequestsOutstandingIsAnError) {
    for (const std::string& bytes : {std::string(), std::string("HTTP/1.1 2"), two + "a", two + "ab"}) {
        Client client;
        client.get();
        client.get();
        client.answer(bytes);
        client.channel.channel().onEof();
        EXPECT_EQ(client.got(), "(bad HTTP response: the connection ended before the response was complete) inactive")
            << bytes;
    }
    Client idle;
    idle.get();
    idle.answer(two + "ab");
    idle.channel.channel().onEof();
    EXPECT_EQ(idle.got(), "inactive");
}

TEST(ClientCodec, AServerThatClosesBeforeItHasAnsweredAllIsAnError) {
    Client client;
    client.get();
    client.get();
    EXPECT_EQ(client.answer("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nab" + two + "cd"),
              "1:200 close (ab) end (bad HTTP response: the server closes the connection before it has answered all "
              "requests) inactive");
}

TEST(ClientCodec, BytesThatNobodyAskedForAreNoResponse) {
    Client client;
    EXPECT_EQ(client.answer(two + "ab"), "(bad HTTP response: bytes without an outstanding request) inactive");
    Client after;
    after.get();
    EXPECT_EQ(after.answer(two + "ab" + two + "cd"),
              "1:200 (ab) end (bad HTTP response: bytes without an outstanding request) inactive");
}

TEST(ClientCodec, H7_TheBytesBehindA101ReachTheNewHandler) {
    struct Raw final : ChannelInboundHandler {
        explicit Raw(std::string& log) : log(log) {}
        void channelRead(ChannelHandlerContext&, Message&& message) override {
            log.append("[").append(message.get<Buffer>().view()).append("] ");
        }
        std::string& log;
    };
    struct Switcher final : ChannelInboundHandler {
        explicit Switcher(std::string& log) : log(log) {}
        void userEventTriggered(ChannelHandlerContext& ctx, Message&& event) override {
            if (!event.is<ProtocolSwitched>()) return;
            ctx.pipeline().replace<Raw>(*ctx.pipeline().get<ClientCodec>(), log);
            ctx.pipeline().remove(*this);
        }
        std::string& log;
    };
    std::string log;
    EmbeddedChannel channel;
    channel.pipeline().addLast<ClientCodec>(ClientCodecOptions{.host = "h"}).addLast<Switcher>(log);
    ClientRequest request;
    request.headers.add("Upgrade", "shout");
    channel.channel().writeAndFlush(Message(std::move(request)));
    channel.runPendingTasks();
    EXPECT_EQ(channel.readOutboundText(), "GET / HTTP/1.1\r\nHost: h\r\nUpgrade: shout\r\nConnection: upgrade\r\n\r\n");
    channel.writeInbound(Buffer::copyOf("HTTP/1.1 101 S\r\nUpgrade: shout\r\nConnection: upgrade\r\n\r\nraw"));
    channel.writeInbound(Buffer::copyOf("more"));
    EXPECT_EQ(log, "[raw] [more] ");
}

// The new protocol's handler takes the codec out when the first bytes arrive.
TEST(ClientCodec, H6_TheHandlerThatGetsTheBytesBehindA101MayRemoveTheCodec) {
    struct Raw final : ChannelInboundHandler {
        explicit Raw(std::string& log) : log(log) {}
        void channelRead(ChannelHandlerContext& ctx, Message&& message) override {
            if (!message.is<Buffer>()) return;
            log.append("[").append(message.get<Buffer>().view()).append("] ");
            if (ctx.pipeline().get<ClientCodec>() != nullptr) ctx.pipeline().remove<ClientCodec>();
        }
        void channelReadComplete(ChannelHandlerContext&) override { log += "complete "; }
        std::string& log;
    };
    std::string log;
    EmbeddedChannel channel;
    channel.pipeline().addLast<ClientCodec>(ClientCodecOptions{.host = "h"}).addLast<Raw>(log);
    channel.channel().writeAndFlush(Message(ClientRequest(Method::connect, "b:1")));
    channel.writeInbound(Buffer::copyOf("HTTP/1.1 200 OK\r\n\r\nraw"));
    EXPECT_EQ(log.substr(0, 15), "[raw] complete ");
    EXPECT_EQ(channel.pipeline().get<ClientCodec>(), nullptr);
    log.clear();
    channel.writeInbound(Buffer::copyOf("more"));
    EXPECT_EQ(log, "[more] complete ");
}

TEST(ClientCodec, ATunnelPassesEverythingAsItIs) {
    Client client;
    client.ask(ClientRequest(Method::connect, "b:1"));
    EXPECT_NE(refusal(client, Message(ClientRequest())).find("accepts no further request"), std::string::npos)
        << "not decided";
    EXPECT_EQ(client.answer("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nraw"), "1:200 switched raw raw");
    EXPECT_EQ(client.answer(two), "raw " + two);
    EXPECT_EQ(client.ask(Buffer::copyOf("out")), "out");
}

TEST(ClientCodec, AfterARefusedUpgradeTheConnectionGoesOn) {
    Client client;
    ClientRequest request;
    request.headers.add("Upgrade", "shout");
    client.ask(std::move(request));
    EXPECT_EQ(client.answer(two + "no"), "1:200 (no) end");
    EXPECT_NE(client.get(), "");
    EXPECT_EQ(client.answer(two + "ab"), "2:200 (ab) end");
}

TEST(ClientCodec, AHandlerMayAskAgainFromInsideAResponse) {
    struct Again final : ChannelInboundHandler {
        void channelRead(ChannelHandlerContext& ctx, Message&& message) override {
            if (message.is<ReceivedResponse>() && ++responses < 3) ctx.writeAndFlush(Message(ClientRequest()));
        }
        int responses = 0;
    };
    EmbeddedChannel channel;
    channel.pipeline().addLast<ClientCodec>(ClientCodecOptions{.host = "h"}).addLast<Again>();
    channel.channel().writeAndFlush(Message(ClientRequest()));
    const std::string none = "HTTP/1.1 204 N\r\n\r\n";
    channel.writeInbound(Buffer::copyOf(none + none + none));
    EXPECT_EQ(channel.pipeline().get<Again>()->responses, 3);
    EXPECT_TRUE(channel.active());
}

// Each response of the table, cut in every way: the application always receives the same.
TEST(ClientCodec, TheApplicationSeesTheSameHoweverTheBytesCome) {
    const std::uint32_t seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    for (const ResponseCase& response : test::allResponses()) {
        SCOPED_TRACE(response.name);
        const auto seen = [&](const std::vector<std::size_t>& cuts) {
            Client client;
            ClientRequest request;
            request.method = nameOf(response.method);
            if (response.method == Method::connect) request.target = "b:1";
            if (response.mayUpgrade) request.headers.add("Upgrade", "x");
            client.ask(std::move(request));
            test::deliver(response.bytes, cuts, [&](std::string_view piece) {
                if (client.channel.channel().open()) client.channel.writeInbound(Buffer::copyOf(piece));
            });
            client.channel.channel().onEof();
            std::string text = client.got();
            for (const char* seam : {")(", ") (", " raw "}) {  // the outcome does not depend on where body pieces end
                for (std::size_t at = text.find(seam); at != std::string::npos; at = text.find(seam, at)) {
                    text.erase(at, std::string_view(seam).size());
                }
            }
            return text;
        };
        const std::string whole = seen({});
        EXPECT_NE(whole.find("inactive"), std::string::npos) << whole;
        test::forEachDelivery(response.bytes.size(), random,
                              [&](const std::vector<std::size_t>& cuts) { EXPECT_EQ(seen(cuts), whole); });
    }
}

}  // namespace
}  // namespace weft::http
