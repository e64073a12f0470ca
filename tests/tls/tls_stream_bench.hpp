// Shared by the tests of TlsStream: fibers on one carrier of each transport, and connected pairs.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <weft/tls/ssl_engine.hpp>
#include <weft/tls/tls_stream.hpp>

#include "framework/bench.hpp"
#include "tls/engine_pair.hpp"
#include "tls/ssl_handler_bench.hpp"
#include "tls/tls_peer.hpp"

namespace weft::test {

class TlsStreamBench : public ::testing::TestWithParam<Transport::Kind> {
  protected:
    TlsStreamBench() {
        EventLoopGroupOptions options = groupOptions(1);
        options.transport = GetParam();
        group_.emplace(options);
    }

    void inFiber(const std::function<void()>& body) { group_->carriers().carrier(0).spawn(body).join(); }
    // A fiber of the same carrier. Context: a fiber.
    template <class F>
    auto beside(F body) {
        return group_->spawn(std::move(body));
    }

    const SslContext server_ = SslContext::server(serverOptions());
    const SslContext client_ = SslContext::client(clientOptions());
    std::optional<EventLoopGroup> group_;
};

// Both sides belong to the running fiber's carrier. Nobody has shaken hands.
struct TlsPair {
    TlsPair(const SslContext& serverContext, const SslContext& clientContext, std::string_view name = "localhost",
            const TlsStreamOptions& options = {})
        : client(std::move(tcp.client), clientContext, name, options),
          server(std::move(tcp.server), serverContext, options) {}

    struct Tcp {
        TcpListener listener = TcpListener::listen(anyPort);
        TcpStream client = TcpStream::connect(listener.localAddress(), testDeadline());
        TcpStream server = listener.accept(testDeadline());
    } tcp;
    TlsStream client;
    TlsStream server;
};

// A stream whose peer is libssl on a thread of its own, which runs `talk`.
class TlsStreamToPeer {
  public:
    TlsStreamToPeer(
        const SslContext& server, std::function<void(TlsPeer&)> talk,
        std::function<void(::SSL_CTX*)> configure = [](::SSL_CTX*) {}, const TlsStreamOptions& options = {})
        : peer_([this, talk = std::move(talk), configure = std::move(configure), address = listener_.localAddress()] {
              {
                  TlsPeer peer(address, configure);
                  talk(peer);
              }
              ended_.setValue();
          }),
          stream_(listener_.accept(testDeadline()), server, options) {}
    // The carrier goes on meanwhile: the close may need it.
    ~TlsStreamToPeer() {
        stream_.close();
        ended_.future().await();
        peer_.join();
    }

    TlsStream& stream() { return stream_; }
    // Until `talk` has returned; what it has written may then be read.
    void awaitEnd() const { ended_.future().await(); }

  private:
    TcpListener listener_ = TcpListener::listen(anyPort);
    Promise<void> ended_;
    std::thread peer_;
    TlsStream stream_;
};

inline std::string readToEnd(TcpStream& stream, ErrorCode& error) {
    std::string all;
    for (Buffer bytes = stream.read(64 * 1024, error); !bytes.empty(); bytes = stream.read(64 * 1024, error))
        all += bytes.view();
    return all;
}

inline std::string pattern(std::size_t size) {
    std::string bytes(size, '\0');
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 31 >> 3);
    return bytes;
}

}  // namespace weft::test
