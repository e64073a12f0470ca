// What an authentic peer of an established TLS 1.3 connection does: the input is a list of its records, of any type and
// content, encrypted with its keys. The engine receives what was sent as data, up to its first failure, however the
// records are cut. Its answers to a flood are bounded.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "fuzz/cuts.hpp"
#include "fuzz/targets.hpp"
#include "tls/engine_pair.hpp"
#include "tls/libssl_peer.hpp"
#include "tls/sealed_records.hpp"

namespace weft::fuzz {
namespace {

using test::EngineSide;
using test::LibsslPeer;
using test::SealedRecords;

constexpr std::size_t mostAnswers = 16 * 1024;  // key updates, alerts

struct Script {
    std::string wire;
    std::string data;  // that an engine may receive
    bool isDataOnly = true;
};

// An action is a byte, a length, and so many bytes of content.
Script scriptOf(std::string_view bytes, SealedRecords& keys) {
    Script script;
    while (bytes.size() >= 2) {
        const auto action = static_cast<unsigned char>(bytes[0]);
        const std::string_view content = bytes.substr(2, static_cast<unsigned char>(bytes[1]));
        bytes.remove_prefix(2 + content.size());
        script.isDataOnly &= action % 6 == 0 && !content.empty();
        switch (action % 6) {
            case 0:  // data, perhaps with padding
                script.wire += keys.seal(23, content, action / 6u);
                script.data += content;
                break;
            case 1:  // messages of the handshake protocol
                script.wire += keys.seal(22, content);
                break;
            case 2:  // key updates
                for (unsigned i = 0; i <= action / 6u; ++i) {
                    script.wire += keys.seal(22, std::string_view("\x18\0\0\x01\x01", 5));
                    keys.updateKeys();
                }
                break;
            case 3:  // an alert, or a type that there is not; 0 is padding, and the type is a byte of the content then
                if (action / 6u != 0 && action / 6u != 23)
                    script.wire += keys.seal(static_cast<unsigned char>(action / 6u), content);
                break;
            case 4:  // empty records
                for (unsigned i = 0; i <= action / 6u; ++i) script.wire += keys.seal(23, {});
                break;
            default: script.wire += content;  // not encrypted
        }
    }
    return script;
}

// The engine of an established connection, whose peer's keys are known.
struct Established {
    explicit Established(bool isServer)
        : peer(isServer ? LibsslPeer::Side::client : LibsslPeer::Side::server, &SealedRecords::configure) {
        if (isServer) {
            static const SslContext context = SslContext::server(test::serverOptions());
            side.emplace(context);
        } else {
            static const SslContext context = SslContext::client(test::clientOptions());
            side.emplace(context, "localhost");
            side->engine.begin(side->wire);
        }
        peer.talkTo(*side);
        require(side->engine.handshakeDone(), "the handshake has failed", side->engine.errorText());
    }
    LibsslPeer peer;
    std::optional<EngineSide> side;
};

// A client's peer has sent two tickets, which have used two numbers of its sequence.
std::string outcome(unsigned kind, std::string_view bytes, Cut cut) {
    const bool isServer = (kind & 1) == 0;
    constexpr std::size_t readSizes[] = {16 * 1024, 1, 7, 255};
    Established established(isServer);
    EngineSide& side = *established.side;
    side.readBytes = readSizes[kind / 2 % 4];
    SealedRecords keys(isServer ? SealedRecords::Of::client : SealedRecords::Of::server);
    if (!isServer) keys.skip(2);
    const Script script = scriptOf(bytes, keys);
    std::size_t answered = 0;
    deliver(script.wire, cut, bytes, [&](std::string_view piece) {
        side.receive(piece);
        answered += side.takeWire().size();
    });
    side.engine.endInput();
    side.receive();
    require(answered <= mostAnswers, "the answers to a flood are not bounded");
    require(std::string_view(script.data).starts_with(side.received), "other data was received than was sent");
    require(!script.isDataOnly || side.received == script.data, "data was lost");
    require(side.engine.failed() || side.step == SslEngine::Step::peerClosed, "the end of the input is no end");
    return side.received + "\n" + side.engine.error().message() + ": " + std::string(side.engine.errorText());
}

}  // namespace

void tlsRecordsTarget(std::string_view bytes) {
    if (bytes.empty()) return;
    const auto kind = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    const std::string whole = outcome(kind, bytes, Cut::whole);
    requireSame(whole, outcome(kind, bytes, Cut::some), "in pieces other things are received");
}

}  // namespace weft::fuzz
