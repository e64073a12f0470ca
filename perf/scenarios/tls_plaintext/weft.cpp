// Question: what does TLS add to a request through the whole pipeline (codec, aggregator, handler) on one carrier?
#include <memory>

#include <weft/tls/ssl_handler.hpp>

#include "../../support/tls_identity.hpp"
#include "../../support/weft_server.hpp"

namespace weft::perf {
namespace {

SslContext contextOf(const TlsIdentity& identity) {
    SslServerOptions options;
    options.certificate = PemSource::text(identity.certificate);
    options.key = PemSource::text(identity.key);
    return SslContext::server(options);
}

int run(const ServerFlags& wanted) {
    EventLoopGroup group(wanted.group());
    ServerBootstrap bootstrap(group);
    const auto codec = std::make_shared<const http::ServerCodecOptions>(http::ServerCodecOptions{.serverName = "weft"});
    bootstrap.childHandler([codec, tls = contextOf(makeTlsIdentity())](Channel& channel) {
        channel.pipeline().addLast<SslHandler>(tls).addLast<http::ServerCodec>(codec);
        channel.pipeline().addLast<http::ObjectAggregator>().addLast<InlineHandler>("/plaintext");
    });
    const Server server = bootstrap.bind(SocketAddress::parse(wanted.listen)).sync().channel();
    announce(server.localAddress().toString());
    return runUntilSignal(group);
}

}  // namespace
}  // namespace weft::perf

int main(int argc, char** argv) {
    using namespace weft::perf;
    Flags flags(argc, argv, ServerFlags::usage);
    const ServerFlags wanted(flags);
    flags.finish();
    return runServer(flags, [&] { return run(wanted); });
}
