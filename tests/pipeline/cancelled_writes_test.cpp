// W-2 for the encoders of the room: cancelling the future of a message that an encoder has taken removes no bytes,
// neither those of the message nor those of others.
#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <weft/http/client_codec.hpp>
#include <weft/http/object_aggregator.hpp>
#include <weft/http/server_codec.hpp>
#include <weft/pipeline/codec/length_field_prepender.hpp>
#include <weft/pipeline/codec/message_to_message_codec.hpp>
#include <weft/pipeline/codec/string_codec.hpp>

#include "pipeline/http/log_lines.hpp"
#include "pipeline/scripted_sink.hpp"

namespace weft {
namespace {

using http::ClientCodec;
using http::ClientRequest;
using http::Content;
using http::FullRequest;
using http::LastContent;
using http::Response;
using test::ScriptedChannel;

constexpr std::size_t large = 5000;  // bytes: passed on without a copy

// Keeps the requests, which so count as neither answered nor dropped.
struct Requests final : SimpleInboundHandler<FullRequest> {
    void channelRead0(ChannelHandlerContext&, FullRequest request) override { kept.push_back(std::move(request)); }
    std::deque<FullRequest> kept;
};

// Writes to one codec, step by step.
struct Exchange {
    using Message = std::function<weft::Message(Exchange&)>;

    explicit Exchange(const std::function<void(ChannelPipeline&)>& fill, std::size_t requests = 0) {
        fill(channel.pipeline());
        channel.start();
        for (; requests > 0; --requests) channel.deliver({"GET / HTTP/1.1\r\nHost: x\r\n\r\n"});
    }
    Requests& requests() { return *channel.pipeline().get<Requests>(); }
    // All bytes that leave, without the lines that depend on the time.
    std::string sent() {
        channel->flush();
        channel.run();
        std::string text = channel.sink->written;
        for (std::size_t at = text.find("Date: "); at != std::string::npos; at = text.find("Date: ")) {
            text.erase(at, text.find('\n', at) + 1 - at);
        }
        return text;
    }
    ScriptedChannel channel;
};

std::string sentWithoutPromises(const std::function<void(ChannelPipeline&)>& fill, std::size_t requests,
                                const std::vector<Exchange::Message>& messages) {
    Exchange exchange(fill, requests);
    for (const auto& message : messages) exchange.channel->write(message(exchange));
    return exchange.sent();
}

// Cancels each message in turn, right after its write.
void expectFirm(const std::function<void(ChannelPipeline&)>& fill, const std::vector<Exchange::Message>& messages,
                std::size_t requests = 0) {
    const http::test::LogLines log;  // a client complains when its connection ends unanswered
    const std::string all = sentWithoutPromises(fill, requests, messages);
    ASSERT_FALSE(all.empty());
    for (std::size_t cancelled = 0; cancelled < messages.size(); ++cancelled) {
        Exchange exchange(fill, requests);
        ChannelFuture outcome;
        for (std::size_t i = 0; i < messages.size(); ++i) {
            const ChannelPromise promise = i == cancelled ? exchange.channel->newPromise() : ChannelPromise();
            exchange.channel->write(messages[i](exchange), promise);
            if (i != cancelled) continue;
            outcome = promise.future();
            EXPECT_TRUE(outcome.success() || !outcome.cancel()) << "message " << cancelled;
        }
        EXPECT_TRUE(exchange.sent() == all) << "message " << cancelled;
        EXPECT_TRUE(outcome.success()) << "message " << cancelled;
    }
}

Exchange::Message bytes(std::size_t size) {
    return [size](Exchange&) { return Message(Buffer::copyOf(std::string(size, 'b'))); };
}

Exchange::Message content(std::size_t size) {
    return [size](Exchange&) { return Message(Content{Buffer::copyOf(std::string(size, 'c'))}); };
}

Exchange::Message lastContent() {
    return [](Exchange&) { return Message(LastContent()); };
}

Exchange::Message request(std::size_t body, bool streamed = false) {
    return [body, streamed](Exchange&) {
        ClientRequest request(http::Method::post, "/" + std::to_string(body));
        request.body = Buffer::copyOf(std::string(body, 'r'));
        request.streamed = streamed;
        return Message(std::move(request));
    };
}

void addClient(ChannelPipeline& pipeline) {
    pipeline.addLast<ClientCodec>(http::ClientCodecOptions{.host = "h"});
}

void addServer(ChannelPipeline& pipeline) {
    pipeline.addLast<http::ServerCodec>().addLast<http::ObjectAggregator>().addLast<Requests>();
}

// The answer to the request with this index.
Exchange::Message answer(std::size_t index, std::size_t body, bool streamed = false) {
    return [index, body, streamed](Exchange& exchange) {
        Response response = http::ok(std::string(body, static_cast<char>('0' + index)));
        response.streamed = streamed;
        if (streamed) response.body = Buffer();
        return Message(std::move(response).to(exchange.requests().kept.at(index)));
    };
}

Exchange::Message piece(std::size_t index, std::size_t size) {
    return [index, size](Exchange& exchange) {
        return Message(Content{Buffer::copyOf(std::string(size, 'p')), exchange.requests().kept.at(index).ticket()});
    };
}

Exchange::Message endOf(std::size_t index) {
    return [index](Exchange& exchange) { return Message(LastContent{exchange.requests().kept.at(index).ticket()}); };
}

TEST(CancelledWrites, W2_WhatAnEncoderHasTakenCannotBeCancelled) {
    const auto text = [](Exchange&) { return Message(std::string("text")); };
    struct Texts final : MessageToMessageCodec<Buffer, std::string> {
        void decode(ChannelHandlerContext&, Buffer) override {}
        Message encode(ChannelHandlerContext&, std::string text) override { return Message(Buffer::copyOf(text)); }
    };
    expectFirm([](ChannelPipeline& pipeline) { pipeline.addLast<StringEncoder>(); }, {text, text, text});
    expectFirm([](ChannelPipeline& pipeline) { pipeline.addLast<Texts>(); }, {text, text, text});
}

TEST(CancelledWrites, W2_ALengthNeverLeavesWithoutItsFrame) {
    expectFirm([](ChannelPipeline& pipeline) { pipeline.addLast<LengthFieldPrepender>(); },
               {bytes(3), bytes(large), bytes(0), bytes(5)});
}

TEST(CancelledWrites, W2_ARequestHeadNeverLeavesWithoutItsBody) {
    expectFirm(addClient, {request(3), request(large), request(0)});
}

TEST(CancelledWrites, W2_APieceOfAStreamedRequestLeavesWithItsFraming) {
    expectFirm(addClient, {request(0, true), content(3), content(large), content(0), lastContent(), request(1)});
}

TEST(CancelledWrites, W2_AnAnswerTakesNoOtherAnswerWithIt) {
    expectFirm(addServer, {answer(0, 3), answer(1, large), answer(2, 4), answer(3, 0)}, 4);
}

TEST(CancelledWrites, W2_AnAnswerThatWaitsForItsTurnIsFirmToo) {
    expectFirm(addServer, {answer(2, 3), answer(1, large), answer(0, 4)}, 3);
}

TEST(CancelledWrites, W2_APieceOfAStreamedAnswerLeavesWithItsFraming) {
    expectFirm(addServer, {answer(0, 3), answer(1, 0, true), piece(1, 3), piece(1, large), endOf(1), answer(2, 3)}, 3);
}

// ---- cancelled before the encoder had it, perhaps by another thread ----

// Calls the handler's write() as if the cancellation came between the check of ChannelHandlerContext::write() and it.
template <class Handler>
void writeCancelled(ScriptedChannel& channel, Message&& message) {
    const ChannelPromise promise = channel->newPromise();
    ASSERT_TRUE(promise.future().cancel());
    channel.pipeline().get<Handler>()->write(*channel.pipeline().context<Handler>(), std::move(message), promise);
}

TEST(CancelledWrites, W2_ACancelledRequestIsNotSentAndAwaitsNoAnswer) {
    Exchange exchange(addClient);
    writeCancelled<ClientCodec>(exchange.channel, request(large)(exchange));
    writeCancelled<ClientCodec>(exchange.channel, request(0, true)(exchange));
    EXPECT_EQ(exchange.channel.pipeline().get<ClientCodec>()->outstanding(), 0u);
    exchange.channel->write(request(1)(exchange));
    EXPECT_TRUE(exchange.sent().starts_with("POST /1 HTTP/1.1\r\n"));
}

TEST(CancelledWrites, W2_ACancelledFrameHasNoLength) {
    Exchange exchange([](ChannelPipeline& pipeline) { pipeline.addLast<LengthFieldPrepender>(); });
    writeCancelled<LengthFieldPrepender>(exchange.channel, Message(Buffer::copyOf("gone")));
    EXPECT_EQ(exchange.sent(), "");
}

TEST(CancelledWrites, W2_ARequestWhoseAnswerWasCancelledCanStillBeAnswered) {
    Exchange exchange(addServer, 2);
    writeCancelled<http::ServerCodec>(exchange.channel, answer(0, 3)(exchange));
    exchange.channel->write(answer(1, 3)(exchange));
    EXPECT_EQ(exchange.sent(), "") << "the first answer is missing";
    exchange.channel->write(answer(0, 4)(exchange));
    const std::string sent = exchange.sent();
    EXPECT_NE(sent.find("0000"), std::string::npos) << sent;
    EXPECT_TRUE(sent.ends_with("111")) << sent;
}

// ---- a Responder and a BodyWriter, the only ones that can answer their request ----

TEST(CancelledWrites, W2_AResponderWhosePromiseIsCancelledAnswersWith500) {
    const http::test::LogLines log;
    Exchange exchange(addServer, 2);
    const ChannelPromise cancelled = exchange.channel->newPromise();
    cancelled.future().cancel();
    exchange.requests().kept.at(0).responder().send(http::ok("gone"), cancelled);
    exchange.requests().kept.at(1).responder().send(http::ok("second"));
    const std::string sent = exchange.sent();
    EXPECT_TRUE(sent.starts_with("HTTP/1.1 500 ")) << sent;
    EXPECT_EQ(sent.find("gone"), std::string::npos) << sent;
    EXPECT_TRUE(sent.ends_with("second")) << sent;
}

TEST(CancelledWrites, W2_WhatAResponderHasSentCannotBeCancelledOnItsWayToTheLoop) {
    Exchange exchange(addServer, 1);
    http::Responder responder = exchange.requests().kept.at(0).responder();
    const ChannelPromise promise = exchange.channel->newPromise();
    exchange.channel.pipeline().addFirst<StringEncoder>();
    responder.send(http::ok("answer"), promise);
    EXPECT_FALSE(promise.future().cancel());
    EXPECT_TRUE(exchange.sent().ends_with("answer"));
}

TEST(CancelledWrites, W2_ABodyWhoseEndIsCancelledClosesTheConnection) {
    Exchange exchange(addServer, 1);
    {
        http::BodyWriter body = exchange.requests().kept.at(0).responder().begin(Response(http::Status::ok));
        body.write(Buffer::copyOf("piece"));
        const ChannelPromise cancelled = exchange.channel->newPromise();
        cancelled.future().cancel();
        body.end(cancelled);
        EXPECT_TRUE(exchange.channel->open());
    }
    EXPECT_FALSE(exchange.sent().ends_with("0\r\n\r\n"));
    EXPECT_FALSE(exchange.channel->open());
}

}  // namespace
}  // namespace weft
