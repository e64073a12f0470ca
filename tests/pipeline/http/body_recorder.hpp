// BodyRecorder: a server application directly after the codec, without an aggregator. Records messages as text and
// keeps the requests.
#pragma once

#include <deque>
#include <string>
#include <utility>

#include <weft/http/server_codec.hpp>
#include <weft/pipeline/channel_handler_context.hpp>
#include <weft/pipeline/embedded_channel.hpp>

namespace weft::http::test {

struct BodyRecorder final : ChannelInboundHandler {
    struct Log {
        std::string text;  // of every message: "/path", "(data)", "end name=value", "cut: reason", "event"
        std::deque<Request> requests;
        std::string take() { return std::exchange(text, {}); }
    };
    explicit BodyRecorder(Log& log) : log(log) {}

    void channelRead(ChannelHandlerContext&, Message&& message) override {
        log.text += log.text.empty() ? "" : " ";
        if (message.is<Request>()) {
            log.requests.push_back(message.take<Request>());
            log.text += log.requests.back().target();
        } else if (message.is<Content>()) {
            log.text.append("(").append(message.get<Content>().data.view()).append(")");
        } else if (message.is<LastContent>()) {
            log.text += "end" + trailersOf(message.get<LastContent>());
        } else if (message.is<BodyCut>()) {
            log.text.append("cut: ").append(message.get<BodyCut>().reason);
        } else if (message.is<Buffer>()) {
            log.text.append("raw ").append(message.get<Buffer>().view());
        } else {
            log.text += "?";
        }
    }
    void userEventTriggered(ChannelHandlerContext&, Message&& event) override {
        if (event.is<ProtocolSwitched>()) log.text += " switched";
    }
    static std::string trailersOf(const LastContent& last) {
        std::string text;
        for (std::size_t i = 0; last.trailers != nullptr && i < last.trailers->size(); ++i) {
            const HeaderView field = last.trailers->at(i);
            text.append(" ").append(field.name).append("=").append(field.value);
        }
        return text;
    }

    Log& log;
};

struct StreamingServer {
    explicit StreamingServer(ServerCodecOptions options = {}) {
        channel.pipeline().addLast<ServerCodec>(std::move(options)).addLast<BodyRecorder>(log);
    }
    // The server's output for these bytes.
    std::string say(std::string_view bytes) {
        channel.writeInbound(Buffer::copyOf(bytes));
        return heard();
    }
    std::string heard() {
        channel.runPendingTasks();
        return channel.readOutboundText();
    }
    // What has reached the application since the last call.
    std::string got() { return log.take(); }
    Responder responder(std::size_t index = 0) { return log.requests.at(index).responder(); }

    BodyRecorder::Log log;
    EmbeddedChannel channel;
};

}  // namespace weft::http::test
