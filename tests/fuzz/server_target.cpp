// A whole server connection: requests and answers depend on the client's bytes and not on how they are cut, and nothing
// after a refusal is served.
#include <string>
#include <string_view>

#include <weft/http/object_aggregator.hpp>
#include <weft/http/server_codec.hpp>
#include <weft/pipeline/channel_handler_context.hpp>
#include <weft/pipeline/embedded_channel.hpp>
#include <weft/pipeline/simple_inbound_handler.hpp>

#include "fuzz/channel_bench.hpp"
#include "fuzz/cuts.hpp"
#include "fuzz/targets.hpp"

namespace weft::fuzz {
namespace {

using namespace http;

// Its answers depend on the request: some are streamed, some end the connection, some switch the protocol.
struct Application final : SimpleInboundHandler<FullRequest> {
    explicit Application(std::string& log) : log(log) {}
    void channelRead0(ChannelHandlerContext& ctx, FullRequest request) override {
        log.append(request.methodText()).append(" ").append(request.target()).append(" ").append(request.body());
        for (std::size_t i = 0; i < request.trailers().size(); ++i)
            log.append(" ").append(request.trailers().at(i).name);
        log += "\n";
        if (request.head().upgrade && request.path() == "/u") return request.responder().send(switchTo("x"));
        if (request.path() == "/s") return stream(request.responder(), request.body());
        if (request.path() == "/d") return;  // dropped: the codec answers
        Response response = ok(request.takeBody());
        if (request.path() == "/x") response.keepAlive = false;
        response.to(request);
        ctx.writeAndFlush(Message(std::move(response)));
    }
    static void stream(Responder responder, std::string_view body) {
        BodyWriter writer = responder.begin(Response(Status::ok));
        if (!body.empty()) writer.write(Buffer::copyOf(body));
        HeaderList trailers;
        trailers.add("X-Sum", "1");
        writer.end(std::move(trailers));
    }
    std::string& log;
};

struct Outcome {
    std::string asked;
    std::string answered;
};

Outcome serve(std::string_view bytes, Cut cut) {
    Outcome outcome;
    EmbeddedChannel channel;
    channel.pipeline().addLast<ServerCodec>(ServerCodecOptions{.maxInFlight = 4, .serverName = "f"});
    channel.pipeline().addLast<ObjectAggregator>(64).addLast<Application>(outcome.asked);
    deliver(bytes, cut, [&](std::string_view piece) {
        if (channel.channel().open()) channel.writeInbound(Buffer::copyOf(piece));
    });
    if (channel.channel().open()) channel.channel().onEof();
    channel.runPendingTasks();
    outcome.answered = withoutDates(channel.readOutboundText());
    while (Message raw = channel.readInbound()) {
        if (raw.is<Buffer>()) outcome.answered.append(raw.get<Buffer>().view());  // bytes of another protocol
    }
    return outcome;
}

std::size_t count(std::string_view text, std::string_view what) {
    std::size_t found = 0;
    for (std::size_t at = text.find(what); at != std::string_view::npos; at = text.find(what, at + 1)) ++found;
    return found;
}

}  // namespace

void serverTarget(std::string_view bytes) {
    quietLog();
    const Outcome whole = serve(bytes, Cut::whole);
    for (const Cut cut : {Cut::some, Cut::bytes}) {
        if (cut == Cut::bytes && bytes.size() > 400) continue;
        const Outcome cutUp = serve(bytes, cut);
        requireSame(whole.asked, cutUp.asked, "in pieces the application is asked otherwise");
        requireSame(whole.answered, cutUp.answered, "in pieces the answers are others");
    }
    require(count(whole.answered, "\r\nServer: f\r\n") <= count(bytes, "\n") + 1, "more answers than requests");
}

}  // namespace weft::fuzz
