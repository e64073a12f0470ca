// Servers whose handler keeps the requests; the test reads their bodies.
#pragma once

#include <weft/http/body_streamer.hpp>

#include <deque>
#include <limits>
#include <string>
#include <string_view>

#include <weft/scheduler/log.hpp>

#include "pipeline/http/codec_server.hpp"
#include "pipeline/http/slow_peer.hpp"

namespace weft::http::test {

struct Keeping final : SimpleInboundHandler<StreamedRequest> {
    struct Kept {
        Responder responder;
        BodyReader body;
    };
    explicit Keeping(std::deque<Kept>& kept) : kept(kept) {}
    void channelRead0(ChannelHandlerContext&, StreamedRequest request) override {
        kept.push_back({request.responder(), request.takeBody()});
    }
    std::deque<Kept>& kept;
};

struct StreamedServer {
    StreamedServer() { channel.pipeline().addLast<ServerCodec>().addLast<BodyStreamer>().addLast<Keeping>(kept); }
    ~StreamedServer() {
        setLogSink([](LogLevel, std::string_view) noexcept {});
        kept.clear();
        setLogSink(nullptr);
    }
    std::string say(std::string_view bytes) {
        channel.writeInbound(Buffer::copyOf(bytes));
        channel.runPendingTasks();
        return channel.readOutboundText();
    }
    std::deque<Keeping::Kept> kept;
    EmbeddedChannel channel;
};

// All data that can be read without blocking.
inline std::string readAvailable(BodyReader& body) {
    std::string text;
    while (body.available() > 0) text += body.read()->view();
    return text;
}

// A server that reads no faster than its application: unread bytes stay in the kernel.
struct SlowReader {
    SlowReader()
        : peer([this](ChannelPipeline& pipeline) {
              pipeline.addLast<ServerCodec>().addLast<BodyStreamer>().addLast<Keeping>(kept);
          }) {
        peer.channel.sink->room = std::numeric_limits<std::size_t>::max();
    }
    ~SlowReader() {
        setLogSink([](LogLevel, std::string_view) noexcept {});
        kept.clear();
        setLogSink(nullptr);
    }
    std::deque<Keeping::Kept> kept;
    SlowPeer peer;
};

inline const std::string chunkedPost = "POST /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";

}  // namespace weft::http::test
