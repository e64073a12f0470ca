// Each allocation of an HTTP server fails once. A client gets the answers to its requests in their order, or the
// connection is closed: never the answer to another request, and never silence.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <weft/http/client_codec.hpp>
#include <weft/http/object_aggregator.hpp>
#include <weft/http/server_codec.hpp>
#include <weft/pipeline/embedded_channel.hpp>
#include <weft/pipeline/simple_inbound_handler.hpp>

#include "exhaustion/exhaustion_test.hpp"

namespace weft::exhaustion {
namespace {

class HttpExhaustion : public ExhaustionTest {};

// Answers with the path; forgets "/forgotten", and passes "/untaken" on.
struct Application final : SimpleInboundHandler<http::FullRequest> {
    void channelRead0(ChannelHandlerContext& ctx, http::FullRequest request) override {
        if (request.path() == "/forgotten") return;
        if (request.path() == "/untaken") return ctx.fireChannelRead(Message(std::move(request)));
        ctx.writeAndFlush(http::ok(std::string(request.path())));
    }
};

// The answers in `output`, each as its status and, if that is 200, its body: "200/a", "500".
std::vector<std::string> answersIn(const std::string& output) {
    std::vector<std::string> answers;
    for (std::size_t at = 0; (at = output.find("HTTP/1.1 ", at)) != std::string::npos; ++at) {
        const std::size_t body = output.find("\r\n\r\n", at);
        answers.push_back(output.substr(at + 9, 3));
        if (answers.back() == "200" && body != std::string::npos) answers.back() += output.substr(body + 4, 2);
    }
    return answers;
}

TEST_F(HttpExhaustion, RequestsAreAnsweredInTheirOrderOrTheConnectionIsClosed) {
    const std::vector<std::string> wanted = {"200/a", "500", "200/b", "404", "200/c"};
    sweep(40, [&] {
        EmbeddedChannel channel;
        channel.pipeline().addLast<http::ServerCodec>().addLast<http::ObjectAggregator>().addLast<Application>();
        std::string input;
        for (const char* const path : {"/a", "/forgotten", "/b", "/untaken", "/c"}) {
            input +=
                std::string("GET ") + path + " HTTP/1.1\r\nHost: x\r\nX-Long: " + std::string(300, 'x') + "\r\n\r\n";
        }
        channel.writeInbound(Buffer::copyOf(input));
        channel.runPendingTasks();
        const std::vector<std::string> answers = answersIn(channel.readOutboundText());
        if (channel.active()) {
            EXPECT_EQ(answers.size(), wanted.size());
        }
        ASSERT_LE(answers.size(), wanted.size());
        for (std::size_t i = 0; i < answers.size(); ++i) {
            if (answers[i] == "500") continue;  // its handler had no memory
            EXPECT_EQ(answers[i], wanted[i]);
        }
    });
}

// Notes the responses by their numbers, and that an exception has said why others do not come.
struct Responses final : ChannelInboundHandler {
    Responses(std::string& itsSeen, bool& itsTold) : seen(itsSeen), told(itsTold) {}
    void channelRead(ChannelHandlerContext&, Message&& message) override {
        if (message.is<http::ReceivedResponse>())
            seen += std::to_string(message.get<http::ReceivedResponse>().ticket());
        message.reset();
    }
    void exceptionCaught(ChannelHandlerContext&, std::exception_ptr) override { told = true; }
    std::string& seen;
    bool& told;
};

TEST_F(HttpExhaustion, AClientGetsItsResponsesOrAnException) {
    sweep(10, [] {
        std::string seen;
        seen.reserve(16);
        bool told = false;
        EmbeddedChannel channel;
        channel.pipeline().addLast<http::ClientCodec>(http::ClientCodecOptions{.host = "h"});
        channel.pipeline().addLast<Responses>(seen, told);
        for (int i = 0; i < 3; ++i)
            channel.channel().writeAndFlush(Message(http::ClientRequest(http::Method::get, "/")));
        channel.runPendingTasks();
        std::string input;
        for (int i = 0; i < 3; ++i) {
            input += "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Long: " + std::string(300, 'x') + "\r\n\r\nok";
        }
        channel.writeInbound(Buffer::copyOf(input));
        channel.runPendingTasks();
        EXPECT_EQ(seen, std::string("123").substr(0, seen.size()));
        if (seen.size() == 3) return;
        EXPECT_TRUE(told);
        EXPECT_FALSE(channel.active());
    });
}

}  // namespace
}  // namespace weft::exhaustion
