// A whole client connection with three pipelined requests: what the application receives depends on the server's bytes
// and not on how they are cut.
#include <string>
#include <string_view>

#include <weft/http/client_codec.hpp>
#include <weft/pipeline/channel_errors.hpp>
#include <weft/pipeline/channel_handler_context.hpp>
#include <weft/pipeline/embedded_channel.hpp>

#include "fuzz/channel_bench.hpp"
#include "fuzz/cuts.hpp"
#include "fuzz/targets.hpp"

namespace weft::fuzz {
namespace {

using namespace http;

// Ignores where one piece of a body ends and the next begins.
struct Application final : ChannelInboundHandler {
    explicit Application(std::string& log) : log(log) {}
    void channelRead(ChannelHandlerContext&, Message&& message) override {
        if (message.is<InterimResponse>()) {
            log += "\ninterim " + std::to_string(codeOf(message.get<InterimResponse>().status()));
        } else if (message.is<ReceivedResponse>()) {
            const ReceivedResponse& response = message.get<ReceivedResponse>();
            log += "\n" + std::to_string(response.ticket()) + " " + std::to_string(codeOf(response.status())) + " ";
        } else if (message.is<Content>()) {
            log.append(message.get<Content>().data.view());
        } else if (message.is<LastContent>()) {
            log += "\nend";
        } else if (message.is<Buffer>()) {
            log.append(message.get<Buffer>().view());
        }
    }
    void userEventTriggered(ChannelHandlerContext&, Message&& event) override {
        if (event.is<ProtocolSwitched>()) log += "\nswitched ";
    }
    void exceptionCaught(ChannelHandlerContext&, std::exception_ptr cause) override { log += "\n" + describe(cause); }
    void channelInactive(ChannelHandlerContext&) override { log += "\ninactive"; }
    std::string& log;
};

ClientRequest requestOf(char kind) {
    switch (kind) {
        case 'H': return ClientRequest(Method::head, "/");
        case 'C': return ClientRequest(Method::connect, "b:1");
        case 'U': {
            ClientRequest upgrade;
            upgrade.headers.add("Upgrade", "x");
            return upgrade;
        }
        case 'P': return ClientRequest(Method::post, "/", Buffer::copyOf("body"));
        default: return {};
    }
}

std::string ask(std::string_view kinds, std::string_view bytes, Cut cut) {
    std::string log;
    EmbeddedChannel channel;
    channel.pipeline().addLast<ClientCodec>(ClientCodecOptions{.host = "h"}).addLast<Application>(log);
    for (const char kind : kinds) channel.channel().writeAndFlush(Message(requestOf(kind)));
    deliver(bytes, cut, [&](std::string_view piece) {
        if (channel.channel().open()) channel.writeInbound(Buffer::copyOf(piece));
    });
    if (channel.channel().open()) channel.channel().onEof();
    channel.runPendingTasks();
    return log;
}

}  // namespace

void clientTarget(std::string_view bytes) {
    quietLog();
    if (bytes.size() < 3) return;
    const std::string_view kinds = bytes.substr(0, 3);
    bytes.remove_prefix(3);
    const std::string whole = ask(kinds, bytes, Cut::whole);
    requireSame(whole, ask(kinds, bytes, Cut::some), "in pieces the application hears something else");
    if (bytes.size() < 400) requireSame(whole, ask(kinds, bytes, Cut::bytes), "byte by byte it hears something else");
}

}  // namespace weft::fuzz
