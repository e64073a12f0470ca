// A client's and a server's SslEngine that talk to each other through memory.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <weft/tls/ssl_engine.hpp>

#include "tls/certificates.hpp"

namespace weft::test {

inline const Authority& testAuthority() {
    static const Authority authority;
    return authority;
}

inline const Identity& testIdentity() {
    static const Identity identity = testAuthority().issue();
    return identity;
}

inline SslServerOptions serverOptions(const Identity& identity = testIdentity()) {
    SslServerOptions options;
    options.certificate = PemSource::text(identity.certificate);
    options.key = PemSource::text(identity.key);
    return options;
}

inline SslClientOptions clientOptions() {
    SslClientOptions options;
    options.trust = PemSource::text(testAuthority().certificate());
    return options;
}

// One side, with what it has sent and received.
struct EngineSide {
    template <class... Args>
    explicit EngineSide(Args&&... args) : engine(std::forward<Args>(args)...) {}

    // What it has written since the last call.
    std::string takeWire() {
        std::string bytes;
        wire.flush();
        for (detail::Ring<Buffer> pieces = wire.takePieces(); !pieces.empty();) bytes += pieces.pop().view();
        return bytes;
    }
    // Receives until nothing is left, or it has failed; plaintext is kept in `received`.
    void receive(std::string_view bytes) {
        if (!bytes.empty()) engine.feed(Buffer::copyOf(bytes));
        receive();
    }
    void receive() {
        for (;;) {
            Buffer plain = Buffer::allocate(readBytes);
            const std::size_t rest = plain.writableBytes() - readBytes;  // the pool's blocks are larger
            plain.produced(rest);
            plain.consumed(rest);
            step = engine.receive(plain, wire);
            received += plain.view();
            if (step == SslEngine::Step::handshakeDone) ++handshakes;
            const bool goesOn = step == SslEngine::Step::plaintext || step == SslEngine::Step::handshakeDone;
            if (!goesOn && (step != SslEngine::Step::needInput || !engine.canShakeHands())) return;
        }
    }
    void send(std::string_view plain) {
        while (!plain.empty()) {
            const std::size_t sent = engine.send(plain, wire);
            ASSERT_GT(sent, 0u) << engine.errorText();
            plain.remove_prefix(sent);
        }
    }

    ChannelOutput wire;
    SslEngine engine;
    SslEngine::Step step = SslEngine::Step::needInput;
    std::string received;
    int handshakes = 0;
    std::size_t readBytes = 16 * 1024;
};

struct EnginePair {
    EnginePair(const SslContext& serverContext, const SslContext& clientContext, std::string_view name = "localhost")
        : server(serverContext), client(clientContext, name) {
        client.engine.begin(client.wire);
    }
    EnginePair() : EnginePair(SslContext::server(serverOptions()), SslContext::client(clientOptions())) {}

    // Delivers in both directions until both are silent.
    void run() {
        for (;;) {
            const std::string toServer = client.takeWire();
            if (!toServer.empty()) server.receive(toServer);
            const std::string toClient = server.takeWire();
            if (!toClient.empty()) client.receive(toClient);
            if (toServer.empty() && toClient.empty()) return;
        }
    }
    // The records of `bytes`, which are whole.
    static std::vector<std::string> records(std::string_view bytes) {
        std::vector<std::string> all;
        while (bytes.size() >= detail::RecordBio::headerBytes) {
            const auto length = static_cast<unsigned char>(bytes[3]) * 256u + static_cast<unsigned char>(bytes[4]);
            all.emplace_back(bytes.substr(0, detail::RecordBio::headerBytes + length));
            bytes.remove_prefix(std::min(bytes.size(), all.back().size()));
        }
        return all;
    }

    EngineSide server;
    EngineSide client;
};

}  // namespace weft::test
