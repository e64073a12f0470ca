// Question: what does a request cost through the whole pipeline (epoll, codec, aggregator, handler) on one carrier?
// With --answer-ids (response_varied): and when each answer has a header of its own?
#include "../../support/ids.hpp"
#include "../../support/weft_server.hpp"

namespace weft::perf {
namespace {

struct IdHandler final : SimpleInboundHandler<http::FullRequest> {
    explicit IdHandler(std::string_view path) : path(path) {}
    void channelRead0(ChannelHandlerContext& ctx, http::FullRequest request) override {
        static std::uint64_t ids = 0;  // the server has one carrier
        char id[idSize];
        writeId(id, ++ids);
        http::Response response = answerTo(request, path);
        response.headers.add("X-Request-Id", std::string_view(id, idSize));
        ctx.writeAndFlush(std::move(response));
    }
    std::string_view path;
};

template <class Handler>
int serveWith(const Flags& flags, const ServerFlags& wanted) {
    return serve(flags, wanted, [](ChannelPipeline& pipeline) { pipeline.addLast<Handler>("/plaintext"); });
}

}  // namespace
}  // namespace weft::perf

int main(int argc, char** argv) {
    using namespace weft::perf;
    Flags flags(argc, argv, std::string(ServerFlags::usage) + " [--answer-ids]");
    const ServerFlags wanted(flags);
    return flags.present("--answer-ids") ? serveWith<IdHandler>(flags, wanted)
                                         : serveWith<InlineHandler>(flags, wanted);
}
