#include <weft/pipeline/http/client_codec.hpp>

#include <gtest/gtest.h>

#include <random>
#include <string>

#include <weft/pipeline/channel_errors.hpp>
#include <weft/pipeline/channel_option.hpp>
#include <weft/pipeline/embedded_channel.hpp>
#include <weft/pipeline/http/response_aggregator.hpp>
#include <weft/scheduler/log.hpp>

#include "pipeline/http/body_recorder.hpp"
#include "pipeline/http/deliveries.hpp"
#include "pipeline/http/response_cases.hpp"

namespace weft::http {
namespace {

using test::ResponseCase;

// An application after the codec: records what it receives.
struct Recorder final : ChannelInboundHandler {
    explicit Recorder(std::string& itsLog) : log(itsLog) {}
    void channelRead(ChannelHandlerContext&, Message&& message) override {
        if (message.is<InterimResponse>()) {
            log += "interim " + std::to_string(codeOf(message.get<InterimResponse>().status()));
        } else if (message.is<ReceivedResponse>()) {
            const ReceivedResponse& response = message.get<ReceivedResponse>();
            log += std::to_string(response.ticket()) + ":" + std::to_string(codeOf(response.status()));
            if (!response.keepAlive() && !response.head().switches) log += " close";
        } else if (message.is<Content>()) {
            log.append("(").append(message.get<Content>().data.view()).append(")");
        } else if (message.is<LastContent>()) {
            log += "end" + test::BodyRecorder::trailersOf(message.get<LastContent>());
        } else if (message.is<FullResponse>()) {
            const FullResponse& response = message.get<FullResponse>();
            log.append("full ").append(response.body());
            log.append(response.trailers().find("X-Sum"));
        } else if (message.is<Buffer>()) {
            log.append("raw ").append(message.get<Buffer>().view());
        }
        log += " ";
    }
    void userEventTriggered(ChannelHandlerContext&, Message&& event) override {
        if (event.is<ProtocolSwitched>()) log += "switched ";
    }
    void exceptionCaught(ChannelHandlerContext&, std::exception_ptr cause) override {
        log += "(" + describe(cause) + ") ";
    }
    void channelInactive(ChannelHandlerContext&) override { log += "inactive "; }
    std::string& log;
};

struct Client {
    explicit Client(ClientCodecOptions options = {.host = "h"}) {
        channel.pipeline().addLast<ClientCodec>(std::move(options)).addLast<Recorder>(log);
    }
    // The bytes sent for this request.
    template <class Written>
    std::string ask(Written message) {
        channel.channel().writeAndFlush(Message(std::move(message)));
        channel.runPendingTasks();
        return channel.readOutboundText();
    }
    std::string get(std::string target = "/") { return ask(ClientRequest(Method::get, std::move(target))); }
    // What the application received for these bytes.
    std::string answer(std::string_view bytes) {
        channel.writeInbound(Buffer::copyOf(bytes));
        return got();
    }
    std::string got() {
        channel.runPendingTasks();
        std::string text = std::exchange(log, {});
        if (!text.empty()) text.pop_back();
        return text;
    }
    std::size_t outstanding() { return channel.pipeline().get<ClientCodec>()->outstanding(); }
    std::string log;
    EmbeddedChannel channel;
};

const std::string two = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n";

// ---- requests ----

TEST(ClientCodec, WritesRequestsWithTheirFraming) {
    Client client;
    EXPECT_EQ(client.get("/a?b"), "GET /a?b HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_EQ(client.ask(ClientRequest(Method::post, "/p", Buffer::copyOf("abc"))),
              "POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc");
    EXPECT_EQ(client.ask(ClientRequest(Method::put, "/p")), "PUT /p HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n");
    EXPECT_EQ(client.ask(ClientRequest(Method::delete_, "/p")), "DELETE /p HTTP/1.1\r\nHost: h\r\n\r\n");
    const std::string large(5000, 'x');
    EXPECT_TRUE(client.ask(ClientRequest(Method::post, "/p", Buffer::copyOf(large))).ends_with("\r\n\r\n" + large));
    ClientRequest other;
    other.method = "BREW";
    other.headers.add("Host", "pot");
    other.headers.add("TE", "trailers");
    EXPECT_EQ(client.ask(std::move(other)), "BREW / HTTP/1.1\r\nHost: pot\r\nTE: trailers\r\nConnection: TE\r\n\r\n");
    EXPECT_EQ(client.outstanding(), 6u);
}

TEST(ClientCodec, StreamsBodies) {
    Client client;
    ClientRequest chunked(Method::post, "/c");
    chunked.streamed = true;
    EXPECT_EQ(client.ask(std::move(chunked)), "POST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
    EXPECT_EQ(client.ask(Content{Buffer::copyOf("abc")}), "3\r\nabc\r\n");
    EXPECT_EQ(client.ask(Content{Buffer()}), "") << "an empty chunk would end the body";
    const std::string large(5000, 'x');
    EXPECT_EQ(client.ask(Content{Buffer::copyOf(large)}), "1388\r\n" + large + "\r\n");
    auto trailers = std::make_unique<HeaderList>();
    trailers->add("X-Sum", "7");
    EXPECT_EQ(client.ask(LastContent{noTicket, std::move(trailers)}), "0\r\nX-Sum: 7\r\n\r\n");
    ClientRequest sized(Method::post, "/s");
    sized.streamed = sized.hasLength = true;
    sized.contentLength = 5;
    EXPECT_EQ(client.ask(std::move(sized)), "POST /s HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n");
    EXPECT_EQ(client.ask(Content{Buffer::copyOf("abcde")}), "abcde");
    EXPECT_EQ(client.ask(LastContent{}), "");
    EXPECT_EQ(client.get(), "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
}

// A refused message fails its promise, and none of its bytes is sent.
std::string refusal(Client& client, Message message) {
    const ChannelPromise promise = client.channel.channel().newPromise();
    client.channel.channel().writeAndFlush(std::move(message), promise);
    client.channel.runPendingTasks();
    EXPECT_EQ(client.channel.readOutboundText(), "");
    if (!promise.done() || promise.future().success()) return "(accepted)";
    return describe(promise.future().cause());
}

TEST(ClientCodec, RefusesWhatCouldSplitARequest) {
    struct Row {
        const char* why;
        void (*spoil)(ClientRequest&);
    };
    const Row rows[] = {
        {"method", [](ClientRequest& r) { r.method = "GE T"; }},
        {"method", [](ClientRequest& r) { r.method = ""; }},
        {"target", [](ClientRequest& r) { r.target = "/a b"; }},
        {"target", [](ClientRequest& r) { r.target = "/a\r\nX: y"; }},
        {"target", [](ClientRequest& r) { r.target = ""; }},
        {"target", [](ClientRequest& r) { r.target = "a"; }},
        {"target", [](ClientRequest& r) { r.target = "*"; }},
        {"target", [](ClientRequest& r) { r.target = "/caf\xc3\xa9"; }},
        {"target", [](ClientRequest& r) { r.method = "CONNECT"; }},
        {"Host", [](ClientRequest& r) { r.headers.add("Host", "a b"); }},
        {"Host", [](ClientRequest& r) { r.headers.add("Host", "a"), r.headers.add("host", "b"); }},
        {"name", [](ClientRequest& r) { r.headers.add("X Y", "a"); }},
        {"name", [](ClientRequest& r) { r.headers.add("", "a"); }},
        {"name", [](ClientRequest& r) { r.headers.add("X:", "a"); }},
        {"value", [](ClientRequest& r) { r.headers.add("X", "a\r\nY: b"); }},
        {"value", [](ClientRequest& r) { r.headers.add("X", std::string("a\0", 2)); }},
        {"Content-Length that differs", [](ClientRequest& r) { r.headers.add("Content-Length", "3"); }},
        {"Content-Length that differs", [](ClientRequest& r) { r.headers.add("Content-Length", "0, 0"); }},
        {"Content-Length that differs",
         [](ClientRequest& r) { r.headers.add("Content-Length", "0"), r.headers.add("content-length", "1"); }},
        {"Content-Length that differs",
         [](ClientRequest& r) { r.streamed = true, r.headers.add("Content-Length", "0"); }},
        {"encoder", [](ClientRequest& r) { r.headers.add("transfer-encoding", "chunked"); }},
        {"encoder", [](ClientRequest& r) { r.streamed = true, r.headers.add("transfer-encoding", "gzip, chunked"); }},
        {"encoder", [](ClientRequest& r) { r.headers.add("Connection", "close, X"); }},
        {"encoder", [](ClientRequest& r) { r.headers.add("Connection", "upgrade"); }},
        {"CONNECT", [](ClientRequest& r) { r.method = "CONNECT", r.target = "b:1", r.body = Buffer::copyOf("x"); }},
    };
    for (const Row& row : rows) {
        Client client;
        ClientRequest request;
        row.spoil(request);
        EXPECT_NE(refusal(client, Message(std::move(request))).find(row.why), std::string::npos) << row.why;
        EXPECT_EQ(client.outstanding(), 0u);
        EXPECT_NE(client.get(), "") << "the connection is as good as before";
    }
    Client nameless{ClientCodecOptions{}};
    EXPECT_NE(refusal(nameless, Message(ClientRequest())).find("Host"), std::string::npos);
    EXPECT_EQ(nameless.ask(ClientRequest(Method::connect, "b:1")), "CONNECT b:1 HTTP/1.1\r\nHost: b:1\r\n\r\n");
}

TEST(ClientCodec, FramingHeadersThatAgreeWithTheEncoderAreAccepted) {
    Client client;
    ClientRequest post(Method::post, "/p", Buffer::copyOf("abc"));
    post.headers.add("content-length", "3");
    post.headers.add("connection", "Keep-Alive");
    EXPECT_EQ(client.ask(std::move(post)), "POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc");
    ClientRequest get(Method::get, "/g");
    get.headers.add("Content-Length", "0");
    EXPECT_EQ(client.ask(std::move(get)), "GET /g HTTP/1.1\r\nHost: h\r\n\r\n");
    ClientRequest chunked(Method::post, "/c");
    chunked.streamed = true;
    chunked.headers.add("Transfer-Encoding", "Chunked");
    EXPECT_EQ(client.ask(std::move(chunked)), "POST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
    client.ask(LastContent{});
    ClientRequest last(Method::get, "/l");
    last.headers.add("Connection", "close");
    EXPECT_EQ(client.ask(std::move(last)), "GET /l HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    EXPECT_NE(refusal(client, Message(ClientRequest())).find("no further request"), std::string::npos);
}

TEST(ClientCodec, RefusesRequestsThatHaveNoPlaceOnTheConnection) {
    Client client;
    ClientRequest streamed(Method::post, "/");
    streamed.streamed = true;
    client.ask(std::move(streamed));
    EXPECT_NE(refusal(client, Message(ClientRequest())).find("inside the body"), std::string::npos);
    client.ask(LastContent{});
    EXPECT_NE(refusal(client, Message(Content{Buffer::copyOf("x")})).find("outside the body"), std::string::npos);
    EXPECT_NE(refusal(client, Message(LastContent{})).find("outside the body"), std::string::npos);
    ClientRequest last;
    last.keepAlive = false;
    EXPECT_EQ(client.ask(std::move(last)), "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    EXPECT_NE(refusal(client, Message(ClientRequest())).find("accepts no further request"), std::string::npos);
}

TEST(ClientCodec, ABodyOfAnotherLengthThanPromisedClosesTheConnection) {
    for (const char* body : {"ab", "abcd"}) {
        Client client;
        ClientRequest request(Method::post, "/");
        request.streamed = request.hasLength = true;
        request.contentLength = 3;
        client.ask(std::move(request));
        const ChannelPromise promise = client.channel.channel().newPromise();
        client.channel.channel().write(Message(Content{Buffer::copyOf(body)}), promise);
        client.channel.channel().writeAndFlush(Message(LastContent{}), client.channel.channel().newPromise());
        client.channel.runPendingTasks();
        EXPECT_FALSE(client.channel.active()) << body;
    }
}

TEST(ClientCodec, TrailersThatMustNotBeSentFailThePromiseAndTheBodyStillEnds) {
    Client client;
    ClientRequest request(Method::post, "/");
    request.streamed = true;
    client.ask(std::move(request));
    auto trailers = std::make_unique<HeaderList>();
    trailers->add("Host", "other");
    const ChannelPromise promise = client.channel.channel().newPromise();
    client.channel.channel().writeAndFlush(Message(LastContent{noTicket, std::move(trailers)}), promise);
    client.channel.runPendingTasks();
    EXPECT_EQ(client.channel.readOutboundText(), "0\r\n\r\n");
    EXPECT_FALSE(promise.future().success());
}

// ---- responses ----

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
        explicit Raw(std::string& itsLog) : log(itsLog) {}
        void channelRead(ChannelHandlerContext&, Message&& message) override {
            log.append("[").append(message.get<Buffer>().view()).append("] ");
        }
        std::string& log;
    };
    struct Switcher final : ChannelInboundHandler {
        explicit Switcher(std::string& itsLog) : log(itsLog) {}
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

// ---- the aggregator ----

struct CollectingClient {
    explicit CollectingClient(std::size_t maxBody) {
        channel.pipeline().addLast<ClientCodec>(ClientCodecOptions{.host = "h"});
        channel.pipeline().addLast<ResponseAggregator>(maxBody).addLast<Recorder>(log);
        for (int i = 0; i < 2; ++i) channel.channel().writeAndFlush(Message(ClientRequest()));
    }
    std::string answer(std::string_view bytes) {
        channel.writeInbound(Buffer::copyOf(bytes));
        return std::exchange(log, {});
    }
    std::string log;
    EmbeddedChannel channel;
};

TEST(ResponseAggregator, JoinsHeadBodyAndTrailers) {
    CollectingClient client(10);
    EXPECT_EQ(client.answer(
                  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\nX-Sum: 7\r\n\r\n"),
              "full abc7 ");
    EXPECT_EQ(client.answer("HTTP/1.1 204 N\r\n\r\n"), "full  ");
}

TEST(ResponseAggregator, ABodyThatIsTooLargeClosesTheConnection) {
    const std::string large = "(bad HTTP response: the response body is larger than this client accepts) ";
    for (const char* bytes :
         {"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n",
          "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n", "HTTP/1.1 200 OK\r\n\r\nabcd"}) {
        CollectingClient client(3);
        EXPECT_EQ(client.answer(bytes).substr(0, large.size()), large) << bytes;
        EXPECT_FALSE(client.channel.active());
    }
    EXPECT_THROW(ResponseAggregator(std::size_t{3} << 30), std::invalid_argument);
}

}  // namespace
}  // namespace weft::http
