// TlsSocket: a socket of the load generator, plain or over TLS. It verifies no certificate.
#pragma once

#include <vector>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "../support/endpoint.hpp"

namespace weft::perf {

enum class TlsUse { none, keepAlive, fullHandshakes, resumedHandshakes };

class TlsSocket {
  public:
    // Connects; non-blocking from then on. With keepAlive it also shakes hands; with the other uses of TLS, send() and
    // receive() do so. A resumed handshake takes the newest session of an earlier connection, if there is one.
    TlsSocket(const sockaddr_in& server, TlsUse use) : fd_(connectBlocking(server)) {
        if (use != TlsUse::none) {
            ssl_ = SSL_new(context());
            SSL_set_fd(ssl_, fd_);
            SSL_set_connect_state(ssl_);
        }
        if (use == TlsUse::resumedHandshakes) useSession();
        if (use == TlsUse::keepAlive && SSL_do_handshake(ssl_) != 1) die("a TLS handshake failed");
        const int on = 1;
        if (ioctl(fd_, FIONBIO, &on) < 0) die("ioctl FIONBIO", errno);
    }
    TlsSocket(const TlsSocket&) = delete;
    ~TlsSocket() { close(); }

    int fd() const { return fd_; }
    // As recv(); over TLS at most one record.
    ssize_t receive(char* into, std::size_t most) {
        if (ssl_ == nullptr) return ::recv(fd_, into, most, 0);
        ERR_clear_error();
        return result(SSL_read(ssl_, into, static_cast<int>(most)));
    }
    ssize_t send(std::string_view bytes) {
        if (ssl_ == nullptr) return ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        ERR_clear_error();
        const ssize_t sent = result(SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size())));
        awaitsPeer_ = sent < 0 && SSL_want_read(ssl_);
        return sent;
    }
    // The last send() has to be called again when there is input, because the handshake goes on then.
    bool awaitsPeer() const { return awaitsPeer_; }
    bool isResumed() const { return SSL_session_reused(ssl_) != 0; }
    // With a close_notify, as far as TLS has begun.
    void close() {
        if (ssl_ != nullptr && SSL_is_init_finished(ssl_)) SSL_shutdown(ssl_);
        SSL_free(ssl_);
        ssl_ = nullptr;
        if (fd_ >= 0) ::close(fd_);
        fd_ = -1;
    }

  private:
    static SSL_CTX* context() {
        static SSL_CTX* const context = [] {
            SSL_CTX* const made = SSL_CTX_new(TLS_client_method());
            SSL_CTX_set_mode(
                made, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
            SSL_CTX_set_session_cache_mode(made, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
            SSL_CTX_sess_set_new_cb(made, [](SSL*, SSL_SESSION* session) {
                if (sessions().size() == mostSessions) return 0;
                sessions().push_back(session);
                return 1;
            });
            return made;
        }();
        return context;
    }
    // Those that no connection has used: a ticket of TLS 1.3 is good for one.
    static std::vector<SSL_SESSION*>& sessions() {
        static std::vector<SSL_SESSION*> all;
        return all;
    }
    void useSession() {
        if (sessions().empty()) return;
        SSL_set_session(ssl_, sessions().back());
        SSL_SESSION_free(sessions().back());
        sessions().pop_back();
    }
    ssize_t result(int size) {
        if (size > 0) return size;
        const int why = SSL_get_error(ssl_, size);
        if (why == SSL_ERROR_ZERO_RETURN) return 0;
        errno = why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE ? EAGAIN : EPROTO;
        return -1;
    }

    static constexpr std::size_t mostSessions = 1024;

    int fd_;
    SSL* ssl_ = nullptr;
    bool awaitsPeer_ = false;
};

}  // namespace weft::perf
