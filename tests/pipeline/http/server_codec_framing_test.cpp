// Whether a body may follow a head, for whole and streamed answers: a reader must see exactly one response.
#include <weft/http/server_codec.hpp>

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include <weft/http/client_codec.hpp>
#include <weft/http/response_aggregator.hpp>

#include "pipeline/http/codec_server.hpp"
#include "pipeline/http/slow_peer.hpp"

namespace weft::http {
namespace {

using test::count;
using test::get;
using test::Keeper;
using test::Server;
using test::SlowPeer;

enum class How { whole, chunked, sized };

void answer(Responder& responder, Status status, std::size_t bytes, How how) {
    const std::string body(bytes, '#');
    if (how == How::whole) return responder.send(Response(status, Buffer::copyOf(body)));
    Response head(status);
    head.hasLength = how == How::sized;
    head.contentLength = how == How::sized ? bytes : 0;
    BodyWriter writer = responder.begin(std::move(head));
    writer.write(Buffer::copyOf(body));
    writer.end();
}

// Decodes `bytes` as a client whose requests had these methods: "status:body bytes" for each response, or "refused"
// where no valid response begins.
std::string readBy(const std::vector<Method>& methods, std::string_view bytes) {
    struct Reader final : ChannelInboundHandler {
        explicit Reader(std::string& text) : text(text) {}
        void channelRead(ChannelHandlerContext&, Message&& message) override {
            const auto& response = message.get<FullResponse>();
            text += std::to_string(codeOf(response.status())) + ":" + std::to_string(response.body().size()) + " ";
        }
        void exceptionCaught(ChannelHandlerContext&, std::exception_ptr) override { text += "refused "; }
        std::string& text;
    };
    std::string text;
    EmbeddedChannel client;
    client.pipeline().addLast<ClientCodec>(ClientCodecOptions{.host = "h"}).addLast<ResponseAggregator>();
    client.pipeline().addLast<Reader>(text);
    for (const Method method : methods) client.channel().writeAndFlush(Message(ClientRequest(method, "/")));
    client.writeInbound(Buffer::copyOf(bytes));
    return text;
}

// Sends each answer twice, since the second head may come from the cache, and then a different answer.
TEST(ServerFraming, AnyAnswerIsOneResponseToItsReaderWhateverItsStatusAndBody) {
    for (const Method method : {Method::get, Method::head}) {
        for (const char* version : {"HTTP/1.1", "HTTP/1.0"}) {
            for (const unsigned code : {200, 201, 204, 205, 206, 226, 299, 304, 404, 500}) {
                for (const std::size_t bytes : {0, 5, 5000}) {
                    for (const How how : {How::whole, How::chunked, How::sized}) {
                        const bool old = version[7] == '0';
                        const bool untilClose = old && how == How::chunked;  // nothing can follow
                        SCOPED_TRACE(std::string(nameOf(method)) + " " + version + " " + std::to_string(code) + " " +
                                     std::to_string(bytes) + " " + std::to_string(static_cast<int>(how)));
                        Keeper keeper;
                        Server server(keeper.keep());
                        const std::string request = std::string(nameOf(method)) + " / " + version +
                                                    "\r\nHost: x\r\nConnection: keep-alive\r\n\r\n";
                        server.say(request + request + get);
                        ASSERT_EQ(keeper.waiting.size(), 3u);
                        const auto status = static_cast<Status>(code);
                        answer(keeper.waiting[0], status, bytes, how);
                        answer(keeper.waiting[1], status, bytes, how);
                        keeper.waiting[2].send(Response(Status::accepted, Buffer::copyOf("next")));
                        const std::string said = server.heard();
                        const bool empty = method == Method::head || !mayHaveContent(status);
                        if (untilClose && !empty) continue;
                        const std::string one = std::to_string(code) + ":" + std::to_string(empty ? 0 : bytes) + " ";
                        EXPECT_EQ(readBy({method, method, Method::get}, said), one + one + "202:4 ")
                            << said.substr(0, 500);
                        EXPECT_EQ(count(said, "#"), empty ? 0 : 2 * bytes);
                    }
                }
            }
        }
    }
}

// A client must not mistake part of a body for the next response.
TEST(ServerFraming, ABodyBehindA205CannotForgeAnotherResponse) {
    for (const How how : {How::whole, How::chunked, How::sized}) {
        Keeper keeper;
        Server server(keeper.keep());
        server.say(get + get);
        const std::string forged = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged";
        if (how == How::whole) {
            keeper.waiting[0].send(Response(Status::resetContent, Buffer::copyOf(forged)));
        } else {
            Response head(Status::resetContent);
            head.hasLength = how == How::sized;
            head.contentLength = how == How::sized ? forged.size() : 0;
            BodyWriter writer = keeper.waiting[0].begin(std::move(head));
            writer.write(Buffer::copyOf(forged));
            writer.end();
        }
        keeper.waiting[1].send(Response(Status::accepted));
        const std::string said = server.heard();
        EXPECT_EQ(count(said, "forged"), 0u) << said;
        EXPECT_EQ(readBy({Method::get, Method::get}, said), "205:0 202:0 ");
    }
}

TEST(ServerFraming, A205AfterARememberedEmptyOneHasNoBodyEither) {
    Keeper keeper;
    Server server(keeper.keep());
    server.say(get + get + get);
    answer(keeper.waiting[0], Status::resetContent, 0, How::whole);
    answer(keeper.waiting[1], Status::resetContent, 5, How::whole);
    answer(keeper.waiting[2], Status::ok, 3, How::whole);
    EXPECT_EQ(readBy({Method::get, Method::get, Method::get}, server.heard()), "205:0 205:0 200:3 ");
}

TEST(ServerFraming, AGrantedTunnelHasNoBodyWhateverTheAnswerHolds) {
    for (const unsigned code : {200, 204, 205, 299}) {
        for (const How how : {How::whole, How::chunked, How::sized}) {
            Keeper keeper;
            Server server(keeper.keep());
            server.say("CONNECT h:1 HTTP/1.1\r\nHost: h:1\r\n\r\n");
            answer(keeper.waiting.at(0), static_cast<Status>(code), 5, how);
            const std::string said = server.heard();
            EXPECT_TRUE(said.ends_with("\r\n\r\n")) << said;
            EXPECT_EQ(count(said, "Content-Length"), 0u) << said;
            EXPECT_EQ(count(said, "Transfer-Encoding"), 0u) << said;
        }
    }
}

// ---- bodies delimited by the end of the connection ----

const std::string oldGet = "GET / HTTP/1.0\r\n\r\n";

struct OldClient {
    OldClient() { peer.channel.sink->room = std::numeric_limits<std::size_t>::max(); }
    int linger() const { return peer.channel.sink->linger; }  // 0: a close is a reset
    std::size_t count(const char* call) const { return peer.channel.sink->count(call); }
    BodyWriter begin(const std::string& request) {
        peer.send(request);
        peer.deliver();
        return keeper.waiting.at(0).begin(Response(Status::ok));
    }
    Keeper keeper;
    SlowPeer peer{keeper.keep()};
};

TEST(ServerUntilClose, AWholeBodyEndsInOrder) {
    OldClient client;
    BodyWriter body = client.begin(oldGet);
    body.write(Buffer::copyOf("all"));
    client.peer.deliver();
    EXPECT_EQ(client.linger(), 0) << "an end that comes now is to be a reset";
    body.end();
    client.peer.deliver();
    EXPECT_TRUE(client.peer.received().ends_with("\r\n\r\nall"));
    EXPECT_EQ(client.linger(), -1);
    EXPECT_EQ(client.count("shutdownOutput"), 1u);
}

TEST(ServerUntilClose, ADroppedWriterResets) {
    OldClient client;
    { BodyWriter body = client.begin(oldGet); }
    client.peer.deliver();
    EXPECT_EQ(client.linger(), 0);
    EXPECT_EQ(client.count("close"), 1u);
    EXPECT_EQ(client.count("shutdownOutput"), 0u);
}

TEST(ServerUntilClose, AnyCloseBeforeTheLastByteIsInTheKernelResets) {
    OldClient client;
    BodyWriter body = client.begin(oldGet);
    client.peer.channel.sink->room = 0;
    body.write(Buffer::copyOf("more than the client takes"));
    body.end();
    client.peer.deliver();
    EXPECT_EQ(client.linger(), 0);
    client.peer.channel->close();  // as at a shutdown of the server
    client.peer.deliver();
    EXPECT_EQ(client.linger(), 0);
    EXPECT_EQ(client.count("close"), 1u);
}

// An option makes the end of the client's output count as the client's end, which cancels its answers.
TEST(ServerUntilClose, AnAnswerThatIsCancelledInTheMiddleOfItsBodyResets) {
    OldClient client;
    BodyWriter body = client.begin(oldGet);
    body.write(Buffer::copyOf("half"));
    client.peer.channel->onEof();
    client.peer.deliver();
    EXPECT_EQ(client.count("close"), 1u);
    EXPECT_EQ(client.linger(), 0);
}

TEST(ServerUntilClose, TheServersOwnLingerTimeIsGivenBack) {
    OldClient client;
    client.peer.channel.sink->linger = 7;
    BodyWriter body = client.begin(oldGet);
    client.peer.deliver();
    EXPECT_EQ(client.linger(), 0);
    body.end();
    client.peer.deliver();
    EXPECT_EQ(client.linger(), 7);
}

TEST(ServerUntilClose, ADelimitedBodyIsClosedInOrder) {
    for (const std::string& request : {get, std::string("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")}) {
        OldClient client;
        { BodyWriter body = client.begin(request); }
        client.peer.deliver();
        EXPECT_EQ(client.linger(), -1);
        EXPECT_EQ(client.count("close"), 1u);
    }
}

// ---- interim and final statuses mixed up ----

TEST(Responder, RefusesAnInterimStatusAsAnswerAndCanStillAnswer) {
    Keeper keeper;
    Server server(keeper.keep());
    server.say(get);
    Responder& responder = keeper.waiting[0];
    for (const unsigned code : {0, 99, 100, 102, 103, 199}) {
        EXPECT_THROW(responder.send(Response(static_cast<Status>(code))), std::invalid_argument) << code;
        EXPECT_THROW(responder.begin(Response(static_cast<Status>(code))), std::invalid_argument) << code;
    }
    EXPECT_FALSE(responder.answered());
    EXPECT_EQ(server.heard(), "");
    responder.send(ok("yes"));
    EXPECT_TRUE(server.heard().ends_with("\r\n\r\nyes"));
    EXPECT_THROW(responder.send(ok("again")), std::logic_error);
}

TEST(Responder, RefusesAnAnswerAsInterimAndSaysWhatToDo) {
    Keeper keeper;
    Server server(keeper.keep());
    server.say(get);
    Responder& responder = keeper.waiting[0];
    for (const unsigned code : {0, 99, 101, 200, 404}) {
        EXPECT_THROW(responder.sendInterim(Response(static_cast<Status>(code))), std::invalid_argument) << code;
    }
    try {
        responder.sendInterim(switchTo("websocket"));
        FAIL() << "no exception";
    } catch (const std::invalid_argument& error) {
        EXPECT_NE(
            std::string(error.what()).find("the status is 101; send a final response, or 101, with Responder::send()"),
            std::string::npos)
            << error.what();
    }
    responder.send(ok("yes"));
    EXPECT_EQ(count(server.heard(), "HTTP/1.1 "), 1u);
}

}  // namespace
}  // namespace weft::http
