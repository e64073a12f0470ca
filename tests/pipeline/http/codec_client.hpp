// Shared by the tests of the client codec: an embedded client, and an application that records what it receives.
#pragma once

#include <cstddef>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include <weft/http/client_codec.hpp>
#include <weft/http/response_aggregator.hpp>
#include <weft/pipeline/channel_errors.hpp>
#include <weft/pipeline/channel_handler_context.hpp>
#include <weft/pipeline/embedded_channel.hpp>

#include "pipeline/http/body_recorder.hpp"

namespace weft::http::test {

// An application after the codec: records what it receives.
struct Recorder final : ChannelInboundHandler {
    explicit Recorder(std::string& log) : log(log) {}
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
            log += "end" + BodyRecorder::trailersOf(message.get<LastContent>());
        } else if (message.is<FullResponse>()) {
            const FullResponse& response = message.get<FullResponse>();
            log.append("full ").append(response.body());
            log.append(response.trailers().find("X-Sum").value_or(""));
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

// A refused message fails its promise, and none of its bytes is sent.
inline std::string refusal(Client& client, Message message) {
    const ChannelPromise promise = client.channel.channel().newPromise();
    client.channel.channel().writeAndFlush(std::move(message), promise);
    client.channel.runPendingTasks();
    EXPECT_EQ(client.channel.readOutboundText(), "");
    if (!promise.done() || promise.future().success()) return "(accepted)";
    return describe(promise.future().cause());
}

}  // namespace weft::http::test
