// The bytes of a TLS handshake before any key is known, to a server's or a client's engine: how they are cut into
// pieces changes nothing, and no handshake succeeds.
#include <string>
#include <string_view>

#include "fuzz/cuts.hpp"
#include "fuzz/targets.hpp"
#include "tls/engine_pair.hpp"

namespace weft::fuzz {
namespace {

using test::EngineSide;

constexpr std::size_t mostAnswer = 16 * 1024;  // a server's certificate, and what is around it

const SslContext& serverContext() {
    static const SslContext context = [] {
        SslServerOptions options = test::serverOptions();
        options.names = {{"*.example.test", SslContext::server(test::serverOptions())}};
        options.applicationProtocols = {"h2", "http/1.1"};
        return SslContext::server(options);
    }();
    return context;
}

const SslContext& clientContext() {
    static const SslContext context = SslContext::client(test::clientOptions());
    return context;
}

// How the handshake ends.
std::string outcome(EngineSide& side, std::string_view bytes, Cut cut) {
    std::size_t sent = side.takeWire().size();
    deliver(bytes, cut, [&](std::string_view piece) {
        side.receive(piece);
        sent += side.takeWire().size();
        require(sent <= mostAnswer, "too much was sent before the handshake is done");
    });
    side.engine.endInput();
    side.receive();
    require(!side.engine.handshakeDone(), "a handshake succeeds without keys", bytes);
    require(side.engine.failed(), "the end of the input is no failure", bytes);
    return side.engine.error().message() + ": " + std::string(side.engine.errorText());
}

std::string outcome(bool isServer, std::string_view bytes, Cut cut) {
    if (isServer) {
        EngineSide server(serverContext());
        return outcome(server, bytes, cut);
    }
    EngineSide client(clientContext(), "localhost");
    client.engine.begin(client.wire);
    return outcome(client, bytes, cut);
}

}  // namespace

void tlsHelloTarget(std::string_view bytes) {
    if (bytes.empty()) return;
    const bool isServer = (bytes.front() & 1) == 0;
    bytes.remove_prefix(1);
    const std::string whole = outcome(isServer, bytes, Cut::whole);
    requireSame(whole, outcome(isServer, bytes, Cut::some), "in pieces the handshake ends otherwise");
    if (bytes.size() < 200) requireSame(whole, outcome(isServer, bytes, Cut::bytes), "byte by byte it ends otherwise");
}

}  // namespace weft::fuzz
