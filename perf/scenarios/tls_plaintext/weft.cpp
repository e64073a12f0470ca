// Question: what does TLS add to a request through the whole pipeline (codec, aggregator, handler) on one carrier?
#include <memory>

#include <weft/tls/ssl_handler.hpp>

#include "../../support/tls_server.hpp"
#include "../../support/weft_server.hpp"

namespace weft::perf {
namespace {

struct BodyHandler final : SimpleInboundHandler<http::FullRequest> {
    explicit BodyHandler(std::string_view body) : body(body) {}
    void channelRead0(ChannelHandlerContext& ctx, http::FullRequest request) override {
        if (request.path() != "/plaintext") ctx.writeAndFlush(http::error(http::Status::notFound));
        else ctx.writeAndFlush(http::ok(Buffer::wrapStatic(body)));
    }
    std::string_view body;
};

SslContext contextOf(const TlsIdentity& identity) {
    SslServerOptions options;
    options.certificate = PemSource::text(identity.certificate);
    options.key = PemSource::text(identity.key);
    return SslContext::server(options);
}

int run(const ServerFlags& wanted, const TlsFlags& tls, Duration handshakeTimeout) {
    const std::string body = tlsBody(tls.bodyBytes);  // longer than the group
    EventLoopGroup group(wanted.group());
    ServerBootstrap bootstrap(group);
    const auto codec = std::make_shared<const http::ServerCodecOptions>(http::ServerCodecOptions{.serverName = "weft"});
    const SslContext context = contextOf(makeTlsIdentity(tls.rsa));
    bootstrap.childHandler([codec, context, handshakeTimeout, &body](Channel& channel) {
        channel.pipeline().addLast<SslHandler>(context, SslHandlerOptions{.handshakeTimeout = handshakeTimeout});
        channel.pipeline().addLast<http::ServerCodec>(codec);
        channel.pipeline().addLast<http::ObjectAggregator>().addLast<BodyHandler>(body);
    });
    const Server server = bootstrap.bind(SocketAddress::parse(wanted.listen)).sync().channel();
    announce(server.localAddress().toString());
    return runUntilSignal(group);
}

}  // namespace
}  // namespace weft::perf

int main(int argc, char** argv) {
    using namespace weft::perf;
    Flags flags(argc, argv,
                std::string(ServerFlags::usage) + " [--handshake-timeout-s 10] " + std::string(TlsFlags::usage));
    const ServerFlags wanted(flags);
    const TlsFlags tls(flags);
    const std::chrono::seconds timeout(flags.number("--handshake-timeout-s", 10, 1, 3600));
    flags.finish();
    return runServer(flags, [&] { return run(wanted, tls, timeout); });
}
