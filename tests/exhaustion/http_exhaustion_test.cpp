// Each allocation of an HTTP server fails once. A client gets the answers to its requests in their order, or the
// connection is closed: never the answer to another request, and never silence.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <limits>
#include <new>
#include <string>
#include <vector>

#include <weft/http/client_codec.hpp>
#include <weft/http/object_aggregator.hpp>
#include <weft/http/response_aggregator.hpp>
#include <weft/http/server_codec.hpp>
#include <weft/pipeline/embedded_channel.hpp>
#include <weft/pipeline/simple_inbound_handler.hpp>

#include "exhaustion/exhaustion_test.hpp"
#include "pipeline/http/slow_peer.hpp"

namespace weft::exhaustion {
namespace {

class HttpExhaustion : public ExhaustionTest {
  protected:
    // Calls round(n) with n = 1, 2, ... until it returns false, twice: in the first pass the free lists of a
    // connection's objects grow to what the failures need, in the second no block may be left over.
    void sweepRounds(std::uint64_t least, const std::function<bool(std::uint64_t)>& round) {
        for (int pass = 0; pass < 2; ++pass) {
            std::size_t most = liveAllocations();
            std::uint64_t number = 1;
            for (bool failed = true; failed && !HasFailure(); ++number) {
                SCOPED_TRACE("allocation " + std::to_string(number));
                failed = round(number);
                if (pass == 1) awaitLive(most);
            }
            if (pass == 0) {
                EXPECT_GE(number, least) << "the scenario no longer allocates what it did";
            }
        }
    }
};

// Answers with the path; forgets "/forgotten", keeps the right to answer "/kept", and passes "/untaken" on.
struct Application final : SimpleInboundHandler<http::FullRequest> {
    explicit Application(std::deque<http::Responder>& kept) : kept(kept) {}
    void channelRead0(ChannelHandlerContext& ctx, http::FullRequest request) override {
        if (request.path() == "/forgotten") return;
        if (request.path() == "/kept") return void(kept.push_back(request.responder()));
        if (request.path() == "/untaken") return ctx.fireChannelRead(Message(std::move(request)));
        ctx.writeAndFlush(http::ok(std::string(request.path())));
    }
    std::deque<http::Responder>& kept;
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

// One connection, whose allocation with this number fails after its set-up. False: there were not so many.
bool serve(std::uint64_t number) {
    static const std::vector<std::string> wanted = {"200/a", "500", "500", "200/b", "404", "200/c"};
    std::deque<http::Responder> kept;
    http::test::SlowPeer peer([&](ChannelPipeline& pipeline) {
        pipeline.addLast<http::ServerCodec>().addLast<http::ObjectAggregator>().addLast<Application>(kept);
    });
    peer.channel.sink->room = std::numeric_limits<std::size_t>::max();
    peer.channel.sink->written.reserve(16 * 1024);  // the transport of the test does not allocate
    peer.channel.sink->calls.reserve(256);
    for (const char* const path : {"/a", "/forgotten", "/kept", "/b", "/untaken", "/c"}) {
        peer.send(std::string("GET ") + path + " HTTP/1.1\r\nHost: x\r\nX-Long: " + std::string(300, 'x') + "\r\n\r\n");
    }
    bool failed = false;
    {
        const FailingAllocation failing(number);
        try {
            peer.deliver();
            kept.clear();
            peer.deliver();
        } catch (const std::bad_alloc&) {  // of the test's own
        }
        failed = failing.hasFailed();
    }
    peer.deliver();  // what the failure has left of the input
    kept.clear();
    peer.deliver();
    const std::vector<std::string> answers = answersIn(peer.received());
    if (peer.channel->open()) {
        EXPECT_EQ(answers.size(), wanted.size());
    }
    EXPECT_LE(answers.size(), wanted.size());
    for (std::size_t i = 0; i < std::min(answers.size(), wanted.size()); ++i) {
        if (answers[i] == "500") continue;  // its handler had no memory
        EXPECT_EQ(answers[i], wanted[i]);
    }
    return failed;
}

TEST_F(HttpExhaustion, RequestsAreAnsweredInTheirOrderOrTheConnectionIsClosed) {
    sweepRounds(20, serve);
}

// Keeps the responses, so that none gets its memory from the one before, and notes the exception that says why others
// do not come.
struct Responses final : ChannelInboundHandler {
    Responses(std::vector<http::ReceivedResponse>& kept, bool& told) : kept(kept), told(told) {}
    void channelRead(ChannelHandlerContext&, Message&& message) override {
        if (message.is<http::ReceivedResponse>()) kept.push_back(message.take<http::ReceivedResponse>());
        message.reset();
    }
    void exceptionCaught(ChannelHandlerContext&, std::exception_ptr) override { told = true; }
    std::vector<http::ReceivedResponse>& kept;
    bool& told;
};

// One connection, as serve().
bool ask(std::uint64_t number) {
    constexpr std::size_t requests = 100;
    std::vector<http::ReceivedResponse> kept;
    kept.reserve(requests);
    bool told = false;
    EmbeddedChannel channel;
    channel.pipeline().addLast<http::ClientCodec>(http::ClientCodecOptions{.host = "h"});
    channel.pipeline().addLast<Responses>(kept, told);
    std::string input;
    for (std::size_t i = 0; i < requests; ++i) {
        channel.channel().writeAndFlush(Message(http::ClientRequest(http::Method::get, "/")));
        input += "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    }
    channel.runPendingTasks();
    Buffer bytes = Buffer::copyOf(input);
    bool failed = false;
    {
        const FailingAllocation failing(number);
        channel.writeInbound(std::move(bytes));
        channel.runPendingTasks();
        failed = failing.hasFailed();
    }
    for (std::size_t i = 0; i < kept.size(); ++i) EXPECT_EQ(kept[i].ticket(), i + 1);
    if (kept.size() < requests) {
        EXPECT_TRUE(told);
        EXPECT_FALSE(channel.active());
    }
    return failed;
}

TEST_F(HttpExhaustion, AClientGetsItsResponsesOrAnException) {
    sweepRounds(5, ask);
}

constexpr std::size_t pieces = 8, pieceBytes = 30'000;  // the body outgrows the blocks that the pool keeps

std::string piece() {
    return "7530\r\n" + std::string(pieceBytes, 'x') + "\r\n";
}

// Answers with the size of the body.
struct Measuring final : SimpleInboundHandler<http::FullRequest> {
    void channelRead0(ChannelHandlerContext& ctx, http::FullRequest request) override {
        ctx.writeAndFlush(http::ok(std::to_string(request.body().size())));
    }
};

// One request whose body arrives piece by piece.
bool upload(std::uint64_t number) {
    http::test::SlowPeer peer([&](ChannelPipeline& pipeline) {
        pipeline.addLast<http::ServerCodec>().addLast<http::ObjectAggregator>().addLast<Measuring>();
    });
    peer.channel.sink->room = std::numeric_limits<std::size_t>::max();
    peer.send("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
    peer.deliver();
    bool failed = false;
    {
        const FailingAllocation failing(number);
        for (std::size_t i = 0; i < pieces; ++i) {
            try {
                peer.send(piece());
                peer.deliver();
            } catch (const std::bad_alloc&) {  // of the test's own
                return failing.hasFailed();
            }
        }
        failed = failing.hasFailed();
    }
    peer.send("0\r\n\r\n");
    peer.deliver();
    const std::string& received = peer.received();
    const bool answered = received.starts_with("HTTP/1.1 200 ") && received.ends_with("\r\n\r\n240000");
    EXPECT_TRUE(answered || received.starts_with("HTTP/1.1 500 ") || !peer.channel->open()) << received;
    EXPECT_LE(answersIn(received).size(), 1u) << received;
    if (!peer.channel->open()) return failed;
    peer.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi");
    peer.deliver();
    EXPECT_TRUE(peer.received().ends_with("\r\n\r\n2")) << "the next request has nothing of that body";
    return failed;
}

TEST_F(HttpExhaustion, ABodyWithAMissingPieceIsNotFired) {
    sweepRounds(5, upload);
}

struct FullResponses final : ChannelInboundHandler {
    FullResponses(std::size_t& size, bool& told) : size(size), told(told) {}
    void channelRead(ChannelHandlerContext&, Message&& message) override {
        if (message.is<http::FullResponse>()) size = message.get<http::FullResponse>().body().size();
        message.reset();
    }
    void exceptionCaught(ChannelHandlerContext&, std::exception_ptr) override { told = true; }
    std::size_t& size;
    bool& told;
};

// One response whose body arrives piece by piece.
bool download(std::uint64_t number) {
    std::size_t size = 0;
    bool told = false;
    EmbeddedChannel channel;
    channel.pipeline().addLast<http::ClientCodec>(http::ClientCodecOptions{.host = "h"});
    channel.pipeline().addLast<http::ResponseAggregator>().addLast<FullResponses>(size, told);
    channel.channel().writeAndFlush(Message(http::ClientRequest(http::Method::get, "/")));
    channel.runPendingTasks();
    channel.writeInbound(Buffer::copyOf("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"));
    std::vector<Buffer> parts(pieces);
    for (Buffer& part : parts) part = Buffer::copyOf(piece());
    parts.push_back(Buffer::copyOf("0\r\n\r\n"));
    bool failed = false;
    {
        const FailingAllocation failing(number);
        for (Buffer& part : parts) {
            if (channel.active()) channel.writeInbound(std::move(part));
            channel.runPendingTasks();
        }
        failed = failing.hasFailed();
    }
    if (size != pieces * pieceBytes) {
        EXPECT_EQ(size, 0u);
        EXPECT_TRUE(told);
        EXPECT_FALSE(channel.active());
    }
    return failed;
}

TEST_F(HttpExhaustion, AResponseWithAMissingPieceIsAnExceptionAndTheEnd) {
    sweepRounds(4, download);
}

}  // namespace
}  // namespace weft::exhaustion
