// TlsPeer: a TLS client on a blocking socket, which verifies nothing.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "tls/libssl_peer.hpp"
#include "transports/blocking_peer.hpp"

namespace weft::test {

class TlsPeer {
  public:
    explicit TlsPeer(
        const SocketAddress& server, const std::function<void(::SSL_CTX*)>& configure = [](::SSL_CTX*) {})
        : socket_(server), tls_(LibsslPeer::Side::client, configure) {}

    // Sends the first message only.
    void greet() {
        tls_.receive({});
        sendAll();
    }
    // What has come, undecrypted.
    std::string receiveRaw() { return socket_.receive(); }
    ::SSL* ssl() const { return tls_.ssl(); }
    // False: the server has ended the connection.
    bool shakeHands() {
        tls_.receive({});
        for (sendAll(); ::SSL_is_init_finished(tls_.ssl()) == 0; sendAll()) {
            if (!pump()) return false;
        }
        return true;
    }
    // The last message of the handshake and the first bytes leave together.
    bool shakeHandsAndSend(std::string_view plain) {
        greet();
        while (::SSL_is_init_finished(tls_.ssl()) == 0) {
            if (!pump()) return false;
        }
        tls_.write(plain);
        sendAll();
        return true;
    }
    void send(std::string_view plain) {
        for (; !plain.empty(); plain.remove_prefix(std::min<std::size_t>(plain.size(), 4096))) {
            tls_.write(plain.substr(0, 4096));
            sendAll();
        }
    }
    // All that comes until there are so many bytes, or the end.
    std::string receive(std::size_t bytes) {
        while (tls_.received.size() < bytes && pump()) {
        }
        return std::exchange(tls_.received, {});
    }
    // Up to the close_notify or the end.
    std::string receiveToEnd() {
        while (pump()) {
        }
        return std::exchange(tls_.received, {});
    }
    // In TLS 1.3; asks for an answer.
    void updateKeys() {
        tls_.updateKeys(true);
        sendAll();
    }
    void sayClose() {
        ::SSL_shutdown(tls_.ssl());
        sendAll();
    }
    bool sawCloseNotify() const { return (::SSL_get_shutdown(tls_.ssl()) & SSL_RECEIVED_SHUTDOWN) != 0; }
    BlockingPeer& socket() { return socket_; }

  private:
    void sendAll() { socket_.send(tls_.takeWire()); }
    bool pump() {
        const std::string bytes = socket_.receive();
        tls_.receive(bytes);
        return !bytes.empty();
    }

    BlockingPeer socket_;
    LibsslPeer tls_;
};

}  // namespace weft::test
